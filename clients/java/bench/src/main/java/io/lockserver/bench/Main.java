package io.lockserver.bench;

import java.lang.management.ManagementFactory;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Lock;

import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

import com.sun.management.OperatingSystemMXBean;

import io.lockserver.client.LockClient;
import io.lockserver.test.Lockserver;

/**
 * Arguments: the path of redis-server, and the seconds of a measurement. The environment's LOCKSERVER names the other server. The
 * two take turns, three times, and the median is printed. Contention has two forms: sixteen clients with a thread each, as sixteen
 * processes of a service have them, and one client with sixteen threads.
 */
public final class Main {
    private static final int CLIENTS = 16;
    private static final int ROUNDS = 3;

    private Main() {
    }

    /** A library: its locks of one key, one for each thread. */
    private interface Library extends AutoCloseable {
        Lock lock(int thread, String key);

        @Override
        void close();
    }

    /** What was done each second, and the processor time of it in µs: of this process, and of the server. */
    private record Cost(double perSecond, double client, double server) {
    }

    private record Figures(Cost clients, Cost threads, Cost uncontended) {
    }

    /** Makes a library with so many clients. */
    private interface Maker {
        Library make(int clients);
    }

    /** Measures and prints a table. */
    public static void main(String[] arguments) throws Exception {
        long seconds = Long.parseLong(arguments[1]);
        List<Figures> ours = new ArrayList<>();
        List<Figures> theirs = new ArrayList<>();
        List<Double> floor = new ArrayList<>();
        int port;
        try (ServerSocket free = new ServerSocket(0)) {
            port = free.getLocalPort();
        }
        Process redis = new ProcessBuilder(arguments[0], "--port", Integer.toString(port), "--save", "")
                .redirectErrorStream(true).redirectOutput(ProcessBuilder.Redirect.DISCARD).start();
        try (Lockserver server = Lockserver.start()) {
            ProcessHandle other = ProcessHandle.current().children().filter(child -> child.pid() != redis.pid()).findFirst().orElseThrow();
            for (int round = 0; round < ROUNDS; round++) {
                ours.add(measure(clients -> lockserver(server.uri(), clients), other, seconds));
                theirs.add(measure(clients -> redisson("redis://127.0.0.1:" + port, clients), redis.toHandle(), seconds));
                floor.add(Floor.handoffs(CLIENTS, seconds));
            }
        } finally {
            redis.destroyForcibly();
        }
        System.out.println("| | this client | Redisson's RLock | ratio |\n|---|---|---|---|");
        row("hand-offs a second, " + CLIENTS + " clients", ours, theirs, of -> of.clients.perSecond);
        row("processor time of one in the clients, µs", ours, theirs, of -> of.clients.client);
        row("processor time of one in the server, µs", ours, theirs, of -> of.clients.server);
        row("hand-offs a second, one client with " + CLIENTS + " threads", ours, theirs, of -> of.threads.perSecond);
        row("processor time of one in the client, µs", ours, theirs, of -> of.threads.client);
        row("processor time of one in the server, µs", ours, theirs, of -> of.threads.server);
        row("uncontended lock and unlock a second, one thread", ours, theirs, of -> of.uncontended.perSecond);
        row("processor time of one such pair in the client, µs", ours, theirs, of -> of.uncontended.client);
        row("processor time of one such pair in the server, µs", ours, theirs, of -> of.uncontended.server);
        double most = floor.stream().sorted().skip(ROUNDS / 2).findFirst().orElseThrow();
        double redisson = theirs.stream().mapToDouble(of -> of.clients.perSecond).sorted().skip(ROUNDS / 2).findFirst().orElseThrow();
        System.out.println(String.format(Locale.ROOT, "%nA byte from a client to a server and on to the next of %d clients, over "
                + "bare sockets: %.0f times a second, %.1f times as often as Redisson hands the lock on.", CLIENTS, most, most / redisson));
    }

