package io.lockserver.client;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A server of the client's, and the connection to it that is attached to the prefix of the client's owners. It makes the connection, makes
 * it anew, and hears of grants and losses by it. If the server is silent for so long that a lease may end, what it renews is lost.
 */
final class Shard {
    /** The server's own default, for users who may not ask. */
    private static final Duration DEFAULT_LEASE = Duration.ofSeconds(30);
    private static final int FIRST_ATTEMPTS = 3;
    private static final long PAUSE_MS = 20;
    private static final long LONGEST_PAUSE_MS = 1000;

    /** The connection that carries commands. */
    final Channel channel;
    /** What has to be done as soon as there is a connection; {@link Debts} guards it. */
    final Deque<Debts.Debt> unpaid = new ArrayDeque<>();
    /** The connection that tracks latches, or null; {@link LatchWaits} guards it. */
    Wire tracking;

    private final Keeper keeper;
    private final Route route;
    private final CountDownLatch ended = new CountDownLatch(1);
    private final Thread thread;

    // The lock of the keeper guards what follows.
    private volatile Duration lease = DEFAULT_LEASE;
    /** The server has said how long a lease is. */
    private volatile boolean leaseKnown;
    private Wire wire;
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
    /** Why the connection has ended; null: it has not, or there is another one. */
    private RuntimeException brokenBy;
    /** Its slots have other owners, and nothing is left here. */
    private boolean over;

    Shard(Keeper keeper, Route route) {
        this.keeper = keeper;
        this.route = route;
        channel = new Channel(route, keeper.executor());
        answered = System.nanoTime();
        thread = new Thread(this::run, "lockserver-keeper");
        thread.setDaemon(true);
    }

    Route route() {
        return route;
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
        keeper.shards.report();
    }

    /** Has the first connection made meanwhile, and does not wait for it. */
    void startLazily() {
        answered = System.nanoTime();
        begin();
    }

    private void begin() {
        keeper.mu.lock();
        try {
            patience = keeper.later(sure(), this::lapse);
        } finally {
            keeper.mu.unlock();
        }
        thread.start();
    }

    /** Connects, attaches, and has the new connection do what the one before has left undone. */
    private void connect(Duration within) throws InterruptedException {
        try {
            route.dial(within, this::attach);
            keeper.mu.lock();
            refused = null;
            begun = true;
            keeper.mu.unlock();
        } catch (RuntimeException e) {
            keeper.mu.lock();
            try {
                refused = e;
                if (refusal() != null) {
                    keeper.waits.failAll(this, this::refusal);
                }
            } finally {
                keeper.mu.unlock();
            }
            throw e;
        }
    }

