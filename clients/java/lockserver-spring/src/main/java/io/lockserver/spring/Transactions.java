package io.lockserver.spring;

import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;

import org.springframework.core.Ordered;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

import io.lockserver.client.HeldLock;
import io.lockserver.client.LockLostException;

/** The transaction that a caller is in. It is used only if spring-tx is there. */
final class Transactions {
    private static final boolean PRESENT = isThere();

    private Transactions() {
    }

    private static boolean isThere() {
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

    /** Whether spring-tx is there. */
    static boolean isPresent() {
        return PRESENT;
    }

    /** The lock of a key that the transaction keeps for an earlier call, or null. */
    static Kept kept(String key, boolean shared) {
        Kept kept = Current.kept(key);
        if (kept != null && kept.shared && !shared) {
            throw heldShared(key);
        }
        return kept;
    }

    static IllegalStateException heldShared(String key) {
        return new IllegalStateException("the transaction keeps the lock \"" + key + "\" shared, and the call would wait for that");
    }

    /** Has a lock kept until the transaction has ended, and each use of it as well. */
    static Kept keep(HeldLock lock, boolean shared) {
        Kept kept = new Kept(lock, shared);
        Current.keep(kept);
        return kept;
    }

    /** A lock that is kept by a transaction, and by calls that may end later. The last one releases it. */
    static final class Kept {
        private final HeldLock lock;
        private final boolean shared;
        private final AtomicInteger users = new AtomicInteger(1);

        private Kept(HeldLock lock, boolean shared) {
            this.lock = lock;
            this.shared = shared;
        }

        HeldLock lock() {
            return lock;
        }

        void begin() {
            users.incrementAndGet();
        }

        void end() {
            if (users.decrementAndGet() == 0) {
                lock.close();
            }
        }
    }

    /** It is loaded only if spring-tx is there. */
    private static final class Current {
        static boolean isActive() {
            return TransactionSynchronizationManager.isActualTransactionActive() && TransactionSynchronizationManager.isSynchronizationActive();
        }

        static void releaseAfter(HeldLock lock, Runnable release) {
            TransactionSynchronizationManager.registerSynchronization(new Release(lock, release, null));
        }

        static void keep(Kept kept) {
            TransactionSynchronizationManager.registerSynchronization(new Release(kept.lock, kept::end, kept));
        }

        static Kept kept(String key) {
            return TransactionSynchronizationManager.getSynchronizations().stream()
                    .map(each -> each instanceof Release release && release.kept != null && release.lock.isHeld() && release.lock.key().equals(key) ? release.kept : null)
                    .filter(Objects::nonNull).findFirst().orElse(null);
        }
    }

    private record Release(HeldLock lock, Runnable release, Kept kept) implements TransactionSynchronization, Ordered {
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
