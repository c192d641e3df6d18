package io.lockserver.test;

import java.time.Duration;
import java.time.Instant;

/** The clock of a test's server. Leases, waits and holds of sales go by it. */
public final class TestClock {
    private final TestServer server;

    TestClock(TestServer server) {
        this.server = server;
    }

    /** What it shows. */
    public Instant now() {
        return Instant.ofEpochMilli((Long) server.call("TEST.CLOCK", "GET"));
    }

    /** Stops it where it is. */
    public TestClock freeze() {
        server.call("TEST.CLOCK", "FREEZE");
        return this;
    }

    /** Moves it forwards. When this returns, all that falls due has happened, each at its own time. */
    public TestClock advance(Duration by) {
        server.call("TEST.CLOCK", "ADVANCE", Long.toString(by.toMillis()));
        return this;
    }

    /** Lets it run again. */
    public TestClock resume() {
        server.call("TEST.CLOCK", "RESUME");
        return this;
    }
}
