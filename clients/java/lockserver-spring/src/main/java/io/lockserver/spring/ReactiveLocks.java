package io.lockserver.spring;

import java.util.Collection;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import java.util.function.Supplier;

import io.lockserver.client.HeldLock;
import io.lockserver.client.LockClient;
import io.lockserver.client.LockOptions;
import io.lockserver.client.LockSemaphore;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.publisher.Mono;
import reactor.core.publisher.MonoSink;

/**
 * Locks for Reactor, as in WebFlux. No thread is blocked. Each subscription takes a lock of its own, and holds it until the work has
 * completed, has failed, or is cancelled; the result comes after the release. Cancelling gives up a wait, too.
 *
 * <p>If the lock is lost meanwhile, the work is cancelled, and the {@code Mono} ends with
 * {@link io.lockserver.client.LockLostException}. Its other errors are those of {@link LockClient}.
 *
 * <p>For calls that hold nothing {@code Mono.fromFuture} is enough: {@code Mono.fromFuture(() -> limiter.takeAsync(1, wait))}.
 */
public final class ReactiveLocks {
    private final LockClient client;

    /** Locks of a client, which others may use as well. */
    public ReactiveLocks(LockClient client) {
        this.client = Objects.requireNonNull(client, "the client is null");
    }

    /**
     * Runs work while a lock is held.
     *
     * @param work returns the work; it is asked for once the lock is held, and knows it by its token, for instance
     */
    public <T> Mono<T> locked(String key, LockOptions options, Function<? super HeldLock, ? extends Mono<T>> work) {
        return held(() -> client.lockAsync(key, options), work);
    }

    /** Runs work while several locks are held, which were taken in one moment. */
    public <T> Mono<T> allLocked(Collection<String> keys, LockOptions options, Function<? super HeldLock, ? extends Mono<T>> work) {
        return held(() -> client.acquireAllAsync(keys, options), work);
    }

    /** Runs work while permits of a semaphore are held. */
    public <T> Mono<T> permitted(LockSemaphore semaphore, int permits, LockOptions options, Function<? super HeldLock, ? extends Mono<T>> work) {
        return held(() -> semaphore.acquireAsync(permits, options), work);
    }

    private static <T> Mono<T> held(Supplier<CompletableFuture<HeldLock>> acquire, Function<? super HeldLock, ? extends Mono<T>> work) {
        Objects.requireNonNull(work, "the work is null");
        return Mono.create(sink -> {
            CompletableFuture<HeldLock> acquiring = acquire.get();
            Disposable.Swap running = Disposables.swap();
            sink.onCancel(() -> {
                acquiring.cancel(false);
                running.dispose();
            });
            acquiring.whenComplete((lock, error) -> {
                if (error != null) {
                    sink.error(error);
                } else if (running.isDisposed()) {
                    lock.unlockAsync();
                } else {
                    run(lock, work, sink, running);
                }
            });
        });
    }

    private static <T> void run(HeldLock lock, Function<? super HeldLock, ? extends Mono<T>> work, MonoSink<T> sink, Disposable.Swap running) {
        AtomicBoolean over = new AtomicBoolean();
        running.update(Mono.defer(() -> work.apply(lock)).map(Optional::of).defaultIfEmpty(Optional.empty()).contextWrite(sink.contextView())
                .doOnCancel(lock::unlockAsync)
                .subscribe(value -> lock.unlockAsync().whenComplete((done, lost) -> {
                    if (!over.compareAndSet(false, true)) {
                        return;
                    }
                    if (lost == null) {
                        sink.success(value.orElse(null));
                    } else {
                        sink.error(lost);
                    }
                }), error -> lock.unlockAsync().whenComplete((done, lost) -> {
                    if (over.compareAndSet(false, true)) {
                        if (lost != null) {
                            error.addSuppressed(lost);
                        }
                        sink.error(error);
                    }
                })));
        lock.onLost(loss -> {
            if (over.compareAndSet(false, true)) {
                running.dispose();
                sink.error(loss);
            }
        });
    }
}
