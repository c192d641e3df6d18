package io.lockserver.client;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;

/**
 * Commands that have to be done, now or as soon as there is a connection to the shard of their key: what is released, and waits that have
 * ended. They may be sent twice, and are sent until they were answered. The lock of the keeper guards the fields.
 */
final class Debts {
    /** Commands to be done; paid: completed with the reply of the last one, or with its error. */
    static final class Debt {
        final List<String[]> commands;
        /** Of the key, which all commands have. */
        final int slot;
        final CompletableFuture<Object> paid = new CompletableFuture<>();
        /** Runs when it is paid, with mu held; null: nothing does. */
        final Runnable then;
        int left;
        boolean again;
        boolean elsewhere;
        int redirections;
        /** An earlier attempt has not been answered; it may have been done. */
        volatile boolean sentAgain;
        Object reply;
        RuntimeException refusal;

        Debt(List<String[]> commands, int slot, Runnable then) {
            this.commands = commands;
            this.slot = slot;
            this.then = then;
        }
    }

    private final Keeper keeper;
    private final Condition paidAll;
    private int count;

    Debts(Keeper keeper) {
        this.keeper = keeper;
        paidAll = keeper.mu.newCondition();
    }

    /** Has commands done, in their order. */
    Debt owe(List<String[]> commands) {
        return owe(commands, null);
    }

    /** The same, and what is to be done when it is paid, with mu held. */
    Debt owe(List<String[]> commands, Runnable then) {
        Debt debt = new Debt(commands, keeper.shards.slotOf(Escaped.CODEC, commands.get(0)), then);
        keeper.mu.lock();
        try {
            count++;
            send(debt);
        } finally {
            keeper.mu.unlock();
        }
        return debt;
    }

    /** Sends by a new connection of a shard what is owed there; the caller holds mu. */
    void sendAll(Shard shard) {
        for (int n = shard.unpaid.size(); n > 0; n--) {
            send(shard.unpaid.poll());
        }
    }

    /** Gives each shard what is owed in its slots; the caller holds mu. */
    void sortOut() {
        keeper.shards.all().forEach(this::sendAll);
    }

    private void send(Debt debt) {
        Shard shard = keeper.shards.of(debt.slot);
        Wire by = shard.wire();
        if (by == null || by.reason() != null) {
            shard.unpaid.add(debt);
            return;
        }
        debt.left = debt.commands.size();
        debt.again = false;
        debt.elsewhere = false;
        for (String[] words : debt.commands) {
            by.then((value, error) -> collect(debt, by, value, error), words);
        }
    }

    private void collect(Debt debt, Wire by, Object value, RuntimeException error) {
        boolean redirected = keeper.shards.redirects(by, error);
        boolean replied = Errors.isReply(error);
        if (!replied && !redirected) {
            by.close(error); // it may lead to a server that is no leader
        }
        keeper.mu.lock();
        try {
            debt.again |= !replied && !redirected;
            debt.elsewhere |= redirected;
            debt.reply = value;
            debt.refusal = error;
            if (--debt.left > 0) {
                return;
            }
            if (debt.elsewhere) {
                keeper.shards.again(++debt.redirections, () -> sendLater(debt));
                return;
            }
            if (debt.again) {
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
            keeper.mu.unlock();
        }
        if (debt.refusal == null) {
            debt.paid.complete(debt.reply);
        } else {
            debt.paid.completeExceptionally(debt.refusal);
        }
    }

    private void sendLater(Debt debt) {
        keeper.mu.lock();
        try {
            send(debt);
        } finally {
            keeper.mu.unlock();
        }
    }

    /** Waits until nothing is owed, up to a moment of System.nanoTime. */
    void await(long end) throws InterruptedException {
        keeper.mu.lock();
        try {
            for (long left = end - System.nanoTime(); count > 0 && left > 0; left = end - System.nanoTime()) {
                paidAll.awaitNanos(left);
            }
        } finally {
            keeper.mu.unlock();
        }
    }
}
