package io.lockserver.client;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Owns the connection that is attached to the prefix of the client's owners. It makes it, makes it anew, hears of grants and
 * losses by it, and knows what is held. If the server is silent for so long that a lease may end, what it renews is lost.
 */
final class Keeper implements AutoCloseable {
    /** The server's own default, for users who may not ask. */
    private static final Duration DEFAULT_LEASE = Duration.ofSeconds(30);
    private static final int FIRST_ATTEMPTS = 3;
    private static final long PAUSE_MS = 20;
    private static final long LONGEST_PAUSE_MS = 1000;

    /** Guards the fields of this class, of Waits and of Debts. User code never runs under it. */
    final ReentrantLock mu = new ReentrantLock();
    final Debts debts = new Debts(mu);
    final Waits waits = new Waits(this);
    final Unconfirmed unconfirmed = new Unconfirmed(this);
    final RateWaits rates = new RateWaits(this);
    final LatchWaits latches = new LatchWaits(this);
    /** The longest time that a call waits for an answer. */
    final Duration limit;
    /** Told of what becomes of locks. */
    final LockObserver observer;

    private final Dialer dialer;
    private final Commands commands;
    private final String prefix;
    private final ScheduledThreadPoolExecutor timer;
    /** Runs listeners of users. */
    private final ExecutorService listeners;
    private final CountDownLatch ended = new CountDownLatch(1);
    private final AtomicLong made = new AtomicLong();
    private final Thread thread;

    private volatile Duration lease = DEFAULT_LEASE;
    /** The server has said how long a lease is. */
    private volatile boolean leaseKnown;
    private Wire wire;
    private final Map<Place, List<Hold>> held = new HashMap<>();
    private boolean closing;
    /** When the last request was sent that the server has answered, by System.nanoTime. */
    private long answered;
    private ScheduledFuture<?> patience;
    /** The server was silent for too long, and has not answered since. */
    private boolean lapsed;
    /** This process was stopped, and the server has not answered since. */
    private boolean resumed;
    /** Why the last attempt to connect has failed, null: it has not. */
    private RuntimeException refused;
    /** There was a connection, of the kind that this client needs. */
    private boolean begun;

    Keeper(Dialer dialer, Commands commands, String prefix, Duration limit, LockObserver observer, ScheduledThreadPoolExecutor timer,
            ExecutorService listeners) {
        this.dialer = dialer;
        this.commands = commands;
        this.prefix = prefix;
        this.limit = limit;
        this.observer = observer;
        this.timer = timer;
        this.listeners = listeners;
        thread = new Thread(this::run, "lockserver-keeper");
        thread.setDaemon(true);
    }

    /** Makes the first connection. */
    void start(Duration within) throws InterruptedException {
        long end = System.nanoTime() + within.toNanos();
        for (int broken = 0;;) {
            try {
                connect(Duration.ofNanos(Math.max(1, end - System.nanoTime())));
                break;
            } catch (ServerException e) {
                if (Errors.isReply(e)) {
                    throw Errors.meaning(e);
                }
                if (System.nanoTime() > end) { // none leads yet, as during a failover
                    throw new NoConnectionException(e.getMessage(), e);
                }
            } catch (BrokenException e) { // Lettuce may also say so of a server that has refused the password
                if (++broken == FIRST_ATTEMPTS || System.nanoTime() > end) {
                    throw new NoConnectionException(e.getMessage(), e);
                }
            }
            Thread.sleep(PAUSE_MS);
        }
        begin();
        tell(observer::attached);
    }

    /** Has the first connection made meanwhile, and does not wait for it. */
    void startLazily() {
        answered = System.nanoTime();
        begin();
    }

    private void begin() {
        mu.lock();
        try {
            patience = timer.schedule(this::lapse, sureNS(), TimeUnit.NANOSECONDS);
        } finally {
            mu.unlock();
        }
        thread.start();
    }

    /** Connects, attaches, and has the new connection do what the one before has left undone. */
    private void connect(Duration within) throws InterruptedException {
        try {
            dialer.dial(within, this::attach);
            mu.lock();
            refused = null;
            begun = true;
            mu.unlock();
        } catch (RuntimeException e) {
            mu.lock();
            try {
                refused = e;
                if (refusal() != null) {
                    waits.failAll(this::refusal);
                }
            } finally {
                mu.unlock();
            }
            throw e;
        }
    }

