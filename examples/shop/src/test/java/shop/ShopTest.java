package shop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import io.lockserver.test.LockserverTest;
import io.lockserver.test.TestClock;
import io.lockserver.test.TestServer;

import shop.Shop.Outcome;

/** The same tests for each version: two processes' worth of shop, 50 clients, workers that crash or are slow. */
@LockserverTest
class ShopTest {
    private static final Duration LEASE = Duration.ofSeconds(30);
    private static final int PATIENCE_S = 60;

    private static Shop connect(Version version, TestServer server) {
        return version.connect(server.host(), server.port());
    }

    private static int count(List<Outcome> outcomes, Outcome of) {
        return Collections.frequency(outcomes, of);
    }

    private static void await(String what, BooleanSupplier condition) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_S);
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() < end, what);
            Thread.sleep(10);
        }
    }

    @ParameterizedTest
    @EnumSource
    void neverSellsMoreThanThereIs(Version version, TestServer server) throws Exception {
        try (Shop one = connect(version, server); Shop two = connect(version, server)) {
            one.open(20);
            List<Outcome> outcomes = Clients.run(i -> (i % 2 == 0 ? one : two).buy("user-" + i, "order-" + i));
            assertEquals(20, count(outcomes, Outcome.SOLD), outcomes::toString);
            assertEquals(30, count(outcomes, Outcome.SOLD_OUT), outcomes::toString);
            assertEquals("0", server.call("GET", version.stock));
        }
    }

    @ParameterizedTest
    @EnumSource
    void sellsOneToEachUser(Version version, TestServer server) throws Exception {
        try (Shop one = connect(version, server); Shop two = connect(version, server)) {
            one.open(20);
            List<Outcome> outcomes = Clients.run(i -> (i % 2 == 0 ? one : two).buy("user-" + i % 5, "order-" + i));
            assertEquals(5, count(outcomes, Outcome.SOLD), outcomes::toString);
            assertEquals(45, count(outcomes, Outcome.BOUGHT_ALREADY), outcomes::toString);
            assertEquals("15", server.call("GET", version.stock));
        }
    }

    @ParameterizedTest
    @EnumSource
    void anOrderThatIsSentAgainIsSoldOnce(Version version, TestServer server) throws Exception {
        try (Shop shop = connect(version, server)) {
            shop.open(20);
            assertEquals(Outcome.SOLD, shop.buy("ann", "order-1"));
            assertEquals(version.whenSentAgain(), shop.buy("ann", "order-1"));
            assertEquals("19", server.call("GET", version.stock));
        }
    }

    @ParameterizedTest
    @EnumSource
    void oneWorkerDelivers(Version version, TestServer server, TestClock clock) throws Exception {
        clock.freeze(); // so that no lease ends, however slow the machine is
        try (Shop one = connect(version, server); Shop two = connect(version, server)) {
            AtomicInteger answered = new AtomicInteger();
            List<Boolean> delivered = Clients.run(i -> {
                boolean mine = (i % 2 == 0 ? one : two).deliver("order-1", () -> awaitOthers(answered));
                answered.incrementAndGet();
                return mine;
            });
            assertEquals(1, Collections.frequency(delivered, true), delivered::toString);
            assertTrue(two.deliver("order-1", () -> { }), "it was released");
        }
    }

    /** Goes on with the work until the other workers have their answer. */
    private static void awaitOthers(AtomicInteger answered) {
        try {
            await("others are answered", () -> answered.get() == Clients.COUNT - 1);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @ParameterizedTest
    @EnumSource
    void aWorkerCrashes(Version version, TestServer server, TestClock clock) throws Exception {
        clock.freeze();
        Process worker = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-XX:+UseSerialGC", "-cp",
                System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")), Worker.class.getName(),
                version.name(), server.host(), Integer.toString(server.port()), "order-1")
                .redirectError(ProcessBuilder.Redirect.INHERIT).start();
        try (BufferedReader says = worker.inputReader()) {
            assertEquals("at work", says.readLine());
        } finally {
            worker.destroyForcibly().waitFor(); // kill -9
        }
        await("the server knows that it is gone", () -> ((String) server.call("CLIENT", "LIST")).lines().count() == 1);
        try (Shop next = connect(version, server)) {
            // A key of Redis lives through the millisecond of its deadline, a native lock ends at it.
            Duration held = version == Version.LOCKSERVER ? LEASE : LEASE.plusMillis(1);
            clock.advance(held.minusMillis(1));
            assertFalse(next.deliver("order-1", () -> { }), "the lease has not ended");
            clock.advance(Duration.ofMillis(1));
            assertEquals(version.recoversFromACrash(), next.deliver("order-1", () -> { }), "after the lease");
            clock.advance(Duration.ofDays(1));
            assertEquals(version.recoversFromACrash(), next.deliver("order-1", () -> { }), "after a day");
        }
    }

    @ParameterizedTest
    @EnumSource
    void aWorkerIsSlow(Version version, TestServer server, TestClock clock) throws Exception {
        clock.freeze();
        try (Shop one = connect(version, server); Shop two = connect(version, server)) {
            CountDownLatch atWork = new CountDownLatch(1);
            CompletableFuture<Void> end = new CompletableFuture<>();
            CompletableFuture<Boolean> slow = CompletableFuture.supplyAsync(() -> deliver(one, () -> {
                atWork.countDown();
                end.join();
            }));
            try {
                assertTrue(atWork.await(PATIENCE_S, TimeUnit.SECONDS));
                clock.advance(LEASE.minusSeconds(1));
                if (version == Version.REDISSON) { // its watchdog goes by the clock of its process, which does not advance
                    await("the watchdog has renewed", () -> (Long) server.call("PTTL", "lock:order:order-1") > 29_000);
                }
                clock.advance(LEASE.minusSeconds(1));
                assertEquals(version.endsUnderASlowWorker(), two.deliver("order-1", () -> { }), "a second worker is at work");
            } finally {
                end.complete(null);
            }
            assertTrue(slow.get(PATIENCE_S, TimeUnit.SECONDS));
        }
    }

    private static boolean deliver(Shop shop, Runnable work) {
        try {
            return shop.deliver("order-1", work);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
