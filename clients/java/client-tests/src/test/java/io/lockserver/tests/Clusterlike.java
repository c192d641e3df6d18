package io.lockserver.tests;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.IntUnaryOperator;

import io.lettuce.core.cluster.SlotHash;

/**
 * A cluster that a test has the map of: proxies to servers, which answer CLUSTER SLOTS from the map, and MOVED for the slots of others. So
 * two of them may lead to one server, as if a slot had gone elsewhere with all that is in it. A test breaks the connections.
 */
final class Clusterlike implements AutoCloseable {
    private static final Set<String> WITHOUT_KEY = Set.of("HELLO", "PING", "CLUSTER", "CONFIG", "LOCK.ATTACH", "CLIENT", "AUTH", "COMMAND");

    /** Which server has a slot. */
    volatile IntUnaryOperator owner;
    /** The names of the commands that were redirected. */
    final List<String> redirected = new CopyOnWriteArrayList<>();
    /** Their keys. */
    final List<String> redirectedKeys = new CopyOnWriteArrayList<>();
    /** The slot for which each of two servers names the other one; -1: none. */
    volatile int nowhere = -1;
    /** The command of which a number of answers is counted before that slot is served; empty: none. */
    private String counted = "";
    private int answersLeft;
    /** Whether a server tells only of keys in its own slots. */
    volatile boolean narrow;
    private final int[] targets;
    private final List<ServerSocket> listeners = new ArrayList<>();
    private final Set<Link> links = ConcurrentHashMap.newKeySet();
    private final Set<Integer> down = ConcurrentHashMap.newKeySet();
    private final Set<Integer> mute = ConcurrentHashMap.newKeySet();

    /** The slots are divided between the servers, in their order. */
    Clusterlike(int... targets) throws IOException {
        this.targets = targets;
        owner = slot -> slot * targets.length / SlotHash.SLOT_COUNT;
        for (int i = 0; i < targets.length; i++) {
            int server = i;
            ServerSocket listener = new ServerSocket(0, 100, InetAddress.getLoopbackAddress());
            listeners.add(listener);
            start(() -> accept(server, listener));
        }
    }

    private static void start(Runnable work) {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        thread.start();
    }

    String[] uris() {
        return listeners.stream().map(listener -> "redis://127.0.0.1:" + listener.getLocalPort()).toArray(String[]::new);
    }

    /** The connections that are open. */
    Set<Object> links() {
        return Set.copyOf(links);
    }

    /** Refuses connections to a server, and breaks those that are there; or lets them through again. */
    void shut(int server, boolean closed) {
        if (closed) {
            down.add(server);
            breakAll(server);
        } else {
            down.remove(server);
        }
    }

    /** As if the cable to a server was cut: what is sent is lost, and the connections stay. */
    void cut(int server) {
        mute.add(server);
    }

    /** The cable is whole again: the connections that were cut have ended. */
    void mend(int server) {
        mute.remove(server);
        breakAll(server);
    }

    /** How many connections to a server are attached to owners. */
    long attached(int server) {
        return links.stream().filter(link -> link.server == server && link.attached).count();
    }

    /** Moves a slot to the other one of two servers. As a server does, the former one ends the connections that are attached. */
    void move(int slot) {
        IntUnaryOperator before = owner;
        int former = before.applyAsInt(slot);
        redirected.clear();
        redirectedKeys.clear();
        owner = it -> it == slot ? 1 - former : before.applyAsInt(it);
        links.stream().filter(link -> link.server == former && link.attached).forEach(Link::end);
    }

    /** Has each of two servers name the other one for a slot, until a command has had so many of these answers. */
    synchronized void bounce(int slot, String command, int answers) {
        redirected.clear();
        counted = command;
        answersLeft = answers;
        nowhere = slot;
    }

    private synchronized void count(String command) {
        if (command.equals(counted) && --answersLeft == 0) {
            counted = "";
            nowhere = -1;
        }
    }

    /** Breaks the connections to a server. */
    void breakAll(int server) {
        links.stream().filter(link -> link.server == server).forEach(Link::end);
    }

    private void accept(int server, ServerSocket listener) {
        while (!listener.isClosed()) {
            try {
                Socket client = listener.accept();
                if (down.contains(server)) {
                    client.close();
                    continue;
                }
                Link link = new Link(server, client);
                links.add(link);
                start(() -> link.run(link::requests));
                start(() -> link.run(link::replies));
            } catch (IOException e) {
                // the listener is closed, or the client has gone
            }
        }
    }

    private String slots() {
        StringBuilder text = new StringBuilder();
        int count = 0;
        for (int first = 0, slot = 1; slot <= SlotHash.SLOT_COUNT; slot++) {
            int server = owner.applyAsInt(first);
            if (slot == SlotHash.SLOT_COUNT || owner.applyAsInt(slot) != server) {
                text.append("*3\r\n:").append(first).append("\r\n:").append(slot - 1).append("\r\n*3\r\n$9\r\n127.0.0.1\r\n:")
                        .append(listeners.get(server).getLocalPort()).append("\r\n$2\r\nn").append(server).append("\r\n");
                first = slot;
                count++;
            }
        }
        return "*" + count + "\r\n" + text;
    }

