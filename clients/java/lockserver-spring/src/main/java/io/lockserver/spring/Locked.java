package io.lockserver.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Runs a method while a lock is held. The lock is taken before a transaction of the method begins, and released after it
 * has ended. If the caller is in a transaction already, the lock is kept until that has ended, and a loss before the commit
 * rolls it back.
 *
 * <p>The owner is the thread: a nested call for the same key has the lock at once, and two threads that take two keys in opposite
 * order get a {@code DeadlockException}.
 *
 * <p>A method that returns a {@code CompletionStage} holds the lock until that is completed. One that returns a {@code Mono}, a
 * {@code Flux} or another type that Spring knows as reactive is run for each subscription, which has a lock of its own until it has
 * completed, has failed, or is cancelled. A loss cancels the work. The owner is then the call or the subscription. For a key that the
 * thread, or the work around it, holds already, such a call ends with {@code IllegalStateException}.
 *
 * <p>Methods with work that goes on in another way are refused when the bean is made: {@code @Async}, a plain {@code Future}, a
 * {@code Stream}, an {@code Iterator}, a suspending function.
 *
 * <p>Inside, {@link CurrentLock#get()} is the lock, and {@link CurrentLock#mono()} in a {@code Mono} or {@code Flux}. If the lock was lost meanwhile, the call throws
 * {@code LockLostException} although the method has returned. If it cannot be acquired, the method is not run, and the call
 * throws what {@code LockClient} throws; an interrupt becomes a {@code LockException}.
 */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
@Documented
public @interface Locked {
    /** A SpEL expression over the parameters for the key: {@code "'order:' + #id"}. A parameter
     * that there is not, or whose name the compiler has not kept ({@code -parameters}), is refused when the bean is made. Null is
     * an error, also of a parameter that is added to a text. */
    String key();

    /** How long to wait: {@code "5s"}, {@code "200ms"}, an ISO-8601 duration, or a placeholder. Empty: 30 seconds. */
    String waitFor() default "";

    /** The length of a fixed lease, in the same form. Empty: the server renews the lease for as long as the program lives. */
    String lease() default "";

    /** Whether the lock is held together with other shared holders. */
    boolean shared() default false;

    /** The place among the calls that wait, 0 to 9: the higher number is served first ({@code LockOptions.withPriority}). */
    int priority() default 0;
}
