package lockserver.clients.redisson;

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;
import org.redisson.api.RCountDownLatch;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RRateLimiter;
import org.redisson.api.RSemaphore;
import org.redisson.api.RateType;
import org.redisson.api.RedissonClient;
import org.redisson.api.ratelimiter.RateLimiterArgs;
import org.redisson.client.RedisException;
import org.redisson.config.Protocol;

import lockserver.clients.Await;
import lockserver.clients.Crowd;
import lockserver.clients.Server;

/** What synchronizes threads without being a lock: semaphores, latches, rate limiters. */
@ParameterizedClass
@EnumSource(Protocol.class)
class SynchronizerTest {
    @RegisterExtension
    static final Server SERVER = new Server();

    @RegisterExtension
    static final Clients CLIENTS = new Clients(SERVER);

    @Parameter
    Protocol protocol;

    private RedissonClient client(int n) {
        return CLIENTS.get(protocol, n);
    }

    @Test
    void aSemaphoreAdmitsSoMany() throws Exception {
        RSemaphore semaphore = client(0).getSemaphore("seats");
        assertTrue(semaphore.trySetPermits(3));
        assertFalse(semaphore.trySetPermits(5), "set already");
        AtomicInteger inside = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        Crowd.of(8, n -> {
            RSemaphore mine = client(n % 2).getSemaphore("seats");
            for (int i = 0; i < 10; i++) {
                mine.acquire();
                most.accumulateAndGet(inside.incrementAndGet(), Math::max);
                inside.decrementAndGet();
                mine.release();
            }
        });
        assertTrue(most.get() <= 3, most + " were inside");
        assertEquals(3, semaphore.availablePermits());
        assertEquals(3, semaphore.drainPermits());
        assertFalse(semaphore.tryAcquire());
        assertFalse(semaphore.tryAcquire(Duration.ofMillis(50)));
        try (Crowd crowd = new Crowd()) {
            Future<Boolean> waiter = crowd.start(
                    () -> client(1).getSemaphore("seats").tryAcquire(2, Duration.ofMillis(Await.DEADLINE_MS)));
            Await.until("the waiter has subscribed",
                    () -> ((List<?>) SERVER.call("PUBSUB", "CHANNELS", "*{seats}")).size() == 1);
            semaphore.release(1);
            assertFalse(waiter.isDone(), "one is not enough");
            semaphore.release(1);
            assertTrue(Crowd.outcome(waiter));
        }
        semaphore.addPermits(4);
        assertEquals(4, semaphore.availablePermits());
    }

    @Test
    void permitsExpire() throws Exception {
        RPermitExpirableSemaphore semaphore = client(0).getPermitExpirableSemaphore("seats");
        assertTrue(semaphore.trySetPermits(2));
        String lasting = semaphore.acquire();
        String brief = semaphore.acquire(60_000, MILLISECONDS);
        assertNull(semaphore.tryAcquire());
        assertTrue(semaphore.updateLeaseTime(brief, 200, MILLISECONDS));
        String next = client(1).getPermitExpirableSemaphore("seats").tryAcquire(Await.DEADLINE_MS, MILLISECONDS);
        assertNotNull(next, "the brief permit has expired");
        assertFalse(semaphore.tryRelease(brief));
        assertThrows(RedisException.class, () -> semaphore.release(brief));
        assertTrue(semaphore.updateLeaseTime(lasting, 60_000, MILLISECONDS));
        semaphore.release(lasting);
        client(1).getPermitExpirableSemaphore("seats").release(next);
        assertEquals(2, semaphore.availablePermits());
        assertEquals(0, semaphore.acquiredPermits());
    }

    @Test
    void severalPermitsAtOnce() throws Exception {
        RPermitExpirableSemaphore semaphore = client(0).getPermitExpirableSemaphore("seats");
        semaphore.setPermits(200);
        List<String> ids = semaphore.acquire(150);
        assertEquals(150, ids.stream().distinct().count());
        assertEquals(List.of(), semaphore.tryAcquire(51));
        assertEquals(150, semaphore.acquiredPermits());
        assertEquals(150, semaphore.tryRelease(ids));
        assertEquals(200, semaphore.availablePermits());
    }

    @Test
    void aLatchOpensAtZero() throws Exception {
        RCountDownLatch latch = client(0).getCountDownLatch("start");
        assertTrue(latch.trySetCount(3));
        assertFalse(latch.trySetCount(9), "set already");
        try (Crowd crowd = new Crowd()) {
            for (int i = 0; i < 4; i++) {
                int number = i;
                crowd.run(() -> client(number % 2).getCountDownLatch("start").await());
            }
            Await.until("both clients have subscribed",
                    () -> SERVER.call("PUBSUB", "NUMSUB", "redisson_countdownlatch__channel__{start}")
                            .equals(List.of("redisson_countdownlatch__channel__{start}", 2L)));
            latch.countDown();
            client(1).getCountDownLatch("start").countDown();
            assertEquals(1, latch.getCount());
            assertFalse(latch.await(20, MILLISECONDS));
            latch.countDown();
            crowd.join();
        }
        assertEquals(0, latch.getCount());
        assertEquals(0L, SERVER.call("EXISTS", "start"));
    }

    @Test
    void aRateLimiterLimits() {
        RRateLimiter limiter = client(0).getRateLimiter("rate");
        assertTrue(limiter.trySetRate(RateType.OVERALL, 5, Duration.ofMinutes(10)));
        assertFalse(limiter.trySetRate(RateType.OVERALL, 7, Duration.ofSeconds(1)), "set already");
        assertEquals(5, limiter.getConfig().getRate());
        AtomicInteger granted = new AtomicInteger();
        Crowd.of(4, n -> {
            for (int i = 0; i < 5; i++) {
                if (client(n % 2).getRateLimiter("rate").tryAcquire()) {
                    granted.incrementAndGet();
                }
            }
        });
        assertEquals(5, granted.get());
        assertEquals(0, limiter.availablePermits());
        limiter.setRate(RateLimiterArgs.of(RateType.OVERALL, 2, Duration.ofMillis(200)));
        long begun = System.nanoTime();
        for (int i = 0; i < 6; i++) {
            limiter.acquire();
        }
        assertTrue(System.nanoTime() - begun >= 350_000_000L, "six at two in 200 ms take two intervals at least");
    }

    @Test
    void aRateLimiterOfEachClient() {
        RRateLimiter limiter = client(0).getRateLimiter("rate");
        assertTrue(limiter.trySetRate(RateType.PER_CLIENT, 1, Duration.ofMinutes(10)));
        assertTrue(limiter.tryAcquire());
        assertFalse(limiter.tryAcquire());
        assertTrue(client(1).getRateLimiter("rate").tryAcquire(), "the other client has its own");
    }
}
