package io.lockserver.client;

import java.time.Duration;
import java.util.Objects;

/**
 * How a lock is taken. An instance never changes; each method returns another one.
 *
 * @param waitLimit how long to wait for another holder: null has no end, zero does not wait
 * @param lease the length of a fixed lease; null: the server renews the lease for as long as this client lives
 * @param shared held together with all other shared holders
 * @param owner a lock that is held, to take this one for the same owner; null: an owner of its own
 * @param trace the {@code traceparent} of the trace that the call belongs to; empty: none; null: that of OpenTelemetry's
 *        current span, if the program has {@code opentelemetry-api}
 * @param priority the place among the calls that wait, 0 to 9
 */
public record LockOptions(Duration waitLimit, Duration lease, boolean shared, HeldLock owner, String trace, int priority) {
    /** The highest priority. */
    public static final int MOST_PRIORITY = 9;
    private static final LockOptions DEFAULTS = new LockOptions(null, null, false, null, null, 0);

    /** Checks the values. */
    public LockOptions {
        if (waitLimit != null) {
            Values.wait(waitLimit, "a wait");
        }
        if (lease != null) {
            Values.time(lease, "a lease");
        }
        if (trace != null) {
            Values.text(trace, "a trace");
        }
        if (Values.number(priority, 0, "a priority") > MOST_PRIORITY) {
            throw new IllegalArgumentException("a priority of " + priority + " is more than " + MOST_PRIORITY);
        }
    }

    /** Options of the lowest priority. */
    public LockOptions(Duration waitLimit, Duration lease, boolean shared, HeldLock owner, String trace) {
        this(waitLimit, lease, shared, owner, trace, 0);
    }

    /** Waits without end, exclusive, with a lease that the server renews. */
    public static LockOptions defaults() {
        return DEFAULTS;
    }

    /** Waits at most so long; zero: it does not wait. */
    public LockOptions withWait(Duration limit) {
        return new LockOptions(Values.wait(limit, "a wait"), lease, shared, owner, trace, priority);
    }

    /** The lock ends after so long, a millisecond at least, whatever becomes of the program. The server does not renew it. */
    public LockOptions withLease(Duration length) {
        return new LockOptions(waitLimit, Values.time(length, "a lease"), shared, owner, trace, priority);
    }

    /** The lock is held together with other shared holders, and with no exclusive one. */
    public LockOptions asShared() {
        return new LockOptions(waitLimit, lease, true, owner, trace, priority);
    }

    /** The owner is that of another lock, so that the server sees deadlock cycles that go through both. */
    public LockOptions sameOwnerAs(HeldLock other) {
        return new LockOptions(waitLimit, lease, shared, Objects.requireNonNull(other, "the lock is null"), trace, priority);
    }

    /**
     * The call belongs to this trace: a {@code traceparent} of W3C Trace Context, or empty for none. The server shows it with the
     * waiter and the holder, and exports the wait as a span of it. Otherwise it is that of OpenTelemetry's current span, if the
     * program has {@code opentelemetry-api}.
     */
    public LockOptions withTrace(String traceparent) {
        return new LockOptions(waitLimit, lease, shared, owner, Values.text(traceparent, "a trace"), priority);
    }

    /**
     * The place among the calls that wait, from 0, the default, to 9: the server serves the higher number first, and calls with the same
     * number in the order of arrival. A waiting call rises with time, so none waits for ever. A call that does not wait ignores it.
     */
    public LockOptions withPriority(int number) {
        return new LockOptions(waitLimit, lease, shared, owner, trace, number);
    }
}
