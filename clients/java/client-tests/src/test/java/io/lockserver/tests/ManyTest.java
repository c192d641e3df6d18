package io.lockserver.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

import org.junit.jupiter.api.Test;

import io.lockserver.client.HeldLock;
import io.lockserver.client.LockClient;
import io.lockserver.test.Lockserver;

/** Ten thousand virtual threads wait over two connections; where Java has none, five hundred others do. */
class ManyTest {
    private static ExecutorService virtual() {
        try {
            return (ExecutorService) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
        } catch (ReflectiveOperationException e) {
            return null;
        }
    }

    @Test
    void manyWaitOverTwoConnections() throws Exception {
        ExecutorService virtual = virtual();
        int count = virtual == null ? 500 : 10_000;
        ExecutorService threads = virtual == null ? Executors.newCachedThreadPool() : virtual;
        System.out.println(count + (virtual == null ? " platform" : " virtual") + " threads wait");
        try (Lockserver server = Lockserver.start(); Way way = new Way(server); LockClient locks = Clients.create(way.uri())) {
            HeldLock held = locks.lock("k");
            locks.command("PING");
            AtomicInteger inside = new AtomicInteger();
            AtomicInteger together = new AtomicInteger();
            List<Future<?>> calls = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                boolean byThread = i % 2 == 0;
                calls.add(threads.submit(() -> {
                    if (byThread) {
                        locks.asLock("k").lock();
                    }
                    HeldLock lock = byThread ? locks.heldByThread("k").orElseThrow() : locks.lock("k");
                    if (inside.incrementAndGet() > 1) {
                        together.incrementAndGet();
                    }
                    inside.decrementAndGet();
                    if (byThread) {
                        locks.asLock("k").unlock();
                    } else {
                        lock.unlock();
                    }
                    return null;
                }));
            }
            Await.until("all wait", () -> locks.waitingCount() == count);
            if (Clients.SHARDS > 1) {
                assertTrue(way.open() <= 2 * Clients.SHARDS, "two for each shard at most");
            } else {
                assertEquals(2, way.open());
            }
            held.unlock();
            for (Future<?> call : calls) {
                call.get(120, TimeUnit.SECONDS);
            }
            assertEquals(0, together.get());
            assertEquals(0, locks.heldCount());
            assertTrue(server.call("EXISTS", "k").equals(0L));
        } finally {
            threads.shutdown();
        }
    }
}
