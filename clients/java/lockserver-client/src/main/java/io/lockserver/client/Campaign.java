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
            lead = client.lock(key);
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
        Exception thrown = null;
        try {
            task.run(lead);
        } catch (Exception e) {
            thrown = e;
        }
        boolean byLoss = endLead();
        LockLostException loss = lead.loss();
        if (loss == null) {
            try {
                lead.unlock();
            } catch (NoConnectionException | LockLostException e) {
                // it is released later, or gone
            }
        } else if (loss.reason() == LossReason.CLOSED) {
            throw new ClientClosedException();
        } else if (byLoss || !(thrown instanceof InterruptedException)) {
            return false;
        }
        if (thrown != null) {
            throw thrown;
        }
        return true;
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
