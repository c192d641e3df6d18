package io.lockserver.client;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;

import io.lettuce.core.RedisURI;

/** Knows what the client holds, hears of losses, and has the shards with their connections. */
final class Keeper implements AutoCloseable {
    /** Guards the fields of this class, and of all that is about shards, waits and debts. User code never runs under it. */
    final ReentrantLock mu = new ReentrantLock();
    /** The longest time that a call waits for an answer. */
    final Duration limit;
    /** Told of what becomes of locks. */
    final LockObserver observer;
    final Shards shards;
    final Debts debts = new Debts(this);
    final Waits waits = new Waits(this);
    final Unconfirmed unconfirmed = new Unconfirmed(this);
    final RateWaits rates = new RateWaits(this);
    final LatchWaits latches = new LatchWaits(this);

    private final Commands commands;
    private final String prefix;
    private final ScheduledThreadPoolExecutor timer;
    /** Runs listeners of users, and what must not block the threads of Lettuce. */
    private final ExecutorService executor;
    private final AtomicLong made = new AtomicLong();
    private final Map<Place, List<Hold>> held = new HashMap<>();
    private volatile boolean closing;

    /** mapped: the servers are asked for the map of a cluster. */
    Keeper(Dialer dialer, List<RedisURI> uris, boolean mapped, String prefix, Duration limit, LockObserver observer, ScheduledThreadPoolExecutor timer,
            ExecutorService executor) {
        this.prefix = prefix;
        this.limit = limit;
        this.observer = observer;
        this.timer = timer;
        this.executor = executor;
        shards = new Shards(this, dialer, uris, mapped);
        commands = new Commands(shards, limit, executor, timer);
    }

    /** Makes the first connection. */
    void start(Duration within) throws InterruptedException {
        shards.first().start(within);
    }

    /** Has the first connection made meanwhile, and does not wait for it. */
    void startLazily() {
        shards.first().startLazily();
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

    /** Takes a push: its kind, a key or several, a token or several or a reason, and so on. */
    void told(Shard shard, Wire from, List<Object> message) {
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
                    lost(shard, new Place(String.valueOf(message.get(4)), key), token, LossReason.of(String.valueOf(message.get(3))));
                }
            }
            case "lock-asked" -> {
                if (message.size() > 4 && message.get(2) instanceof Long token) {
                    asked(shard, new Place(String.valueOf(message.get(4)), key), token, String.valueOf(message.get(3)));
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

    private void asked(Shard shard, Place place, long token, String reason) {
        mu.lock();
        try {
            for (Hold lock : held.getOrDefault(place, List.of())) {
                if (lock.shard() == shard && lock.indexOf(place.key(), token) >= 0) {
                    lock.asked(reason);
                }
            }
        } finally {
            mu.unlock();
        }
    }

    private void lost(Shard shard, Place place, long token, LossReason reason) {
        List<Runnable> losses = new ArrayList<>();
        mu.lock();
        try {
            for (Hold lock : List.copyOf(held.getOrDefault(place, List.of()))) {
                int i = lock.shard() == shard ? lock.indexOf(place.key(), token) : -1; // another shard may give the same token
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
    Hold keep(Shard shard, Owner owner, Wish wish, long[] tokens, long began) {
        Hold lock = new Hold(this, shard, owner, wish, tokens);
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

    /** What a shard has; the caller holds mu. */
    List<Hold> heldAt(Shard shard) {
        return heldNow().stream().filter(lock -> lock.shard() == shard).toList();
    }

    /** Gives each shard what is held in its slots; the caller holds mu. */
    void sortOutHolds() {
        heldNow().forEach(lock -> lock.moveTo(shards.of(lock.slot())));
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

    /** What is not about a wait or a release. */
    Commands commands() {
        return commands;
    }

    boolean isClosing() {
        return closing;
    }

    /** What the names of the owners begin with. */
    String prefix() {
        return prefix;
    }

    Executor executor() {
        return executor;
    }

    /** A name that no other owner has. */
    Owner newOwner() {
        return new Owner(prefix + made.incrementAndGet());
    }

    /** Has something done later. */
    ScheduledFuture<?> later(Duration delay, Runnable task) {
        return timer.schedule(task, delay.toNanos(), TimeUnit.NANOSECONDS);
    }

    /** Runs code of users, in a thread of its own. */
    void tell(Runnable task) {
        executor.execute(task);
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
        try {
            shards.close(limit);
        } catch (InterruptedException e) {
            interrupted = true;
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