    private void attach(Wire next, Duration within) throws InterruptedException {
        next.onPush(message -> keeper.told(this, next, message));
        long asked = System.nanoTime();
        next.ask(within, "LOCK.ATTACH", "PREFIX", keeper.prefix());
        if (keeper.shards.isSharded()) { // a key says whether the server has the slots
            route.leads(next, within);
        }
        hear(asked);
        readLease(next, within);
        List<CompletableFuture<Object>> checks = new ArrayList<>();
        keeper.mu.lock();
        try {
            if (over) {
                throw new BrokenException("the shard is gone", null);
            }
            wire = next; // from here on calls send by this connection
            brokenBy = null;
            keeper.debts.sendAll(this);
            for (Hold lock : keeper.heldAt(this)) {
                lock.check(next, checks);
            }
            keeper.waits.sendAll(this); // behind the checks: very many replies may take longer than the checks have time
            keeper.rates.sendAll(this);
            keeper.latches.readAll();
        } finally {
            keeper.mu.unlock();
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
                useLease(Duration.ofMillis(Long.parseLong(String.valueOf(pair.get(1)))));
                leaseKnown = true;
            }
        } catch (ServerException | NumberFormatException e) {
            // the user may not ask: the default
        }
    }

    /** Takes the length of a lease. If it is another one, the patience with the server is another one, too. */
    private void useLease(Duration length) {
        keeper.mu.lock();
        try {
            boolean changed = !length.equals(lease);
            lease = length;
            if (changed && patience != null && !lapsed) {
                patience.cancel(false);
                patience = keeper.later(Duration.ofNanos(Math.max(sureUntil() - System.nanoTime(), 0)), this::lapse);
            }
        } finally {
            keeper.mu.unlock();
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
                    keeper.mu.lock();
                    wire = null;
                    brokenBy = now.reason();
                    keeper.mu.unlock();
                    keeper.shards.report();
                }
                reconnect();
            }
        } catch (InterruptedException e) {
            // the client is closed, or the shard is over
        }
    }

    private void reconnect() throws InterruptedException {
        LoginLimit login = new LoginLimit();
        boolean told = false;
        long pause = wasAttached() ? PAUSE_MS : 0;
        for (; !ended.await(pause, TimeUnit.MILLISECONDS); pause = Math.min(Math.max(2 * pause, PAUSE_MS), longestPause())) {
            try {
                connect(login.now());
                Wire now = wire();
                Log.attached(now == null ? "" : now.address);
                keeper.shards.report();
                return;
            } catch (RuntimeException e) { // of the server, the network, or Lettuce; this thread must not end by it
                login.ended(e);
                if (!told && !wasAttached()) {
                    told = true;
                    Log.unreachable(e);
                }
            }
            keeper.shards.trouble(this);
        }
    }

    private boolean wasAttached() {
        keeper.mu.lock();
        try {
            return begun;
        } finally {
            keeper.mu.unlock();
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

    /**
     * Asks the server for a sign of life now and then, until the connection breaks. A server that is silent does not answer on the other
     * connections either, as a leader that is cut off: what waits there would wait until its time is over.
     */
    private void watch(Wire now) throws InterruptedException {
        Duration tick = lease.dividedBy(6);
        while (!now.broke.await(tick.toNanos(), TimeUnit.NANOSECONDS)) {
            long asked = System.nanoTime();
            try {
                now.ask(tick, "PING");
                hear(asked);
            } catch (ServerException | BrokenException e) {
                now.close(e);
                if (e.getCause() instanceof TimeoutException) {
                    channel.drop(e);
                }
            }
        }
    }

    /** How long a lease that the server renews lasts at least behind its last answer. It renews when a third is over. */
    private Duration sure() {
        return Duration.ofNanos(lease.toNanos() * 2 / 3 - lease.toNanos() / 20);
    }

    /** Records that the server has answered what was sent at a moment. */
    private void hear(long asked) {
        keeper.mu.lock();
        try {
            answered = asked;
            resumed = false;
            if (lapsed) {
                lapsed = false;
                patience = keeper.later(sure(), this::lapse);
            }
        } finally {
            keeper.mu.unlock();
        }
    }

    /** Counts what the server renews as lost if it has been silent for too long: leases may end. Ends the waits, too. */
    private void lapse() {
        List<Runnable> losses = new ArrayList<>();
        keeper.mu.lock();
        try {
            long left = sureUntil() - System.nanoTime();
            if (-left > lease.toNanos() / 6 && wire != null && !resumed) {
                // The timer is late, so this process was stopped. The connection may live: the server is asked first.
                resumed = true;
                left = lease.toNanos() / 6;
            }
            if (ended.getCount() == 0) {
                return;
            }
            if (left > 0) {
                patience = keeper.later(Duration.ofNanos(left), this::lapse);
                return;
            }
            lapsed = true;
            keeper.waits.endQueued(this);
            keeper.rates.endQueued(this);
            for (Hold lock : keeper.heldAt(this)) {
                if (lock.isRenewedByServer()) {
                    lock.lose(0, LossReason.UNREACHABLE, losses);
                }
            }
        } finally {
            keeper.mu.unlock();
        }
        losses.forEach(Runnable::run);
    }

    /** Until when leases that the server renews last for certain, by System.nanoTime; the caller holds mu. */
    long sureUntil() {
        return answered + sure().toNanos();
    }

    /** For how long from now a lease that the server renews lasts for certain, in nanoseconds. */
    long sureFor(long now) {
        keeper.mu.lock();
        try {
            return lapsed ? 0 : sureUntil() - now;
        } finally {
            keeper.mu.unlock();
        }
    }

    /** Whether the server has answered so recently that a lease which it renews cannot have ended. */
    boolean isSure() {
        keeper.mu.lock();
        try {
            return !lapsed && answered + lease.toNanos() * 2 / 3 - System.nanoTime() > 0;
        } finally {
            keeper.mu.unlock();
        }
    }

    Wire wire() {
        keeper.mu.lock();
        try {
            return wire;
        } finally {
            keeper.mu.unlock();
        }
    }

    boolean isLapsed() {
        return lapsed;
    }

    /** Whether the connection has ended, and there is no other one yet; the caller holds mu. */
    boolean isBroken() {
        return brokenBy != null;
    }

    RuntimeException brokenBy() {
        return brokenBy;
    }

    Duration lease() {
        return lease;
    }

    /** Whether the server has said how long a lease is. */
    boolean knowsLease() {
        return leaseKnown;
    }

    /** The error of a call for something that was not answered in time. */
    NoConnectionException silence(String what) {
        keeper.mu.lock();
        try {
            String why = refused == null ? "" : ": " + refused.getMessage();
            return new NoConnectionException(what + ": the server does not answer" + why, refused);
        } finally {
            keeper.mu.unlock();
        }
    }

    /** Ends the connections, because its slots have other owners; the caller holds mu. */
    void retire() {
        over = true;
        ended.countDown();
        if (patience != null) {
            patience.cancel(false);
        }
        BrokenException why = new BrokenException("the shard is gone", null);
        if (wire != null) {
            wire.close(why);
        }
        wire = null;
        channel.drop(why);
        if (Thread.currentThread() != thread) {
            thread.interrupt();
        }
    }

    /** Ends the attached connection, because the client is closed. */
    void end() {
        ended.countDown();
        Wire now = wire();
        if (now != null) {
            now.end();
        }
        thread.interrupt();
    }

    void join(long ms) throws InterruptedException {
        thread.join(ms);
    }
}
