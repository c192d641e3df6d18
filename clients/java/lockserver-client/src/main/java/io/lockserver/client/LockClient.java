package io.lockserver.client;

import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisURI;

/**
 * Takes locks on one lockserver, or on a group of them. One client for a program is enough; any number of threads, also
 * virtual ones, wait over its two connections; over the shards of a cluster, over two for each shard that is used.
 *
 * <p>Errors of all methods that take a lock: {@link NotAcquiredException} (another owner holds it, and the call does not
 * wait; it names the holder if the server does), {@link WaitTimeoutException}, {@link DeadlockException}, {@link NoConnectionException}, {@link InterruptedException},
 * {@link ClientClosedException}, and {@link ServerException} for any other error that the server replies. Each call is
 * bounded: by its wait, and by the client's timeout if the server does not answer. A call that waits without end ends with
 * {@link NoConnectionException} when the server was silent for about two thirds of a lease (18.5 s by default).
 */
public final class LockClient implements AutoCloseable {
    /** What hears nothing; the client knows it, and then wakes no thread to tell it. */
    static final LockObserver NO_OBSERVER = new LockObserver() {
    };
    /** How many limiters the server takes units of in one step. */
    private static final int MOST_LIMITS = 64;
    private static final String LETTERS = "abcdefghijklmnopqrstuvwxyz234567";

    private final Keeper keeper;
    private final Commands commands;
    private final Dialer dialer;
    private final ScheduledThreadPoolExecutor timer;
    private final ExecutorService executor;
    private final LockObserver observer;
    private final AtomicBoolean ended = new AtomicBoolean();
    private final ThreadLocks threadLocks = new ThreadLocks(this);
    private final LockFutures futures;
    private final Inspection inspection;
    private final Cart cart;

    private LockClient(Builder settings) {
        String prefix = settings.name + ":" + random() + ":";
        observer = settings.observer;
        timer = new ScheduledThreadPoolExecutor(1, daemons("lockserver-timer"));
        timer.setRemoveOnCancelPolicy(true);
        timer.setRejectedExecutionHandler(new ThreadPoolExecutor.DiscardPolicy()); // what comes after the end is of no use
        ThreadPoolExecutor threads = (ThreadPoolExecutor) Executors.newCachedThreadPool(daemons("lockserver-client"));
        threads.setRejectedExecutionHandler(new ThreadPoolExecutor.DiscardPolicy());
        executor = threads;
        dialer = new Dialer(prefix.substring(0, prefix.length() - 1), settings.options, settings.addresses, executor);
        keeper = new Keeper(dialer, settings.uris, settings.isMapped(), prefix, settings.timeout, observer, timer, executor);
        commands = keeper.commands();
        inspection = new Inspection(commands);
        cart = new Cart(commands);
        futures = new LockFutures(keeper, commands.promises, observer);
        boolean started = false;
        try {
            if (settings.lazy) {
                keeper.startLazily();
            } else {
                keeper.start(settings.connectTimeout);
            }
            started = true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new LockException("interrupted while connecting", e);
        } finally {
            if (!started) {
                end();
            }
        }
    }

