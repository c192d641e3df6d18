package io.lockserver.client;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Locks that were granted by a push and given to their callers at once. The server takes such a grant back if it hears nothing
 * of the owner for a third of a lease, counted from the grant. The grant was made no earlier than its request was sent, so the
 * caller is sure of the lock for a third of a lease from there. Meanwhile the lock is confirmed. A lock that is released sooner
 * needs no confirmation, which saves a round trip of each hand-off.
 *
 * <p>If the confirmation is not answered in time, the lock is lost as {@link LossReason#UNREACHABLE} before the server can take
 * it back. The lock of the keeper guards the fields.
 */
final class Unconfirmed {
    private static final long PAUSE_NS = TimeUnit.MILLISECONDS.toNanos(100);

    private final Keeper keeper;
    private final List<Hold> locks = new ArrayList<>();
    private boolean scheduled;
    /** When the next look is due, by System.nanoTime. */
    private long due;
    /** This process was stopped: until then locks are not counted as lost, because the server is asked first. */
    private long patientUntil = System.nanoTime();

    Unconfirmed(Keeper keeper) {
        this.keeper = keeper;
    }

    /**
     * Until when a caller may be sure of a lock that was granted to a request now, by System.nanoTime; 0: it has to be confirmed
     * first, because the request is too old, or the length of a lease is not known. The request was sent at asked.
     */
    long sureUntil(Shard shard, long asked) {
        long third = shard.lease().toNanos() / 3;
        if (!shard.knowsLease() || System.nanoTime() - asked > third / 4) {
            return 0;
        }
        long until = asked + third - third / 4;
        return until == 0 ? 1 : until;
    }

    /** Looks after a lock of which the caller is sure until then. */
    void add(Hold lock, long sureUntil) {
        lock.inDoubtFrom = sureUntil;
        locks.add(lock);
        schedule();
    }

    /** Looks after a lock that another shard may have now; the caller was sure of it until then. */
    void doubt(Hold lock, long sureUntil) {
        locks.remove(lock);
        add(lock, sureUntil);
    }

    private void schedule() {
        if (!scheduled) {
            scheduled = true;
            due = System.nanoTime() + PAUSE_NS;
            keeper.later(java.time.Duration.ofNanos(PAUSE_NS), this::look);
        }
    }

    private void look() {
        List<Runnable> losses = new ArrayList<>();
        keeper.mu.lock();
        try {
            scheduled = false;
            long now = System.nanoTime();
            long lease = locks.stream().mapToLong(lock -> lock.shard().lease().toNanos()).min().orElse(0);
            if (now - due > lease / 12) {
                patientUntil = now + lease / 6;
            }
            for (Iterator<Hold> each = locks.iterator(); each.hasNext();) {
                Hold lock = each.next();
                Wire wire = lock.shard().wire();
                if (!lock.isHeld() || lock.inDoubtFrom == 0) {
                    each.remove();
                } else if (now - lock.inDoubtFrom > 0 && now - patientUntil >= 0) {
                    each.remove();
                    lock.lose(0, LossReason.UNREACHABLE, losses);
                } else if (wire != null && lock.confirmedBy != wire) {
                    lock.confirmedBy = wire;
                    wire.then((value, error) -> confirmed(lock, wire, value, error), lock.confirmation());
                }
            }
            if (!locks.isEmpty()) {
                schedule();
            }
        } finally {
            keeper.mu.unlock();
        }
        losses.forEach(Runnable::run);
    }

    private void confirmed(Hold lock, Wire wire, Object value, RuntimeException error) {
        if (keeper.shards.redirects(wire, error)) {
            return; // the other shard is asked for the lock, which confirms it
        }
        if (!Errors.isReply(error)) { // the next connection asks for the lock, which confirms it
            wire.close(error);
            return;
        }
        List<Runnable> losses = new ArrayList<>();
        keeper.mu.lock();
        try {
            if (error == null && Long.valueOf(1).equals(value)) {
                lock.inDoubtFrom = 0;
            } else {
                lock.lose(0, LossReason.STALE, losses);
            }
            if (error != null && !losses.isEmpty()) { // it may be held there
                keeper.debts.owe(lock.wish().undo(lock.owner()));
            }
        } finally {
            keeper.mu.unlock();
        }
        losses.forEach(Runnable::run);
    }

    /** Takes the push that a grant was taken back. Called with mu held. */
    void takenBack(List<Hold> held, List<Runnable> losses) {
        for (Hold lock : held) {
            if (lock.inDoubtFrom != 0) {
                lock.lose(0, LossReason.EXPIRED, losses);
            }
        }
    }
}