    private void attach(Wire next, Duration within) throws InterruptedException {
        next.onPush(message -> told(next, message));
        long asked = System.nanoTime();
        next.ask(within, "LOCK.ATTACH", "PREFIX", prefix);
        hear(asked);
        readLease(next, within);
        List<CompletableFuture<Object>> checks = new ArrayList<>();
        mu.lock();
        try {
            wire = next; // from here on calls send by this connection
            debts.use(next);
            for (Hold lock : heldNow()) {
                lock.check(next, checks);
            }
            waits.sendAll(next); // behind the checks: very many replies may take longer than the checks have time
            rates.sendAll(next);
            latches.readAll();
        } finally {
            mu.unlock();
        }
        try {
            CompletableFuture.allOf(checks.toArray(CompletableFuture[]::new)).get(within.toNanos(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            next.close(new BrokenException("no answer of " + next.address, e));
        } catch (ExecutionException e) {
            next.close(new BrokenException("the connection to " + next.address + " broke at once", e));
        }
    }

    private void readLease(Wire next, Duration within) throws InterruptedException {
        leaseKnown = false;
        try {
            if (next.ask(within, "CONFIG", "GET", "lock-watchdog-timeout") instanceof List<?> pair && pair.size() == 2) {
                lease = Duration.ofMillis(Long.parseLong(String.valueOf(pair.get(1))));
                leaseKnown = true;
            }
        } catch (ServerException | NumberFormatException e) {
            // the user may not ask: the default
        }
    }

    private void run() {
        try {
            while (ended.getCount() > 0) {
                Wire now = wire();
                if (now != null) {
                    watch(now);
                    if (ended.getCount() > 0) {
                        Log.detached(now.address, now.reason());
                    }
                    tell(() -> observer.detached(now.reason()));
                    mu.lock();
                    wire = null;
                    debts.use(null);
                    mu.unlock();
                }
                reconnect();
            }
        } catch (InterruptedException e) {
            // the client is closed
        }
    }

    private void reconnect() throws InterruptedException {
        LoginLimit login = new LoginLimit();
        boolean told = false;
        for (long pause = PAUSE_MS; !ended.await(pause, TimeUnit.MILLISECONDS); pause = Math.min(2 * pause, longestPause())) {
            try {
                connect(login.now());
                Log.attached(wire().address);
                tell(observer::attached);
                return;
            } catch (RuntimeException e) { // of the server, the network, or Lettuce; this thread must not end by it
                login.ended(e);
                if (!told && !wasAttached()) {
                    told = true;
                    Log.unreachable(e);
                }
            }
        }
    }

    private boolean wasAttached() {
        mu.lock();
        try {
            return begun;
        } finally {
            mu.unlock();
        }
    }

    /**
     * What a server has said that is of no use to this client, such as a plain Redis, or one that refuses the password; null: nothing.
     * After the first connection a server that says so is one that will be replaced. The caller holds mu.
     */
    LockException refusal() {
        return !begun && refused instanceof ServerException reply && Errors.isReply(reply) ? Errors.meaning(new ServerException(reply.getMessage())) : null;
    }

    private long longestPause() {
        return Math.max(1, Math.min(LONGEST_PAUSE_MS, lease.toMillis() / 10));
    }

    /** Asks the server for a sign of life now and then, until the connection breaks. */
    private void watch(Wire now) throws InterruptedException {
        Duration tick = lease.dividedBy(6);
        while (!now.broke.await(tick.toNanos(), TimeUnit.NANOSECONDS)) {
            long asked = System.nanoTime();
            try {
                now.ask(tick, "PING");
                hear(asked);
            } catch (ServerException | BrokenException e) {
                now.close(e);
            }
        }
    }

    /** How long a lease that the server renews lasts at least behind its last answer. It renews when a third is over. */
    private long sureNS() {
        return lease.toNanos() * 2 / 3 - lease.toNanos() / 20;
    }

    /** Records that the server has answered what was sent at a moment. */
    private void hear(long asked) {
        mu.lock();
        try {
            answered = asked;
            resumed = false;
            if (lapsed) {
                lapsed = false;
                patience = timer.schedule(this::lapse, sureNS(), TimeUnit.NANOSECONDS);
            }
        } finally {
            mu.unlock();
        }
    }

    /** Counts what the server renews as lost if it has been silent for too long: leases may end. Ends the waits, too. */
    private void lapse() {
        List<Runnable> losses = new ArrayList<>();
        mu.lock();
        try {
            long left = answered + sureNS() - System.nanoTime();
            if (-left > lease.toNanos() / 6 && wire != null && !resumed) {
                // The timer is late, so this process was stopped. The connection may live: the server is asked first.
                resumed = true;
                left = lease.toNanos() / 6;
            }
            if (ended.getCount() == 0) {
                return;
            }
            if (left > 0) {
                patience = timer.schedule(this::lapse, left, TimeUnit.NANOSECONDS);
                return;
            }
            lapsed = true;
            waits.endQueued();
            rates.endQueued();
            for (Hold lock : heldNow()) {
                if (lock.isRenewedByServer()) {
                    lock.lose(0, LossReason.UNREACHABLE, losses);
                }
            }
        } finally {
            mu.unlock();
        }
        losses.forEach(Runnable::run);
    }

    /** For how long from now a lease that the server renews lasts for certain, in nanoseconds. */
    long sureFor(long now) {
        mu.lock();
        try {
            return lapsed ? 0 : answered + sureNS() - now;
        } finally {
            mu.unlock();
        }
    }

    /** The age of the oldest hold; zero: there is none. */
    Duration oldestHold() {
        mu.lock();
        try {
            return heldNow().stream().map(Hold::heldFor).max(Duration::compareTo).orElse(Duration.ZERO);
        } finally {
            mu.unlock();
        }
    }

    /** Whether the server has answered so recently that a lease which it renews cannot have ended. */
    boolean isSure() {
        mu.lock();
        try {
            return !lapsed && answered + lease.toNanos() * 2 / 3 - System.nanoTime() > 0;
        } finally {
            mu.unlock();
        }
    }

    /** Takes a push: its kind, a key or several, a token or several or a reason, and so on. */
    private void told(Wire from, List<Object> message) {
        if (message.size() == 2 && "invalidate".equals(message.get(0))) {
            latches.changed(message.get(1) instanceof List<?> changed ? changed : null);
            return;
        }
        if (message.size() < 4) {
            return;
        }
        List<?> keys = message.get(1) instanceof List<?> list ? list : List.of(message.get(1));
        if (keys.isEmpty()) {
            return;
        }
        String key = String.valueOf(keys.get(0));
        switch (String.valueOf(message.get(0))) {
            case "lock-granted" -> {
                long[] tokens = Waits.tokens(message.get(2));
                if (tokens != null && tokens.length == keys.size()) {
                    waits.granted(from, new Place(String.valueOf(message.get(3)), key), tokens);
                }
            }
            case "lock-refused" -> refused(from, new Place(String.valueOf(message.get(3)), key), String.valueOf(message.get(2)));
            case "limit-granted" -> {
                if (message.get(2) instanceof List<?> reply) {
                    rates.granted(from, String.valueOf(message.get(3)), reply);
                }
            }
            case "limit-refused" -> rates.refused(from, String.valueOf(message.get(3)), String.valueOf(message.get(2)));
            case "lock-lost" -> {
                if (message.size() > 4 && message.get(2) instanceof Long token) {
                    lost(new Place(String.valueOf(message.get(4)), key), token, LossReason.of(String.valueOf(message.get(3))));
                }
            }
            case "lock-asked" -> {
                if (message.size() > 4 && message.get(2) instanceof Long token) {
                    asked(new Place(String.valueOf(message.get(4)), key), token, String.valueOf(message.get(3)));
                }
            }
            default -> {
                // a kind that this version does not know
            }
        }
    }

    private void refused(Wire from, Place place, String reason) {
        if (waits.refused(from, place, reason) || !reason.equals("unconfirmed")) {
            return;
        }
        List<Runnable> losses = new ArrayList<>();
        mu.lock();
        try {
            unconfirmed.takenBack(List.copyOf(held.getOrDefault(place, List.of())), losses);
        } finally {
            mu.unlock();
        }
        losses.forEach(Runnable::run);
    }

    private void asked(Place place, long token, String reason) {
        mu.lock();
        try {
            for (Hold lock : held.getOrDefault(place, List.of())) {
                if (lock.indexOf(place.key(), token) >= 0) {
                    lock.asked(reason);
                }
            }
        } finally {
            mu.unlock();
        }
    }

    private void lost(Place place, long token, LossReason reason) {
        List<Runnable> losses = new ArrayList<>();
        mu.lock();
        try {
            for (Hold lock : List.copyOf(held.getOrDefault(place, List.of()))) {
                int i = lock.indexOf(place.key(), token);
                if (i >= 0) {
                    lock.lose(i, reason, losses);
                }
            }
        } finally {
            mu.unlock();
        }
        losses.forEach(Runnable::run);
    }

    /** Records what the server has given; the caller holds mu. */
    Hold keep(Owner owner, Wish wish, long[] tokens, long began) {
        Hold lock = new Hold(this, owner, wish, tokens);
        for (String key : wish.keys()) {
            held.computeIfAbsent(new Place(owner.name, key), k -> new ArrayList<>(1)).add(lock);
        }
        if (wish.lease() != null) {
            lock.endsAt(began + wish.lease().toNanos());
        }
        return lock;
    }

    /** The opposite of keep; the caller holds mu. */
    void forget(Hold lock) {
        for (String key : lock.wish().keys()) {
            held.computeIfPresent(new Place(lock.owner(), key), (place, list) -> {
                list.remove(lock);
                return list.isEmpty() ? null : list;
            });
        }
    }

    /** Whether the owner holds the first key in that way; wish null: in any way. The caller holds mu. */
    boolean isHeld(Place place, Wish wish) {
        return held.getOrDefault(place, List.of()).stream().anyMatch(lock -> wish == null || lock.wish().shared() == wish.shared());
    }

    private List<Hold> heldNow() {
        return held.values().stream().flatMap(List::stream).distinct().toList();
    }

    /** How many locks are held. */
    int heldCount() {
        mu.lock();
        try {
            return heldNow().size();
        } finally {
            mu.unlock();
        }
    }

    /** How many calls wait. */
    int waitingCount() {
        mu.lock();
        try {
            return waits.count();
        } finally {
            mu.unlock();
        }
    }

    /** Whether the connection is there. */
    boolean isAttached() {
        Wire now = wire();
        return now != null && now.reason() == null;
    }

    /** The second connection. */
    Commands commands() {
        return commands;
    }

    Wire wire() {
        mu.lock();
        try {
            return wire;
        } finally {
            mu.unlock();
        }
    }

    boolean isClosing() {
        return closing;
    }

    boolean isLapsed() {
        return lapsed;
    }

    Duration lease() {
        return lease;
    }

    /** Whether the server has said how long a lease is. */
    boolean knowsLease() {
        return leaseKnown;
    }

    /** A name that no other owner has. */
    Owner newOwner() {
        return new Owner(prefix + made.incrementAndGet());
    }

    /** The error of a call for something that was not answered in time. */
    NoConnectionException silence(String what) {
        mu.lock();
        try {
            String why = refused == null ? "" : ": " + refused.getMessage();
            return new NoConnectionException(what + ": the server does not answer" + why, refused);
        } finally {
            mu.unlock();
        }
    }

    /** Has something done later. */
    ScheduledFuture<?> later(Duration delay, Runnable task) {
        return timer.schedule(task, delay.toNanos(), TimeUnit.NANOSECONDS);
    }

    /** Runs code of users, in a thread of its own. */
    void tell(Runnable task) {
        listeners.execute(task);
    }

    /** Releases what is held, as far as the server answers in time, and ends the connection. */
    @Override
    public void close() {
        List<Runnable> losses = new ArrayList<>();
        mu.lock();
        try {
            if (closing) {
                return;
            }
            closing = true;
            for (Hold lock : heldNow()) {
                lock.lose(0, LossReason.CLOSED, losses);
            }
            waits.endAll();
            rates.endAll();
            latches.endAll();
        } finally {
            mu.unlock();
        }
        losses.forEach(Runnable::run);
        boolean interrupted = false;
        try {
            debts.await(System.nanoTime() + limit.toNanos());
        } catch (InterruptedException e) {
            interrupted = true;
        }
        ended.countDown();
        Wire now = wire();
        if (now != null) {
            now.end();
        }
        thread.interrupt();
        try {
            thread.join(limit.toMillis());
        } catch (InterruptedException e) {
            interrupted = true;
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
