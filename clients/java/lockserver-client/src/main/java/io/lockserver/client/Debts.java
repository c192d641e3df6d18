package io.lockserver.client;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Commands that have to be done, now or as soon as there is a connection: what is released, and waits that have ended. They
 * may be sent twice, and are sent until they were answered.
 */
final class Debts {
    /** Commands to be done; paid: completed with the reply of the last one, or with its error. */
    static final class Debt {
        final List<String[]> commands;
        final CompletableFuture<Object> paid = new CompletableFuture<>();
        /** Runs when it is paid, with mu held; null: nothing does. */
        final Runnable then;
        int left;
        boolean again;
        /** An earlier attempt has not been answered; it may have been done. */
        volatile boolean sentAgain;
        Object reply;
        RuntimeException refusal;

        Debt(List<String[]> commands, Runnable then) {
            this.commands = commands;
            this.then = then;
        }
    }

    private final ReentrantLock mu;
    private final Condition paidAll;
    private final Deque<Debt> unpaid = new ArrayDeque<>();
    private int count;
    private Wire wire;

    /** mu is the lock of the keeper, which guards all fields. */
    Debts(ReentrantLock mu) {
        this.mu = mu;
        paidAll = mu.newCondition();
    }

    /** Has commands done, in their order. */
    Debt owe(List<String[]> commands) {
        return owe(commands, null);
    }

    /** The same, and what is to be done when it is paid, with mu held. */
    Debt owe(List<String[]> commands, Runnable then) {
        Debt debt = new Debt(commands, then);
        mu.lock();
        try {
            count++;
            send(debt);
        } finally {
            mu.unlock();
        }
        return debt;
    }

    /** The next connection; what is owed is sent by it. null: there is none. The caller holds mu. */
    void use(Wire next) {
        wire = next;
        for (int n = unpaid.size(); next != null && n > 0; n--) {
            send(unpaid.poll());
        }
    }

    private void send(Debt debt) {
        if (wire == null) {
            unpaid.add(debt);
            return;
        }
        Wire by = wire;
        debt.left = debt.commands.size();
        debt.again = false;
        for (String[] words : debt.commands) {
            by.then((value, error) -> collect(debt, by, value, error), words);
        }
    }

    private void collect(Debt debt, Wire by, Object value, RuntimeException error) {
        boolean replied = Errors.isReply(error);
        if (!replied) {
            by.close(error); // it may lead to a server that is no leader
        }
        mu.lock();
        try {
            debt.again |= !replied;
            debt.reply = value;
            debt.refusal = error;
            if (--debt.left > 0) {
                return;
            }
            if (debt.again) {
                if (wire == by) {
                    wire = null;
                }
                debt.sentAgain = true;
                send(debt);
                return;
            }
            if (debt.then != null) {
                debt.then.run();
            }
            count--;
            if (count == 0) {
                paidAll.signalAll();
            }
        } finally {
            mu.unlock();
        }
        if (debt.refusal == null) {
            debt.paid.complete(debt.reply);
        } else {
            debt.paid.completeExceptionally(debt.refusal);
        }
    }

    /** Waits until nothing is owed, up to a moment of System.nanoTime. */
    void await(long end) throws InterruptedException {
        mu.lock();
        try {
            for (long left = end - System.nanoTime(); count > 0 && left > 0; left = end - System.nanoTime()) {
                paidAll.awaitNanos(left);
            }
        } finally {
            mu.unlock();
        }
    }
}
