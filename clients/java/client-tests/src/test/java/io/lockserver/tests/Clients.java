package io.lockserver.tests;

import java.time.Duration;

import io.lockserver.client.LockClient;

/** Clients that stand a busy machine. */
final class Clients {
    static final Duration PATIENCE = Duration.ofSeconds(60);

    private Clients() {
    }

    static LockClient create(String... uris) {
        return LockClient.builder(uris).timeout(PATIENCE).connectTimeout(PATIENCE).build();
    }

    /** One whose calls give up soon. */
    static LockClient impatient(String uri) {
        return LockClient.builder(uri).timeout(Duration.ofSeconds(1)).connectTimeout(PATIENCE).build();
    }
}
