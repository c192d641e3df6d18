package io.lockserver.spring;

import org.springframework.core.Ordered;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

import io.lockserver.client.HeldLock;
import io.lockserver.client.LockLostException;

/** The transaction that a caller is in. It is used only if spring-tx is there. */
final class Transactions {
    private static final boolean PRESENT = isPresent();

    private Transactions() {
    }

    private static boolean isPresent() {
        try {
            Class.forName("org.springframework.transaction.support.TransactionSynchronizationManager", false, Transactions.class.getClassLoader());
            return true;
        } catch (ClassNotFoundException | LinkageError e) {
            return false;
        }
    }

    /** Whether the calling thread is in a transaction. */
    static boolean isActive() {
        return PRESENT && Current.isActive();
    }

    /** Has a lock released when the transaction has ended, in whichever way. If it is lost before the commit, that fails. */
    static void releaseAfter(HeldLock lock, Runnable release) {
        Current.releaseAfter(lock, release);
    }

    /** It is loaded only if spring-tx is there. */
    private static final class Current {
        static boolean isActive() {
            return TransactionSynchronizationManager.isActualTransactionActive() && TransactionSynchronizationManager.isSynchronizationActive();
        }

        static void releaseAfter(HeldLock lock, Runnable release) {
            TransactionSynchronizationManager.registerSynchronization(new Release(lock, release));
        }
    }

    private record Release(HeldLock lock, Runnable release) implements TransactionSynchronization, Ordered {
        @Override
        public int getOrder() {
            return LOWEST_PRECEDENCE; // the others write before the lock is looked at
        }

        @Override
        public void beforeCommit(boolean readOnly) {
            lock.ensureHeld();
        }

        @Override
        public void afterCompletion(int status) {
            try {
                release.run();
            } catch (LockLostException e) {
                // the commit has failed by it, or came too late for that, and the client's log says so
            }
        }
    }
}
