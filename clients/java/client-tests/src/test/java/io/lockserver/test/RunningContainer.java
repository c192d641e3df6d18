package io.lockserver.test;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;

import org.junit.jupiter.api.Test;

import io.lockserver.client.HeldLock;
import io.lockserver.client.LockClient;
import io.lockserver.client.LockOptions;

/**
 * The container with Docker or Podman: make clients-java-container. The environment's LOCKSERVER_IMAGE names the image. Its name
 * keeps it out of the tests that run without them.
 */
class RunningContainer {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private static String image() {
        String image = System.getenv("LOCKSERVER_IMAGE");
        assertTrue(image != null && !image.isEmpty(), "LOCKSERVER_IMAGE names no image");
        return image;
    }

    private static LockClient client(LockserverContainer container) {
        return LockClient.builder(container.uri()).timeout(PATIENCE).connectTimeout(PATIENCE).build();
    }

    @Test
    void serves() throws Exception {
        try (LockserverContainer container = new LockserverContainer(image())) {
            container.start();
            try (LockClient locks = client(container); HeldLock lock = locks.lock("order:42")) {
                assertEquals("OK", lock.guard("SET", "order:42:state", "paid"));
                assertTrue(locks.tryLock("order:42").isEmpty());
            }
            assertEquals("paid", container.call("GET", "order:42:state"));
        }
    }

    @Test
    void takesDirectives() {
        try (LockserverContainer container = new LockserverContainer(image()).withCommand("--maxclients", "50")) {
            container.start();
            assertEquals(java.util.List.of("maxclients", "50"), container.call("CONFIG", "GET", "maxclients"));
        }
    }

    @Test
    void inTestModeTheClockIsTheTests() throws Exception {
        try (LockserverContainer container = new LockserverContainer(image()).inTestMode()) {
            container.start();
            container.clock().freeze();
            try (LockClient locks = client(container)) {
                locks.lock("order:42", LockOptions.defaults().withLease(Duration.ofMinutes(1)));
                assertTrue(locks.tryLock("order:42").isEmpty());
                container.clock().advance(Duration.ofMinutes(1));
                locks.tryLock("order:42").orElseThrow().unlock();
                container.clock().resume();
            }
        }
    }
}
