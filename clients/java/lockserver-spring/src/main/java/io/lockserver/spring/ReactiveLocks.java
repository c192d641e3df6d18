package io.lockserver.spring;

import java.time.Duration;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.Supplier;

import org.reactivestreams.Publisher;

import io.lockserver.client.DelayedEntries;
import io.lockserver.client.HeldLock;
import io.lockserver.client.LockClient;
import io.lockserver.client.LockLostException;
import io.lockserver.client.LockOptions;
import io.lockserver.client.LockSemaphore;
import io.lockserver.client.Rule;
import io.lockserver.client.Sale;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.SignalType;

/**
 * Locks for Reactor, as in WebFlux. No thread is blocked. Each subscription takes a lock of its own, and holds it until the work has
 * completed, has failed, or is cancelled; the result of a {@code Mono} comes after the release. Cancelling gives up a wait, too.
 *
 * <p>If the lock is lost meanwhile, the work is cancelled, and the subscriber gets
 * {@link LockLostException}. The other errors are those of {@link LockClient}.
 *
 * <p>Work for a key that is locked around it already, in the same way, would wait for itself: it fails with
 * {@code IllegalStateException}. The owner of each lock is the subscription. {@link CurrentLock#mono} is the lock inside.
 *
 * <p>The calls for sales, delayed entries and questions ask once for each subscription. For the other calls that hold nothing
 * {@code Mono.fromFuture} is enough: {@code Mono.fromFuture(() -> limiter.takeAsync(1, wait))}.
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
        return held(List.of(key), () -> client.lockAsync(key, options), work).singleOrEmpty();
    }

    /**
     * Runs work of any number of elements while a lock is held. The elements come as they are made, so a slow subscriber holds the lock for
     * as long as it takes them. The end comes after the release.
     *
     * @param work returns the work, as that of {@link #locked} does
     */
    public <T> Flux<T> lockedMany(String key, LockOptions options, Function<? super HeldLock, ? extends Publisher<T>> work) {
        return held(List.of(key), () -> client.lockAsync(key, options), work);
    }

    /** Runs work while several locks are held, which were taken in one moment. */
    public <T> Mono<T> allLocked(Collection<String> keys, LockOptions options, Function<? super HeldLock, ? extends Mono<T>> work) {
        return held(keys, () -> client.acquireAllAsync(keys, options), work).singleOrEmpty();
    }

    /** Runs work while permits of a semaphore are held. */
    public <T> Mono<T> permitted(LockSemaphore semaphore, int permits, LockOptions options, Function<? super HeldLock, ? extends Mono<T>> work) {
        return held(List.of(), () -> semaphore.acquireAsync(permits, options), work).singleOrEmpty();
    }

    /** Asks the holders of a key to let go, as {@link LockClient#ask(String, String)} does; the value is how many heard it. */
    public Mono<Long> ask(String key, String reason) {
        return Mono.fromFuture(() -> client.askAsync(key, reason));
    }

    /** Has the hold of an order end so long from now, as {@link Sale#extend} does. */
    public Mono<Boolean> extend(Sale sale, String user, String order, Duration hold) {
        return Mono.fromFuture(() -> sale.extendAsync(user, order, hold));
    }

    /** Gives some pieces of an order back, as {@link Sale#cancel(String, String, int)} does. */
    public Mono<Boolean> cancel(Sale sale, String user, String order, int pieces) {
        return Mono.fromFuture(() -> sale.cancelAsync(user, order, pieces));
    }

    /** Buys pieces of several sales in one step, as {@link LockClient#buyCart} does. */
    public Mono<Sale.CartOutcome> buyCart(String user, String order, List<Sale.Part> parts) {
        return Mono.fromFuture(() -> client.buyCartAsync(user, order, parts));
    }

    /** Has an entry added at each time of a rule, as {@link DelayedEntries#addRecurring} does. */
    public Mono<Boolean> addRecurring(DelayedEntries entries, String id, Rule rule, Map<String, String> fields) {
        return Mono.fromFuture(() -> entries.addRecurringAsync(id, rule, fields));
    }

    /**
     * Runs work while something is held. A subscriber that goes, at whatever moment, gives up the future: either that ends the wait, or the
     * lock is there and is released. Reactor itself could drop a lock that comes at the moment of a cancellation.
     *
     * @param keys must not be locked around the work already: it would wait for itself
     */
    static <T> Flux<T> held(Collection<String> keys, Supplier<CompletableFuture<HeldLock>> acquire, Function<? super HeldLock, ? extends Publisher<T>> work) {
        Objects.requireNonNull(work, "the work is null");
        return Flux.deferContextual(context -> {
            Around outer = context.getOrDefault(Around.class, null);
            for (Around around = outer; around != null; around = around.outer) {
                if (!Collections.disjoint(around.keys, keys)) {
                    return Flux.error(new IllegalStateException("the lock " + keys + " is held around this work, which would wait for it"));
                }
            }
            CompletableFuture<HeldLock> acquiring = acquire.get();
            return Mono.fromFuture(acquiring, true).flatMapMany(lock -> during(new Around(lock, List.copyOf(keys), outer), work)).doFinally(end -> {
                if (end == SignalType.CANCEL) {
                    acquiring.cancel(false);
                    acquiring.thenAccept(HeldLock::unlockAsync);
                }
            });
        });
    }

    /** What is held around some work: it is in the context of the work by this class. */
    record Around(HeldLock lock, Collection<String> keys, Around outer) {
    }

    /** The work, and then the release. A loss cancels the work and looks like its end: then the release fails by the loss. */
    private static <T> Flux<T> during(Around around, Function<? super HeldLock, ? extends Publisher<T>> work) {
        HeldLock lock = around.lock;
        return Flux.defer(() -> untilLost(lock, work)).onErrorResume(error -> released(lock, error).then(Mono.error(error)))
                .concatWith(Mono.defer(() -> Mono.fromFuture(lock.unlockAsync(), true)).then(Mono.empty()))
                .contextWrite(context -> context.put(Around.class, around));
    }

    private static <T> Flux<T> untilLost(HeldLock lock, Function<? super HeldLock, ? extends Publisher<T>> work) {
        CompletableFuture<LockLostException> lost = new CompletableFuture<>();
        lock.onLost(lost::complete);
        return Flux.<T>from(work.apply(lock)).takeUntilOther(Mono.fromFuture(lost));
    }

    /** Work with a lock that others release later. A loss cancels it, and is its error. */
    static <T> Flux<T> inside(HeldLock lock, Function<? super HeldLock, ? extends Publisher<T>> work) {
        return Flux.defer(() -> untilLost(lock, work)).concatWith(Flux.defer(() -> lock.loss() == null ? Flux.empty() : Flux.error(lock.loss())))
                .contextWrite(context -> context.put(Around.class, new Around(lock, List.of(), context.getOrDefault(Around.class, null))));
    }

    /** Releases after an error, which has what comes of the release as well. */
    private static Mono<Void> released(HeldLock lock, Throwable error) {
        return Mono.fromFuture(lock.unlockAsync(), true).onErrorResume(failed -> {
            error.addSuppressed(failed);
            return Mono.empty();
        });
    }
}
