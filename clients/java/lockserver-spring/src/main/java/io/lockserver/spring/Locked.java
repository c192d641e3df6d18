package io.lockserver.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Runs a method while a lock is held. The lock is taken before a transaction of the method begins, and released after it
 * has ended. Inside, {@link CurrentLock#get()} is the lock. If the lock was lost meanwhile, the call throws
 * {@code LockLostException} although the method has returned. If it cannot be acquired, the method is not run, and the call
 * throws what {@code LockClient} throws; an interrupt becomes a {@code LockException}.
 */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
@Documented
public @interface Locked {
    /** A SpEL expression over the parameters for the key: {@code "'order:' + #id"}. An expression of null is an error. */
    String key();

    /** How long to wait: {@code "5s"}, {@code "200ms"}, an ISO-8601 duration, or a placeholder. Empty: without end. */
    String waitFor() default "";

    /** The length of a fixed lease, in the same form. Empty: the server renews the lease for as long as the program lives. */
    String lease() default "";

    /** Whether the lock is held together with other shared holders. */
    boolean shared() default false;
}
