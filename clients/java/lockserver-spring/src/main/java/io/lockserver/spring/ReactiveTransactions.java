package io.lockserver.spring;

import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.Supplier;

import org.reactivestreams.Publisher;
import org.springframework.core.Ordered;
import org.springframework.transaction.NoTransactionException;
import org.springframework.transaction.reactive.TransactionSynchronization;
import org.springframework.transaction.reactive.TransactionSynchronizationManager;

import io.lockserver.client.HeldLock;
import io.lockserver.client.LockLostException;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.SignalType;

/** The reactive transaction that a subscription is in: locks are kept until it has ended. It is used only if spring-tx is there. */
final class ReactiveTransactions {
    /**
     * Guards the synchronizations of all transactions, as far as this class reads and adds them. Spring keeps those of a transaction in a
     * set that is not safe for threads, and has no object that could guard it; two works of one transaction may run at the same time.
     */
    private static final Object SYNCHRONIZATIONS = new Object();

    private ReactiveTransactions() {
    }

    /**
     * Runs work while the lock of a key is held, and in a transaction until that has ended. A lock that the transaction keeps already is
     * there at once.
     *
     * @param alone runs the work outside of a transaction
     */
    static <T> Flux<T> held(String key, boolean shared, Supplier<CompletableFuture<HeldLock>> acquire, Function<? super HeldLock, ? extends Publisher<T>> work,
            Flux<T> alone) {
        return TransactionSynchronizationManager.forCurrentTransaction().map(Optional::of)
                .onErrorResume(NoTransactionException.class, none -> Mono.just(Optional.empty())).flatMapMany(found -> {
                    if (found.isEmpty() || !found.get().isActualTransactionActive() || !found.get().isSynchronizationActive()) {
                        return alone;
                    }
                    TransactionSynchronizationManager transaction = found.get();
                    for (TransactionSynchronization each : synchronizationsOf(transaction)) {
                        if (each instanceof Release kept && kept.keeps(key)) {
                            return kept.shared && !shared ? Flux.error(Transactions.heldShared(key)) : ReactiveLocks.inside(kept.lock, work);
                        }
                    }
                    return kept(transaction, shared, acquire, work);
                });
    }

    private static List<TransactionSynchronization> synchronizationsOf(TransactionSynchronizationManager transaction) {
        synchronized (SYNCHRONIZATIONS) {
            return transaction.getSynchronizations(); // a copy
        }
    }

    private static <T> Flux<T> kept(TransactionSynchronizationManager transaction, boolean shared, Supplier<CompletableFuture<HeldLock>> acquire,
            Function<? super HeldLock, ? extends Publisher<T>> work) {
        CompletableFuture<HeldLock> acquiring = acquire.get();
        Handover handover = new Handover(transaction, shared);
        return Mono.fromFuture(acquiring, true).flatMapMany(lock -> {
            try {
                return handover.keep(lock) ? ReactiveLocks.inside(lock, work) : Flux.<T>empty();
            } catch (IllegalStateException e) { // the transaction has ended
                lock.unlockAsync();
                return Flux.error(e);
            }
        }).doFinally(end -> {
            if (end == SignalType.CANCEL && handover.giveUp()) {
                acquiring.cancel(false);
                acquiring.thenAccept(HeldLock::unlockAsync);
            }
        });
    }

    /**
     * Either the transaction has the lock, or it is given up. A cancellation waits while the lock is being registered, for the rollback comes
     * after it, and releases only what it finds.
     */
    private static final class Handover {
        private final TransactionSynchronizationManager transaction;
        private final boolean shared;
        private boolean settled;

        Handover(TransactionSynchronizationManager transaction, boolean shared) {
            this.transaction = transaction;
            this.shared = shared;
        }

        /** Registers the lock; false: it is given up, and others release it. */
        synchronized boolean keep(HeldLock lock) {
            if (settled) {
                return false;
            }
            settled = true;
            synchronized (SYNCHRONIZATIONS) {
                transaction.registerSynchronization(new Release(lock, shared));
            }
            return true;
        }

        /** False: the transaction has the lock. */
        synchronized boolean giveUp() {
            boolean given = !settled;
            settled = true;
            return given;
        }
    }

    /** Releases a lock when the transaction has ended, in whichever way. If it is lost before the commit, that fails. */
    private record Release(HeldLock lock, boolean shared) implements TransactionSynchronization, Ordered {
        boolean keeps(String key) {
            return lock.isHeld() && lock.key().equals(key);
        }

        @Override
        public int getOrder() {
            return LOWEST_PRECEDENCE; // the others write before the lock is looked at
        }

        @Override
        public Mono<Void> beforeCommit(boolean readOnly) {
            return Mono.fromFuture(lock::ensureHeldAsync, true);
        }

        @Override
        public Mono<Void> afterCompletion(int status) {
            // after a loss the commit has failed by it, or came too late for that, and the client's log says so
            return Mono.fromFuture(lock::unlockAsync, true).onErrorResume(LockLostException.class, lost -> Mono.empty());
        }
    }
}