    private static String random() {
        SecureRandom chance = new SecureRandom();
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 16; i++) {
            text.append(LETTERS.charAt(chance.nextInt(LETTERS.length())));
        }
        return text.toString();
    }

    static ThreadFactory daemons(String name) {
        AtomicInteger number = new AtomicInteger();
        return task -> {
            Thread thread = new Thread(task, name + "-" + number.incrementAndGet());
            thread.setDaemon(true);
            return thread;
        };
    }

    /**
     * A client of the server at a URI of Lettuce: {@code redis://user:password@host:port/database}, {@code rediss://} for TLS,
     * {@code redis-sentinel://host:port,host:port#master} for Sentinels. Several URIs are the members of a raft group, or servers of a cluster.
     *
     * @throws NoConnectionException if the server does not answer within 10 seconds
     * @throws NotLockserverException if it is another server, such as Redis
     */
    public static LockClient create(String... uris) {
        return builder(uris).build();
    }

    /** The same with settings. */
    public static Builder builder(String... uris) {
        return new Builder(Arrays.stream(uris).map(RedisURI::create).toList());
    }

    /** The same with URIs that have what their text cannot say. */
    public static Builder builder(List<RedisURI> uris) {
        return new Builder(uris);
    }

    /** The settings of a client. */
    public static final class Builder {
        private final List<RedisURI> uris;
        private String name = "lock";
        private Duration timeout = Duration.ofSeconds(5);
        private Duration connectTimeout = Duration.ofSeconds(10);
        private ClientOptions options = ClientOptions.create();
        private LockObserver observer = NO_OBSERVER;
        private boolean lazy;
        private boolean cluster;
        private UnaryOperator<String> addresses = UnaryOperator.identity();

        private Builder(List<RedisURI> uris) {
            if (uris.isEmpty()) {
                throw new IllegalArgumentException("there is no URI");
            }
            this.uris = List.copyOf(uris);
        }

        /** Begins the names of the owners, which operators see: "billing" gives "billing:RANDOM:NUMBER". Without it: "lock". */
        public Builder name(String text) {
            if (text.isBlank() || text.chars().anyMatch(c -> c <= ' ' || c > '~')) {
                throw new IllegalArgumentException("a name is of printable ASCII characters without blanks");
            }
            name = text;
            return this;
        }

        /** Bounds how long a call waits for answers of the server, all attempts together. Without it: 5 seconds. */
        public Builder timeout(Duration limit) {
            timeout = Values.time(limit, "a timeout");
            return this;
        }

        /** Bounds how long the first connection may take. Without it: 10 seconds. */
        public Builder connectTimeout(Duration limit) {
            connectTimeout = Values.time(limit, "a timeout");
            return this;
        }

        /** Options of Lettuce for the connections: TLS, sockets. How they reconnect is the client's own. */
        public Builder clientOptions(ClientOptions of) {
            options = Objects.requireNonNull(of);
            return this;
        }

        /** Hears what becomes of locks. */
        public Builder observer(LockObserver told) {
            observer = Objects.requireNonNull(told);
            return this;
        }

        /**
         * Has {@link #build} return at once, also if there is no server: the client connects meanwhile, as often as it takes. Until then
         * calls wait for at most the client's timeout, and throw {@link NoConnectionException}. A server that cannot be used says so in
         * each of them: {@link NotLockserverException}, or {@link ServerException} for a wrong password.
         */
        public Builder lazy(boolean startsWithoutServer) {
            lazy = startsWithoutServer;
            return this;
        }

        /**
         * Has a client that knows one URI ask the server for the other shards of a Redis Cluster. With several URIs it always asks, and a raft
         * group is one shard.
         */
        public Builder cluster(boolean isCluster) {
            if (isCluster && uris.stream().anyMatch(uri -> !uri.getSentinels().isEmpty())) {
                throw new IllegalArgumentException("Sentinels know no cluster");
            }
            cluster = isCluster;
            return this;
        }

        /**
         * Says where this client reaches a server that another server has named, as behind a mapping of ports: it is given
         * {@code host:port}, and returns the address to connect to. Without it: the same.
         */
        public Builder addresses(UnaryOperator<String> reached) {
            addresses = Objects.requireNonNull(reached);
            return this;
        }

        /** Whether servers are asked for the map of a cluster. */
        private boolean isMapped() {
            return cluster || uris.size() > 1 && uris.stream().allMatch(uri -> uri.getSentinels().isEmpty());
        }

        /** Connects, unless {@link #lazy} was said. The errors are those of {@link LockClient#create}. */
        public LockClient build() {
            return new LockClient(this);
        }
    }

    /** Takes a lock, waiting for it without end. */
    public HeldLock lock(String key) throws InterruptedException {
        return lock(key, LockOptions.defaults());
    }

    /** Takes a lock, waiting at most so long. */
    public HeldLock lock(String key, Duration wait) throws InterruptedException {
        return lock(key, LockOptions.defaults().withWait(wait));
    }

    /** Takes a lock. */
    public HeldLock lock(String key, LockOptions options) throws InterruptedException {
        try {
            return take(Values.name(key, "a key"), options);
        } catch (NotAcquiredException e) {
            throw named(e, List.of(key));
        }
    }

    /** Takes the lock of a binary key. A key of bytes and one of text are the same if the text has those bytes in UTF-8. */
    public HeldLock lock(byte[] key, LockOptions options) throws InterruptedException {
        String name = Values.name(key, "a key");
        try {
            return take(name, options);
        } catch (NotAcquiredException e) {
            throw named(e, List.of(name));
        }
    }

    /** The key was checked. */
    HeldLock take(String key, LockOptions options) throws InterruptedException {
        return acquire(owner(options), lockOf(key, options), options.waitLimit());
    }

    private static Wish lockOf(String key, LockOptions options) {
        return Wish.lock(key, options.shared(), options.lease()).with(options);
    }

    /** Takes a lock if it is free, without waiting for another holder; empty: it is not free. */
    public Optional<HeldLock> tryLock(String key) throws InterruptedException {
        return tryLock(key, LockOptions.defaults().withWait(Duration.ZERO));
    }

    /** Takes a lock; empty: another owner holds it, or did until the time to wait was over. */
    public Optional<HeldLock> tryLock(String key, LockOptions options) throws InterruptedException {
        return attempt(Values.name(key, "a key"), options);
    }

    /** The same for a binary key. */
    public Optional<HeldLock> tryLock(byte[] key, LockOptions options) throws InterruptedException {
        return attempt(Values.name(key, "a key"), options);
    }

    private Optional<HeldLock> attempt(String key, LockOptions options) throws InterruptedException {
        try {
            return Optional.of(take(key, options));
        } catch (NotAcquiredException e) {
            return Optional.empty();
        }
    }

    /** Takes several locks in one moment, or none of them. While it waits it holds none, so the order of the keys is of no matter. */
    public HeldLock acquireAll(Collection<String> keys, LockOptions options) throws InterruptedException {
        return takeAll(names(keys), options);
    }

    /** The same for binary keys. */
    public HeldLock acquireAll(byte[][] keys, LockOptions options) throws InterruptedException {
        return takeAll(names(keys), options);
    }

    private static Stream<String> names(Collection<String> keys) {
        return Objects.requireNonNull(keys, "the keys are null").stream().map(key -> Values.name(key, "a key"));
    }

    private static Stream<String> names(byte[][] keys) {
        return Arrays.stream(Objects.requireNonNull(keys, "the keys are null")).map(key -> Values.name(key, "a key"));
    }

    private HeldLock takeAll(Stream<String> keys, LockOptions options) throws InterruptedException {
        Wish wish = allOf(keys, options);
        try {
            return acquire(owner(options), wish, options.waitLimit());
        } catch (NotAcquiredException e) {
            throw named(e, wish.keys());
        }
    }

    private static Wish allOf(Stream<String> keys, LockOptions options) {
        List<String> sorted = keys.distinct().sorted().toList();
        if (sorted.isEmpty()) {
            throw new IllegalArgumentException("there is no key to lock");
        }
        return Wish.all(sorted, options.shared(), options.lease()).with(options);
    }

    /**
     * Takes a lock as {@link #lock(String, LockOptions)} does, and blocks no thread. The future has the lock, or the error. Cancelling it
     * gives up the wait, and so does {@code orTimeout}; the server grants nothing then that stays behind. That is true of this future
     * only, and not of others that it is composed into: see {@link #lockedAsync}.
     */
    public CompletableFuture<HeldLock> lockAsync(String key, LockOptions options) {
        return lockLater(Values.name(key, "a key"), options);
    }

    /** The same for a binary key. */
    public CompletableFuture<HeldLock> lockAsync(byte[] key, LockOptions options) {
        return lockLater(Values.name(key, "a key"), options);
    }

    private CompletableFuture<HeldLock> lockLater(String key, LockOptions options) {
        return acquireAsync(owner(options), lockOf(key, options), options.waitLimit());
    }

    /** Takes a lock as {@link #tryLock(String, LockOptions)} does, and blocks no thread; see {@link #lockAsync}. */
    public CompletableFuture<Optional<HeldLock>> tryLockAsync(String key, LockOptions options) {
        return optional(lockAsync(key, options));
    }

    /** The same for a binary key. */
    public CompletableFuture<Optional<HeldLock>> tryLockAsync(byte[] key, LockOptions options) {
        return optional(lockAsync(key, options));
    }

    /** Takes several locks as {@link #acquireAll} does, and blocks no thread; see {@link #lockAsync}. */
    public CompletableFuture<HeldLock> acquireAllAsync(Collection<String> keys, LockOptions options) {
        return takeAllLater(names(keys), options);
    }

    /** The same for binary keys. */
    public CompletableFuture<HeldLock> acquireAllAsync(byte[][] keys, LockOptions options) {
        return takeAllLater(names(keys), options);
    }

    private CompletableFuture<HeldLock> takeAllLater(Stream<String> keys, LockOptions options) {
        return acquireAsync(owner(options), allOf(keys, options), options.waitLimit());
    }

    /**
     * Takes a lock, runs a task, and releases the lock when the stage that the task returns is completed, in whatever way. The future has
     * what the stage has; {@link LockLostException} if the lock was lost meanwhile. Cancelling it gives up the wait. It does not end a
     * task that has begun, and the lock is held until that ends.
     *
     * @param task must not block; it runs on a thread of the client
     */
    public <T> CompletableFuture<T> lockedAsync(String key, LockOptions options, Function<? super HeldLock, ? extends CompletionStage<T>> task) {
        Objects.requireNonNull(task, "the task is null");
        return futures.whileHeld(lockAsync(key, options), task);
    }

    /** The same for a binary key. */
    public <T> CompletableFuture<T> lockedAsync(byte[] key, LockOptions options, Function<? super HeldLock, ? extends CompletionStage<T>> task) {
        Objects.requireNonNull(task, "the task is null");
        return futures.whileHeld(lockAsync(key, options), task);
    }

    /**
     * The lock of a key as Java's interface. It is reentrant by thread, and interruptible; {@code newCondition} is not
     * supported. {@code unlock} throws {@link LockLostException} if the lock was lost, and {@link IllegalMonitorStateException}
     * if the thread does not hold it. The server renews the lease.
     */
    public Lock asLock(String key) {
        return threadLocks.lock(Values.name(key, "a key"), false, null);
    }

    /** The same for a binary key. */
    public Lock asLock(byte[] key) {
        return threadLocks.lock(Values.name(key, "a key"), false, null);
    }

    /** The same with a fixed lease: the lock is lost when it ends. */
    public Lock asLock(String key, Duration lease) {
        return threadLocks.lock(Values.name(key, "a key"), false, Values.time(lease, "a lease"));
    }

    /** The same for a binary key. */
    public Lock asLock(byte[] key, Duration lease) {
        return threadLocks.lock(Values.name(key, "a key"), false, Values.time(lease, "a lease"));
    }

    /**
     * Many readers or one writer, in one queue. A thread that writes may also read, and then give up writing. One that reads
     * cannot begin to write: {@code lock} throws {@link DeadlockException}.
     */
    public ReadWriteLock readWrite(String key) {
        return threadLocks.readWrite(Values.name(key, "a key"), null);
    }

    /** The same for a binary key. */
    public ReadWriteLock readWrite(byte[] key) {
        return threadLocks.readWrite(Values.name(key, "a key"), null);
    }

    /** What the calling thread holds by {@link #asLock} or a write lock: its token, {@code guard} and so on. */
    public Optional<HeldLock> heldByThread(String key) {
        return Optional.ofNullable(threadLocks.held(Values.name(key, "a key"), false));
    }

    /** The same for a binary key. */
    public Optional<HeldLock> heldByThread(byte[] key) {
        return Optional.ofNullable(threadLocks.held(Values.name(key, "a key"), false));
    }

    /**
     * Takes a lock for the calling thread, as {@link #asLock} does, with the wait, the lease and the mode of options: a thread that
     * holds it already has it at once, and the server sees deadlocks with the thread's other locks. Each call needs one of
     * {@link #unlockByThread}.
     *
     * @throws DeadlockException if the thread holds it shared and wants it for itself
     */
    public HeldLock lockByThread(String key, LockOptions options) throws InterruptedException {
        return takeByThread(Values.name(key, "a key"), options);
    }

    /** The same for a binary key. */
    public HeldLock lockByThread(byte[] key, LockOptions options) throws InterruptedException {
        return takeByThread(Values.name(key, "a key"), options);
    }

    private HeldLock takeByThread(String key, LockOptions options) throws InterruptedException {
        if (Objects.requireNonNull(options, "the options are null").owner() != null) {
            throw new IllegalArgumentException("the owner is the thread's own");
        }
        try {
            return threadLocks.acquire(key, options);
        } catch (NotAcquiredException e) {
            throw named(e, List.of(key));
        }
    }

    /**
     * Releases what {@link #lockByThread} took; after nested calls the last one does.
     *
     * @throws IllegalMonitorStateException if the thread does not hold it
     * @throws LockLostException if the lock was lost
     */
    public void unlockByThread(String key, boolean shared) {
        threadLocks.release(Values.name(key, "a key"), shared);
    }

    /** The same for a binary key. */
    public void unlockByThread(byte[] key, boolean shared) {
        threadLocks.release(Values.name(key, "a key"), shared);
    }

    /** A semaphore of so many permits. */
    public LockSemaphore semaphore(String key, int limit) {
        return new LockSemaphore(this, commands, Values.name(key, "a key"), limit, false);
    }

    /** The same for a binary key. */
    public LockSemaphore semaphore(byte[] key, int limit) {
        return new LockSemaphore(this, commands, Values.name(key, "a key"), limit, false);
    }

    /** A latch: a count that goes down once. */
    public Latch latch(String key) {
        return new Latch(commands, keeper.latches, Values.name(key, "a key"));
    }

    /** The same for a binary key. */
    public Latch latch(byte[] key) {
        return new Latch(commands, keeper.latches, Values.name(key, "a key"));
    }

    /** A rate: at most count per period, and burst at once. */
    public Limiter limiter(String key, long burst, long count, Duration period) {
        return new Limiter(commands, keeper.rates, Values.name(key, "a key"), burst, count, period);
    }

    /** The same for a binary key. */
    public Limiter limiter(byte[] key, long burst, long count, Duration period) {
        return new Limiter(commands, keeper.rates, Values.name(key, "a key"), burst, count, period);
    }

    /** Takes a unit of each of several limiters in one step, or of none; see {@link #takeLimits(List, long)}. */
    public Limiter.Decisions takeLimits(List<Limiter> limiters) {
        return takeLimits(limiters, 1);
    }

    /**
     * Takes units of several limiters in one step: so many of each, or none of any. 0 only looks. It is sent once: after
     * {@link NoConnectionException} they may be taken.
     *
     * @param limiters of this client, 64 at most, each key once
     */
    public Limiter.Decisions takeLimits(List<Limiter> limiters, long cost) {
        return together(limiters, cost).take(cost);
    }

    /** The same as soon as all have the units, for at most so long; the rest is as in {@link Limiter#take(long, Duration)}. */
    public Limiter.Decisions takeLimits(List<Limiter> limiters, long cost, Duration wait) throws InterruptedException {
        return together(limiters, cost).take(cost, Values.wait(wait, "a wait"));
    }

    /** Takes units as {@link #takeLimits(List, long)} does, and blocks no thread: the future has the decision, or the error. */
    public CompletableFuture<Limiter.Decisions> takeLimitsAsync(List<Limiter> limiters, long cost) {
        return together(limiters, cost).takeLater(cost);
    }

    /**
     * Takes units as {@link #takeLimits(List, long, Duration)} does, and blocks no thread. Cancelling the future gives up the wait; units
     * that were granted meanwhile are taken.
     */
    public CompletableFuture<Limiter.Decisions> takeLimitsAsync(List<Limiter> limiters, long cost, Duration wait) {
        return together(limiters, cost).takeLater(cost, Values.wait(wait, "a wait"));
    }

    private Rates<Limiter.Decisions> together(List<Limiter> limiters, long cost) {
        int count = Objects.requireNonNull(limiters, "the limiters are null").size();
        if (count < 1 || count > MOST_LIMITS) {
            throw new IllegalArgumentException(count + " limiters, and one call takes 1 to " + MOST_LIMITS);
        }
        List<String> words = new ArrayList<>(List.of("LIMIT.MTAKE", Integer.toString(count)));
        Set<String> keys = new HashSet<>();
        for (Limiter limiter : limiters) {
            Objects.requireNonNull(limiter, "a limiter is null").fits(cost);
            if (!limiter.isOf(commands)) {
                throw new IllegalArgumentException("the limiter \"" + limiter.key() + "\" is of another client");
            }
            if (!keys.add(limiter.key())) {
                throw new IllegalArgumentException("the limiter \"" + limiter.key() + "\" is there twice");
            }
            words.addAll(limiter.terms());
        }
        words.add("COST");
        return new Rates<>(commands, keeper.rates, limiters.get(0).key(), words.toArray(String[]::new), Limiter.Decisions.MEANING);
    }

    /** Entries that the server adds to a stream later. */
    public DelayedEntries delay(String stream) {
        return new DelayedEntries(commands, Values.name(stream, "a stream"));
    }

    /** The same for a stream with a binary key. */
    public DelayedEntries delay(byte[] stream) {
        return new DelayedEntries(commands, Values.name(stream, "a stream"));
    }

    /**
     * A worker for a stream, such as that behind a sale or of delayed entries. It is one consumer of a group, and calls a handler for
     * each entry. It does nothing before {@link Worker#run}.
     */
    public Worker worker(String stream, String group, Worker.Handler handler) {
        return worker(stream, group, WorkerOptions.defaults(), handler);
    }

    /** The same with options. */
    public Worker worker(String stream, String group, WorkerOptions options, Worker.Handler handler) {
        return new Worker(commands, Values.name(stream, "a stream"), group, options, handler);
    }

    /** The same for a stream with a binary key. */
    public Worker worker(byte[] stream, String group, WorkerOptions options, Worker.Handler handler) {
        return new Worker(commands, Values.name(stream, "a stream"), group, options, handler);
    }

    /** The flash sale of a voucher. */
    public Sale sale(String voucher) {
        return new Sale(commands, Values.name(voucher, "a voucher"));
    }

    /** The same for a binary voucher. */
    public Sale sale(byte[] voucher) {
        return new Sale(commands, Values.name(voucher, "a voucher"));
    }

    /**
     * Buys pieces of several sales in one step, under one order id and one hold: all parts, or none. The same cart gets the same answer,
     * however often it is asked. {@link Sale#confirm}, {@link Sale#cancel} and {@link Sale#extend} are for one part.
     *
     * @param parts 1 to 64
     */
    public Sale.CartOutcome buyCart(String user, String order, List<Sale.Part> parts) {
        return cart.buy(user, order, parts);
    }

    /** Buys a cart as {@link #buyCart} does, and blocks no thread: the future has the outcome, or the error. */
    public CompletableFuture<Sale.CartOutcome> buyCartAsync(String user, String order, List<Sale.Part> parts) {
        return cart.buyLater(user, order, parts);
    }

    /**
     * Asks the holders of a key to let go: their listeners of {@link HeldLock#onAsked} are called. The lock stays as it is. It is sent
     * once: after {@link NoConnectionException} they may have been asked.
     *
     * @param reason what the holders are told; empty: nothing
     * @return how many heard it; 0: the key is free, or no holder is attached
     */
    public long ask(String key, String reason) {
        return (Long) commands.once(question(Values.name(key, "a key"), reason));
    }

    /** The same for a binary key. */
    public long ask(byte[] key, String reason) {
        return (Long) commands.once(question(Values.name(key, "a key"), reason));
    }

    /** Asks the holders of a key as {@link #ask(String, String)} does, without blocking a thread. */
    public CompletableFuture<Long> askAsync(String key, String reason) {
        long end = commands.deadline();
        return commands.promised(commands.askOnce(end, question(Values.name(key, "a key"), reason)).thenApply(Long.class::cast), end);
    }

    /** The same for a binary key. */
    public CompletableFuture<Long> askAsync(byte[] key, String reason) {
        long end = commands.deadline();
        return commands.promised(commands.askOnce(end, question(Values.name(key, "a key"), reason)).thenApply(Long.class::cast), end);
    }

    private static String[] question(String key, String reason) {
        String text = Values.text(reason, "a reason");
        return text.isEmpty() ? new String[] {"LOCK.ASK", key} : new String[] {"LOCK.ASK", key, "REASON", text};
    }

    /**
     * Runs a task while this caller is the only leader: the holder of a lock. It waits until it is. If the lead is lost while
     * the task runs, the thread is interrupted, and campaigns again after the task has returned. The call returns when the task
     * returns while it leads, and throws what it throws then.
     *
     * @throws InterruptedException if another thread has interrupted the call
     * @throws ClientClosedException if the client was closed
     */
    public void campaign(String key, Campaign.Task task) throws Exception {
        new Campaign(this, Values.name(key, "a key")).run(Objects.requireNonNull(task, "the task is null"));
    }

    /** The same for a binary key. */
    public void campaign(byte[] key, Campaign.Task task) throws Exception {
        new Campaign(this, Values.name(key, "a key")).run(Objects.requireNonNull(task, "the task is null"));
    }

    /** Sends any other command over the second connection, once; a reply is a Long, a String, a Double, a Boolean, null, or a List. */
    public Object command(String... words) {
        return commands.once(Values.command(words));
    }

    /** Sends any other command as {@link #command} does, without blocking a thread. */
    public CompletableFuture<Object> commandAsync(String... words) {
        long end = commands.deadline();
        return commands.promised(commands.askOnce(end, Values.command(words)), end);
    }

    /** Whether the attached connection is there now; over several shards, those of all that are used. Locks outlive a short break of it. */
    public boolean isAttached() {
        return keeper.shards.isAttached();
    }

    /** How many locks this client holds now; several that were taken together are one. */
    public int heldCount() {
        return keeper.heldCount();
    }

    /**
     * What a client has now.
     *
     * @param held acquisitions that are held; several locks that were taken together count once
     * @param waiting calls that wait for a lock or for permits
     * @param oldest the age of the oldest hold; zero: there is none
     */
    public record Stats(int held, int waiting, Duration oldest) {
    }

    /** What this client has now. An old hold may be one that was forgotten. */
    public Stats stats() {
        return new Stats(keeper.heldCount(), keeper.waitingCount(), keeper.oldestHold());
    }

    /** Whether any owner holds a key, of any client. */
    public boolean isLocked(String key) {
        return inspection.now(inspection::isHeld, Values.name(key, "a key"));
    }

    /** The same for a binary key. */
    public boolean isLocked(byte[] key) {
        return inspection.now(inspection::isHeld, Values.name(key, "a key"));
    }

    /** Whether any owner holds a key, without blocking a thread. */
    public CompletableFuture<Boolean> isLockedAsync(String key) {
        return inspection.later(inspection::isHeld, Values.name(key, "a key"));
    }

    /** The same for a binary key. */
    public CompletableFuture<Boolean> isLockedAsync(byte[] key) {
        return inspection.later(inspection::isHeld, Values.name(key, "a key"));
    }

    /** The holders and the waiters of a key; empty: it is free. */
    public Optional<LockInfo> info(String key) {
        return inspection.now(inspection::info, Values.name(key, "a key"));
    }

    /** The same for a binary key. */
    public Optional<LockInfo> info(byte[] key) {
        return inspection.now(inspection::info, Values.name(key, "a key"));
    }

    /** The holders and the waiters of a key, without blocking a thread. */
    public CompletableFuture<Optional<LockInfo>> infoAsync(String key) {
        return inspection.later(inspection::info, Values.name(key, "a key"));
    }

    /** The same for a binary key. */
    public CompletableFuture<Optional<LockInfo>> infoAsync(byte[] key) {
        return inspection.later(inspection::info, Values.name(key, "a key"));
    }

    /**
     * Releases a lock of any owner, who hears of the loss as {@link LossReason#FORCED}. False: it was free. It names the owners that it
     * has seen, so a later one keeps the lock also if an answer was lost.
     */
    public boolean forceUnlock(String key) {
        return inspection.now(inspection::force, Values.name(key, "a key"));
    }

    /** The same for a binary key. */
    public boolean forceUnlock(byte[] key) {
        return inspection.now(inspection::force, Values.name(key, "a key"));
    }

    /** Releases a lock of any owner as {@link #forceUnlock(String)} does, without blocking a thread. */
    public CompletableFuture<Boolean> forceUnlockAsync(String key) {
        return inspection.later(inspection::force, Values.name(key, "a key"));
    }

    /** The same for a binary key. */
    public CompletableFuture<Boolean> forceUnlockAsync(byte[] key) {
        return inspection.later(inspection::force, Values.name(key, "a key"));
    }

    /** How many calls wait for a lock now. */
    public int waitingCount() {
        return keeper.waitingCount();
    }

    /**
     * Releases what is held, ends all waits with {@link ClientClosedException}, and ends the connections. It returns within the
     * timeout, and a few seconds for the threads of Lettuce. A lock that the server has not answered for ends with its lease.
     */
    @Override
    public void close() {
        keeper.close();
        end();
    }

    private void end() {
        if (!ended.compareAndSet(false, true)) {
            return;
        }
        commands.close();
        dialer.close();
        timer.shutdownNow();
        executor.shutdown();
        commands.promises.endAll();
    }

    /** A refusal with the holder, if the server names one at once. */
    private NotAcquiredException named(NotAcquiredException refusal, List<String> keys) {
        long end = commands.deadline();
        try {
            for (String key : keys) {
                Object reply = commands.promised(commands.askAgain(end, "LOCK.INFO", key, "COUNT", "1"), end).get(Waits.GRACE_NS, TimeUnit.NANOSECONDS);
                Optional<LockInfo.Holder> holder = LockInfo.of(reply).flatMap(info -> info.holders().stream().findFirst());
                if (holder.isPresent()) {
                    return refusal.of(holder.get());
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (ExecutionException | TimeoutException e) {
            // the server is slow, or the user may not ask
        }
        return refusal;
    }

    private Owner owner(LockOptions options) {
        HeldLock same = Objects.requireNonNull(options, "the options are null").owner();
        if (same == null) {
            return newOwner();
        }
        if (!same.hold().isOf(keeper)) {
            throw new IllegalArgumentException(same + " is held by another client, and this one's connection would not hear of the grant");
        }
        return same.hold().ownerOf();
    }

    Owner newOwner() {
        return keeper.newOwner();
    }

    HeldLock acquire(Owner owner, Wish wish, Duration wait) throws InterruptedException {
        long began = System.nanoTime();
        try {
            HeldLock lock = new HeldLock(keeper.waits.request(owner, wish, wait), Log.caller());
            wish.keys().forEach(key -> tell(() -> observer.acquired(key, Duration.ofNanos(System.nanoTime() - began))));
            return lock;
        } catch (LockException | InterruptedException e) {
            wish.keys().forEach(key -> tell(() -> observer.refused(key, Duration.ofNanos(System.nanoTime() - began), e)));
            throw e;
        }
    }

    CompletableFuture<HeldLock> acquireAsync(Owner owner, Wish wish, Duration wait) {
        return futures.acquire(owner, wish, wait);
    }

    /** The same with an empty value for a lock that is not free. A caller that gives up gives up the inner future, too. */
    <T> CompletableFuture<Optional<T>> optional(CompletableFuture<T> inner) {
        CompletableFuture<Optional<T>> promise = commands.promises.make();
        inner.whenComplete((value, error) -> {
            if (error instanceof NotAcquiredException) {
                promise.complete(Optional.empty());
            } else if (error != null) {
                promise.completeExceptionally(error);
            } else if (!promise.complete(Optional.of(value)) && value instanceof HeldLock lock) {
                lock.unlockAsync();
            }
        });
        promise.whenComplete((value, error) -> inner.cancel(false));
        return promise;
    }

    /** Calls an observer on the caller's thread. What it throws goes to that thread's handler: the caller must get its lock. */
    static void tell(Runnable observation) {
        try {
            observation.run();
        } catch (Throwable e) {
            Thread thread = Thread.currentThread();
            Thread.UncaughtExceptionHandler handler = thread.getUncaughtExceptionHandler();
            if (handler != null) { // null: the thread is ending
                handler.uncaughtException(thread, e);
            }
        }
    }
}