    private static void row(String name, List<Figures> ours, List<Figures> theirs, java.util.function.ToDoubleFunction<Figures> of) {
        double one = ours.stream().mapToDouble(of).sorted().skip(ROUNDS / 2).findFirst().orElseThrow();
        double other = theirs.stream().mapToDouble(of).sorted().skip(ROUNDS / 2).findFirst().orElseThrow();
        System.out.println(String.format(Locale.ROOT, "| %s | %.0f | %.0f | %.1f |", name, one, other, one / other));
    }

    private interface Work {
        /** Works for so long, and returns how often something was done each second. */
        double run(Library library, long seconds) throws InterruptedException;
    }

    private static Figures measure(Maker maker, ProcessHandle server, long seconds) throws InterruptedException {
        Cost clients;
        Cost uncontended;
        try (Library library = maker.make(CLIENTS)) {
            uncontended(library, seconds); // warm
            contended(library, seconds);
            clients = cost(Main::contended, library, server, seconds);
            uncontended = cost(Main::uncontended, library, server, seconds);
        }
        try (Library library = maker.make(1)) {
            contended(library, 1);
            return new Figures(clients, cost(Main::contended, library, server, seconds), uncontended);
        }
    }

    private static Cost cost(Work work, Library library, ProcessHandle server, long seconds) throws InterruptedException {
        long client = processorNS();
        long other = server.info().totalCpuDuration().orElseThrow().toNanos();
        double perSecond = work.run(library, seconds);
        double each = 1000.0 * perSecond * seconds;
        return new Cost(perSecond, (processorNS() - client) / each,
                (server.info().totalCpuDuration().orElseThrow().toNanos() - other) / each);
    }

    private static long processorNS() {
        return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
    }

    private static double uncontended(Library library, long seconds) {
        Lock lock = library.lock(0, "bench:free");
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
        long count = 0;
        while (System.nanoTime() < end) {
            lock.lock();
            lock.unlock();
            count++;
        }
        return (double) count / seconds;
    }

    private static double contended(Library library, long seconds) throws InterruptedException {
        AtomicLong count = new AtomicLong();
        AtomicInteger last = new AtomicInteger(-1);
        CountDownLatch over = new CountDownLatch(CLIENTS);
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
        for (int i = 0; i < CLIENTS; i++) {
            int number = i;
            Thread thread = new Thread(() -> {
                Lock lock = library.lock(number, "bench:contended");
                while (System.nanoTime() < end) {
                    lock.lock();
                    try {
                        if (last.getAndSet(number) != number) { // it has changed hands
                            count.incrementAndGet();
                        }
                    } finally {
                        lock.unlock();
                    }
                }
                over.countDown();
            });
            thread.setDaemon(true);
            thread.start();
        }
        over.await();
        return (double) count.get() / seconds;
    }

    private static Library lockserver(String uri, int count) {
        List<LockClient> clients = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            clients.add(LockClient.builder(uri).connectTimeout(Duration.ofMinutes(1)).build());
        }
        return new Library() {
            @Override
            public Lock lock(int thread, String key) {
                return clients.get(thread % count).asLock(key);
            }

            @Override
            public void close() {
                clients.forEach(LockClient::close);
            }
        };
    }

    private static Library redisson(String uri, int count) {
        List<RedissonClient> clients = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Config config = new Config();
            config.useSingleServer().setAddress(uri).setConnectionMinimumIdleSize(2).setConnectionPoolSize(count == 1 ? CLIENTS : 4);
            config.setThreads(2).setNettyThreads(2);
            clients.add(Redisson.create(config));
        }
        return new Library() {
            @Override
            public Lock lock(int thread, String key) {
                return clients.get(thread % count).getLock(key);
            }

            @Override
            public void close() {
                clients.forEach(client -> client.shutdown(0, 2, TimeUnit.SECONDS));
            }
        };
    }
}
