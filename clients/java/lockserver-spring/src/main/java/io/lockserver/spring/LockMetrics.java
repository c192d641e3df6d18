package io.lockserver.spring;

import java.time.Duration;
import java.util.concurrent.TimeUnit;

import io.lockserver.client.DeadlockException;
import io.lockserver.client.LockClient;
import io.lockserver.client.LockLostException;
import io.lockserver.client.LockObserver;
import io.lockserver.client.NoConnectionException;
import io.lockserver.client.NotAcquiredException;
import io.lockserver.client.WaitTimeoutException;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.TimeGauge;
import io.micrometer.core.instrument.Timer;

/**
 * Meters of a client. Keys are no tags, for there is no limit to their number.
 *
 * <table>
 * <caption>The meters</caption>
 * <tr><td>lockserver.wait</td><td>timer of calls for a lock; tag {@code outcome}: acquired, not_acquired, timeout, deadlock,
 * no_connection, interrupted, error</td></tr>
 * <tr><td>lockserver.hold</td><td>timer of locks that are over; tag {@code outcome}: released, or the reason of a loss</td></tr>
 * <tr><td>lockserver.held, lockserver.waiting, lockserver.attached</td><td>gauges</td></tr>
 * <tr><td>lockserver.client.oldest.hold</td><td>gauge of a time; a lock that was forgotten makes it grow</td></tr>
 * </table>
 */
public final class LockMetrics implements LockObserver {
    private final MeterRegistry registry;

    /** Counts in a registry. */
    public LockMetrics(MeterRegistry registry) {
        this.registry = registry;
    }

    /** Adds the gauges of a client. */
    public void bindTo(LockClient client) {
        Gauge.builder("lockserver.held", client, LockClient::heldCount).description("locks that are held now").register(registry);
        Gauge.builder("lockserver.waiting", client, LockClient::waitingCount).description("calls that wait now").register(registry);
        TimeGauge.builder("lockserver.client.oldest.hold", client, TimeUnit.NANOSECONDS, c -> c.stats().oldest().toNanos())
                .description("the age of the oldest lock that is held now").register(registry);
        Gauge.builder("lockserver.attached", client, c -> c.isAttached() ? 1 : 0).description("1 if the connection is there")
                .register(registry);
    }

    private Timer timer(String name, String outcome) {
        return Timer.builder(name).tag("outcome", outcome).register(registry);
    }

    @Override
    public void acquired(String key, Duration waited) {
        timer("lockserver.wait", "acquired").record(waited);
    }

    @Override
    public void refused(String key, Duration waited, Exception reason) {
        timer("lockserver.wait", outcome(reason)).record(waited);
    }

    private static String outcome(Exception reason) {
        if (reason instanceof WaitTimeoutException) {
            return "timeout";
        }
        if (reason instanceof NotAcquiredException) {
            return "not_acquired";
        }
        if (reason instanceof DeadlockException) {
            return "deadlock";
        }
        if (reason instanceof NoConnectionException) {
            return "no_connection";
        }
        return reason instanceof InterruptedException ? "interrupted" : "error";
    }

    @Override
    public void released(String key, Duration held) {
        timer("lockserver.hold", "released").record(held);
    }

    @Override
    public void lost(LockLostException loss, Duration held) {
        timer("lockserver.hold", loss.reason().toString()).record(held);
    }
}
