package io.lockserver.client;

/** Campaigns for the lead, and leads. */
public final class Campaign {
    /** What a leader does. */
    @FunctionalInterface
    public interface Task {
        /** Runs while the lock is held: lead. The thread is interrupted when it is lost; the task must return then. */
        void run(HeldLock lead) throws Exception;
    }

    private static final long PAUSE_MS = 100;

    private final LockClient client;
    private final String key;
    private final Object mu = new Object();
    private Thread leading;
    private boolean interruptedByLoss;

    Campaign(LockClient client, String key) {
        this.client = client;
        this.key = key;
    }

    void run(Task task) throws Exception {
        while (!lead(task)) {
            // again
        }
    }

    /** One lead; false: it is to be won again. */
    private boolean lead(Task task) throws Exception {
        HeldLock lead;
        try {
            lead = client.take(key, LockOptions.defaults());
        } catch (NoConnectionException e) {
            Thread.sleep(PAUSE_MS);
            return false;
        } catch (NotAcquiredException e) { // an operator has ended the wait
            return false;
        }
        synchronized (mu) {
            leading = Thread.currentThread();
            interruptedByLoss = false;
        }
        lead.onLost(loss -> interrupt());
        try {
            task.run(lead);
        } catch (Exception e) {
            if (end(lead, e)) {
                throw e;
            }
            return false;
        } catch (Throwable e) { // an Error ends the campaign, and the lock is released all the same
            endLead();
            release(lead);
            throw e;
        }
        return end(lead, null);
    }

    /** Ends one lead, whose task has thrown or not; false: it was lost, and is to be won again. */
    private boolean end(HeldLock lead, Exception thrown) {
        boolean byLoss = endLead();
        LockLostException loss = lead.loss();
        if (loss == null) {
            release(lead);
            return true;
        }
        if (loss.reason() == LossReason.CLOSED) {
            throw new ClientClosedException();
        }
        return !byLoss && thrown instanceof InterruptedException;
    }

    private static void release(HeldLock lead) {
        try {
            lead.unlock();
        } catch (NoConnectionException | LockLostException e) {
            // it is released later, or gone
        }
    }

    private void interrupt() {
        synchronized (mu) {
            if (leading != null) {
                interruptedByLoss = true;
                leading.interrupt();
            }
        }
    }

    /** No interrupt comes from here on; one that came because of a loss is taken back. */
    private boolean endLead() {
        synchronized (mu) {
            leading = null;
            if (interruptedByLoss) {
                Thread.interrupted();
            }
            return interruptedByLoss;
        }
    }
}