    @Override
    public void close() throws IOException {
        for (ServerSocket listener : listeners) {
            listener.close();
        }
        links.forEach(Link::end);
    }

    /** Closes the address of a server for good. */
    void closeAddress(int server) throws IOException {
        listeners.get(server).close();
        breakAll(server);
    }

    private interface Work {
        void run() throws IOException;
    }

    private final class Link {
        final int server;
        volatile boolean attached;
        private final Socket client;
        private final Socket target;
        /** What the client gets: answers of this proxy, and null for each that the server will give. */
        private final Deque<byte[]> answers = new ArrayDeque<>();
        private static final byte[] OF_SERVER = {};

        Link(int server, Socket client) throws IOException {
            this.server = server;
            this.client = client;
            target = new Socket("127.0.0.1", targets[server]);
            client.setTcpNoDelay(true);
            target.setTcpNoDelay(true);
        }

        void run(Work work) {
            try {
                work.run();
            } catch (IOException e) {
                end();
            }
        }

        void requests() throws IOException {
            InputStream in = new BufferedInputStream(client.getInputStream());
            while (true) {
                ByteArrayOutputStream raw = new ByteArrayOutputStream();
                List<byte[]> words = new ArrayList<>();
                frame(in, raw, words);
                if (mute.contains(server)) {
                    continue;
                }
                String name = new String(words.get(0), StandardCharsets.US_ASCII);
                String answer = answer(name, words);
                synchronized (answers) {
                    answers.add(answer == null ? OF_SERVER : answer.getBytes(StandardCharsets.UTF_8));
                    flush();
                }
                if (answer == null) {
                    target.getOutputStream().write(raw.toByteArray());
                }
            }
        }

        private String answer(String name, List<byte[]> words) {
            if (name.equals("CLUSTER")) {
                return new String(words.get(1), StandardCharsets.US_ASCII).equals("SLOTS") ? slots() : "$2\r\nn" + server + "\r\n";
            }
            attached |= name.equals("LOCK.ATTACH");
            int at = Set.of("MLOCK", "MUNLOCK", "LIMIT.MTAKE").contains(name) ? 2 : 1;
            if (WITHOUT_KEY.contains(name) || words.size() <= at) {
                return null;
            }
            int slot = SlotHash.getSlot(words.get(at));
            int has = slot == nowhere ? 1 - server : owner.applyAsInt(slot);
            if (has == server) {
                return null;
            }
            redirected.add(name);
            redirectedKeys.add(new String(words.get(at), StandardCharsets.UTF_8));
            count(name);
            return "-MOVED " + slot + " 127.0.0.1:" + listeners.get(has).getLocalPort() + "\r\n";
        }

        /** Replies keep their order: an answer of the proxy waits for those of the server that come before. */
        private void flush() throws IOException {
            while (!answers.isEmpty() && answers.peek() != OF_SERVER) {
                client.getOutputStream().write(answers.poll());
            }
        }

        void replies() throws IOException {
            InputStream in = new BufferedInputStream(target.getInputStream());
            while (true) {
                ByteArrayOutputStream raw = new ByteArrayOutputStream();
                List<byte[]> texts = new ArrayList<>();
                int kind = frame(in, raw, texts);
                if (mute.contains(server) || narrow && kind == '>' && owner.applyAsInt(SlotHash.getSlot(texts.get(1))) != server) {
                    continue;
                }
                synchronized (answers) {
                    client.getOutputStream().write(raw.toByteArray());
                    if (kind != '>') {
                        answers.poll();
                    }
                    flush();
                }
            }
        }

        void end() {
            links.remove(this);
            for (Socket socket : List.of(client, target)) {
                try {
                    socket.close();
                } catch (IOException e) {
                    // it has gone already
                }
            }
        }
    }

    /** Reads a value, and adds its bytes to raw, and the bytes of its texts to words, unless that is null. Returns its kind. */
    private static int frame(InputStream in, ByteArrayOutputStream raw, List<byte[]> words) throws IOException {
        StringBuilder line = new StringBuilder();
        for (int c = in.read(); c != '\n'; c = in.read()) {
            if (c < 0) {
                throw new EOFException();
            }
            line.append((char) c);
        }
        raw.writeBytes((line + "\n").getBytes(StandardCharsets.ISO_8859_1));
        char kind = line.charAt(0);
        if ("$=!".indexOf(kind) >= 0) {
            int length = Integer.parseInt(line.substring(1).strip());
            if (length >= 0) {
                byte[] bytes = in.readNBytes(length + 2);
                raw.writeBytes(bytes);
                if (words != null) {
                    words.add(java.util.Arrays.copyOf(bytes, length));
                }
            }
        } else if ("*~>%".indexOf(kind) >= 0) {
            int count = Integer.parseInt(line.substring(1).strip()) * (kind == '%' ? 2 : 1);
            for (int i = 0; i < count; i++) {
                frame(in, raw, words);
            }
        }
        return kind;
    }
}
