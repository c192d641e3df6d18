package io.lockserver.bench;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * What no lock of a server can be faster than on this machine: a client sends one byte, and a server sends one byte to the next
 * client. There is no protocol, no queue, no lease, and no answer to the client that gave the lock up. Each of the threads blocks in
 * a read, so nothing but the system's calls takes time.
 */
final class Floor {
    private Floor() {
    }

    /** How often a second so many clients hand a byte on. */
    static double handoffs(int clients, long seconds) throws InterruptedException {
        AtomicLong count = new AtomicLong();
        List<Socket> ours = new ArrayList<>();
        List<Socket> served = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        try (ServerSocket listener = new ServerSocket(0, clients, InetAddress.getLoopbackAddress())) {
            for (int i = 0; i < clients; i++) {
                ours.add(new Socket(listener.getInetAddress(), listener.getLocalPort()));
                served.add(listener.accept());
                ours.get(i).setTcpNoDelay(true);
                served.get(i).setTcpNoDelay(true);
            }
            for (int i = 0; i < clients; i++) {
                Socket client = ours.get(i);
                threads.add(start(() -> pass(client.getInputStream(), client.getOutputStream(), count)));
                Socket from = served.get(i);
                Socket to = served.get((i + 1) % clients);
                threads.add(start(() -> pass(from.getInputStream(), to.getOutputStream(), new AtomicLong())));
            }
            ours.get(0).getOutputStream().write(1);
            Thread.sleep(TimeUnit.SECONDS.toMillis(1)); // warm
            long began = System.nanoTime();
            long before = count.get();
            Thread.sleep(TimeUnit.SECONDS.toMillis(seconds));
            return (count.get() - before) * 1e9 / (System.nanoTime() - began);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        } finally {
            served.addAll(ours);
            for (Socket socket : served) {
                try {
                    socket.close();
                } catch (IOException e) {
                    // it has ended
                }
            }
            for (Thread thread : threads) {
                thread.join();
            }
        }
    }

    private interface Work {
        void run() throws IOException;
    }

    private static Thread start(Work work) {
        Thread thread = new Thread(() -> {
            try {
                work.run();
            } catch (IOException e) {
                // the measurement is over
            }
        });
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    private static void pass(InputStream in, OutputStream out, AtomicLong count) throws IOException {
        for (int b = in.read(); b >= 0; b = in.read()) {
            count.incrementAndGet();
            out.write(b);
        }
    }
}
