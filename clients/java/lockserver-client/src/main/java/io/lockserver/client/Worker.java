package io.lockserver.client;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Works off a stream for a group of consumers, of which each program is one. {@link #run} works in the thread that calls it, until
 * {@link #stop}. Handlers run in other threads.
 *
 * <p>An entry may come twice, for instance after a pause of this process. {@link Entry#once} has it change a database once.
 */
public final class Worker implements Runnable {
    /** Works off an entry. */
    @FunctionalInterface
    public interface Handler {
        /**
         * Does what an entry is for. It is acknowledged when this returns, so wait here for what is done by other threads. If this
         * throws, the entry comes again after a pause, maybe to another worker: after a second at first, twice as long each time.
         */
        void handle(Entry entry) throws Exception;
    }

    /** How long one reading waits for new entries. */
    private static final Duration READ = Duration.ofSeconds(1);
    /** Between two attempts while no server answers. */
    private static final Duration PAUSE = Duration.ofMillis(200);
    private static final Duration FIRST_RETRY = Duration.ofSeconds(1);

    // Each script acts only on entries that the consumer still has: another worker may have taken them over.
    private static final String MINE = """
            local function mine(id) return #redis.call('XPENDING', KEYS[1], ARGV[1], id, id, 1, ARGV[2]) == 1 end
            """;
    /** A sign of life for the entries in hand. */
    private static final String KEEP = MINE + """
            for n = 3, #ARGV do
              if mine(ARGV[n]) then redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[n], 'JUSTID') end
            end
            return 1""";
    /** Has an entry count as idle for ARGV[4] ms, with so many deliveries. */
    private static final String AGAIN = MINE + """
            if not mine(ARGV[3]) then return 0 end
            redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[3], 'IDLE', ARGV[4], 'RETRYCOUNT', ARGV[5], 'JUSTID')
            return 1""";
    /** Moves an entry to the dead letter stream. */
    private static final String BURY = MINE + """
            if not mine(ARGV[3]) or redis.call('XACK', KEYS[1], ARGV[1], ARGV[3]) == 0 then return 0 end
            redis.call('XADD', KEYS[2], '*', unpack(ARGV, 4))
            return 1""";
    /** Claims entries without a sign of life, with the numbers of their deliveries. */
    private static final String CLAIM = """
            local found = redis.call('XAUTOCLAIM', KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4], 'COUNT', ARGV[5])
            local entries = {}
            for _, entry in ipairs(found[2]) do
              local pending = redis.call('XPENDING', KEYS[1], ARGV[1], entry[1], entry[1], 1)
              entries[#entries + 1] = {entry[1], entry[2], pending[1] and pending[1][4] or 1}
            end
            return {found[1], entries}""";
    /** Removes a consumer that has nothing in hand. */
    private static final String LEAVE = """
            if #redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, ARGV[2]) == 0 then
              redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2])
            end
            return 1""";

    private final Commands commands;
    private final String stream;
    private final String group;
    private final WorkerOptions options;
    private final String dead;
    private final String name;
    private final Handler handler;
    /** The ids of the entries in hand. */
    private final Set<String> hand = ConcurrentHashMap.newKeySet();
    private final AtomicBoolean began = new AtomicBoolean();
    private final CompletableFuture<Void> stopped = new CompletableFuture<>();
    private String cursor = "0-0";
    /** By which this waits for new entries; null: there is none. */
    private Wire reading;

    /** The stream was checked. */
    Worker(Commands commands, String stream, String group, WorkerOptions options, Handler handler) {
        this.commands = commands;
        this.stream = stream;
        this.group = Values.name(group, "a group");
        this.options = Objects.requireNonNull(options, "the options are null");
        this.handler = Objects.requireNonNull(handler, "the handler is null");
        dead = options.dead() == null ? stream + ":dead" : options.dead();
        name = options.name() == null ? UUID.randomUUID().toString() : options.name();
    }

    /** The name of the consumer. */
    public String name() {
        return name;
    }

    /**
     * Makes the group, from the stream's first entry on, unless it is there, and works until {@link #stop}, or until the thread is
     * interrupted. It goes on when the server could not be reached meanwhile. At the end it waits for the handlers that run, and gives
     * back what was not begun.
     *
     * @throws IllegalStateException if it was called before
     * @throws ClientClosedException if the client was closed
     * @throws ServerException for what the server refuses
     */
    @Override
    public void run() {
        if (!began.compareAndSet(false, true)) {
            throw new IllegalStateException("this worker has run: make another one");
        }
        ExecutorService threads = Executors.newCachedThreadPool(LockClient.daemons("lockserver-worker"));
        Semaphore free = new Semaphore(options.parallel());
        CompletableFuture<Void> ended = new CompletableFuture<>();
        boolean interrupted = false;
        try {
            if (start()) {
                threads.execute(() -> keep(ended));
                work(threads, free);
            }
        } catch (InterruptedException e) {
            interrupted = true;
        } finally {
            stop();
            free.acquireUninterruptibly(options.parallel());
            ended.complete(null);
            threads.shutdown();
            endReading();
            leave();
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Has {@link #run} end. It does not wait for that. */
    public void stop() {
        stopped.complete(null);
    }

    private void work(ExecutorService threads, Semaphore free) throws InterruptedException {
        while (!stopped.isDone()) {
            if (!free.tryAcquire(PAUSE.toMillis(), TimeUnit.MILLISECONDS)) {
                continue;
            }
            free.release(); // this thread alone acquires, so it stays free
            for (Entry entry : next(free.availablePermits())) {
                if (stopped.isDone()) {
                    giveBack(entry);
                    continue;
                }
                free.acquireUninterruptibly();
                threads.execute(() -> {
                    try {
                        handle(entry);
                    } finally {
                        free.release();
                    }
                });
            }
        }
    }

    /** Makes the group; false: this is to stop. */
    private boolean start() throws InterruptedException {
        while (!stopped.isDone()) {
            try {
                makeGroup();
                commands.shards.together(List.of(stream, dead)); // an entry goes from one to the other in one step
                return true;
            } catch (NoConnectionException e) {
                rest(PAUSE, stopped);
            }
        }
        return false;
    }

    private void makeGroup() {
        try {
            commands.again("XGROUP", "CREATE", stream, group, "0", "MKSTREAM");
        } catch (ServerException e) {
            if (!e.code().equals("BUSYGROUP")) {
                throw e;
            }
        }
    }

    /** Entries of workers that have died, or new ones; none: there were none for a while. */
    private List<Entry> next(int count) throws InterruptedException {
        try {
            do {
                List<?> reply = (List<?>) script(CLAIM, List.of(), Long.toString(options.claimAfter().toMillis()), cursor, Integer.toString(count));
                cursor = (String) reply.get(0);
                List<Entry> found = entries(reply.get(1));
                if (!found.isEmpty() || stopped.isDone()) {
                    return found;
                }
            } while (!cursor.equals("0-0"));
            return read(count);
        } catch (NoConnectionException e) {
            rest(PAUSE, stopped);
            return List.of();
        }
    }

    /** Waits for new entries. One that is to stop waits for the answer, which may have some. */
    private List<Entry> read(int count) throws InterruptedException {
        try {
            if (reading == null) {
                reading = commands.open(stream);
            }
            CompletableFuture<Object> answer = reading.send(Bytes.CODEC, "XREADGROUP", "GROUP", Bytes.of(group), Bytes.of(name), "COUNT",
                    Integer.toString(count), "BLOCK", Long.toString(READ.toMillis()), "STREAMS", Bytes.of(stream), ">");
            if (rest(READ.plus(commands.limit()), CompletableFuture.anyOf(answer.exceptionally(e -> null), stopped))) {
                Object reply = Commands.await(answer, System.nanoTime() + READ.toNanos()); // a map of one name
                return reply instanceof List<?> streams && streams.size() == 2 ? entries(streams.get(1)) : List.of();
            }
            endReading();
            return List.of();
        } catch (TimeoutException | BrokenException e) {
            endReading();
            rest(PAUSE, stopped);
            return List.of();
        } catch (ServerException e) {
            commands.shards.redirects(reading, e);
            endReading();
            if (Errors.isReply(e)) {
                throw Errors.meaning(e);
            }
            rest(PAUSE, stopped);
            return List.of();
        } catch (InterruptedException e) {
            endReading(); // what it is still given comes again
            throw e;
        }
    }

    private void endReading() {
        if (reading != null) {
            reading.close(new BrokenException("the worker does not read any more", null));
            reading = null;
        }
    }

    /** Takes the entries of a reply in hand: each has an id, its fields, and maybe its deliveries. One that is in hand is not begun again. */
    private List<Entry> entries(Object reply) {
        List<Entry> found = new ArrayList<>();
        for (Object item : (List<?>) reply) {
            List<?> parts = (List<?>) item;
            List<String> words = new ArrayList<>();
            if (parts.get(1) instanceof List<?> fields) {
                fields.forEach(word -> words.add((String) word));
            }
            Entry entry = new Entry(stream, group, (String) parts.get(0), words, parts.size() > 2 ? Math.toIntExact((Long) parts.get(2)) : 1);
            if (hand.add(entry.id())) {
                found.add(entry);
            }
        }
        return found;
    }

    private void handle(Entry entry) {
        String error = "the worker has ended abnormally";
        if (entry.attempt() <= options.attempts()) { // else its last worker has died with it
            error = call(entry);
            if (error == null) {
                settle(entry, () -> commands.again("XACK", stream, group, entry.id()));
                return;
            }
            Log.failed(entry, error);
        }
        if (entry.attempt() < options.attempts()) {
            long claim = options.claimAfter().toMillis();
            long pause = Math.min(claim, FIRST_RETRY.toMillis() << Math.min(entry.attempt() - 1, 30));
            settle(entry, () -> script(AGAIN, List.of(), entry.id(), Long.toString(claim - pause), Integer.toString(entry.attempt())));
            return;
        }
        List<String> words = new ArrayList<>(List.of(entry.id()));
        words.addAll(entry.words());
        words.addAll(List.of("entry-id", entry.id(), "entry-error", Bytes.of(error), "entry-attempts", Integer.toString(entry.attempt())));
        if (Long.valueOf(1).equals(settle(entry, () -> script(BURY, List.of(dead), words.toArray(String[]::new))))) {
            Log.buried(entry, dead, error);
        }
    }

    /** Calls the handler; null: it has done its work, otherwise what it has thrown. */
    private String call(Entry entry) {
        try {
            handler.handle(entry);
            return null;
        } catch (Throwable e) { // whatever it is, the entry must come again
            return e.toString();
        } finally {
            Thread.interrupted(); // it is not for what follows
        }
    }

    /** Another worker may have an entry at once, which was not begun. */
    private void giveBack(Entry entry) {
        settle(entry, () -> script(AGAIN, List.of(), entry.id(), Long.toString(options.claimAfter().toMillis()), Integer.toString(entry.attempt() - 1)));
    }

    /** Tells the server what would only be late without it: the entry comes again after a while. */
    private Object settle(Entry entry, java.util.function.Supplier<Object> tell) {
        try {
            return tell.get();
        } catch (LockException e) {
            Log.unsettled(stream, e);
            return null;
        } finally {
            hand.remove(entry.id());
        }
    }

    /** Gives a sign of life for the entries in hand, each third of the time after which another worker takes them over. */
    private void keep(CompletableFuture<Void> ended) {
        Duration pause = options.claimAfter().dividedBy(3);
        try {
            while (!rest(pause, ended)) {
                String[] ids = hand.toArray(String[]::new);
                try {
                    if (ids.length > 0) {
                        script(KEEP, List.of(), ids);
                    }
                } catch (LockException e) {
                    // the next one comes soon
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void leave() {
        try {
            script(LEAVE, List.of());
        } catch (LockException e) {
            // a consumer without entries is left then
        }
    }

    /** Runs a script on the stream; keys and arguments behind it. */
    private Object script(String text, List<String> keys, String... arguments) {
        List<String> words = new ArrayList<>(List.of("EVAL", text, Integer.toString(1 + keys.size()), Bytes.of(stream)));
        keys.forEach(key -> words.add(Bytes.of(key)));
        words.addAll(List.of(Bytes.of(group), Bytes.of(name)));
        words.addAll(List.of(arguments));
        return commands.exactly(words.toArray(String[]::new));
    }

    /** Waits for so long; true: something came before, as a result or an error. */
    private static boolean rest(Duration time, CompletableFuture<?> sooner) throws InterruptedException {
        try {
            sooner.get(time.toNanos(), TimeUnit.NANOSECONDS);
            return true;
        } catch (TimeoutException e) {
            return false;
        } catch (java.util.concurrent.ExecutionException e) {
            return true;
        }
    }
}
