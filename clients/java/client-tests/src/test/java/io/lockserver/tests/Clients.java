package io.lockserver.tests;

import java.time.Duration;

import io.lockserver.client.LockClient;

/** Clients that stand a busy machine. */
final class Clients {
    /** With LOCKSERVER_SHARDS=3 the servers of the tests are clusters of three shards, for the same tests. */
    static final int SHARDS = Integer.parseInt(System.getenv().getOrDefault("LOCKSERVER_SHARDS", "1"));
    static final Duration PATIENCE = Duration.ofSeconds(60);

    private Clients() {
    }

    /** The settings of a client; one URI may be that of a cluster, or of a way to it. */
    static LockClient.Builder builder(String... uris) {
        boolean cluster = SHARDS > 1 && uris.length == 1 && uris[0].startsWith("redis://");
        return LockClient.builder(uris).cluster(cluster).addresses(Way.addresses(uris[0])).timeout(PATIENCE).connectTimeout(PATIENCE);
    }

    static LockClient create(String... uris) {
        return builder(uris).build();
    }

    /** One whose calls give up soon. */
    static LockClient impatient(String uri) {
        return builder(uri).timeout(Duration.ofSeconds(1)).build();
    }
}
