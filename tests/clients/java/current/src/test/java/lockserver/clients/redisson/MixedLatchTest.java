package lockserver.clients.redisson;

import static java.util.concurrent.TimeUnit.MINUTES;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;
import org.redisson.api.RCountDownLatch;
import org.redisson.config.Protocol;

import lockserver.clients.Await;
import lockserver.clients.Crowd;
import lockserver.clients.Raw;
import lockserver.clients.Server;

/** Redisson's RCountDownLatch and the server's own LATCH commands on one key. */
@Tag("native")
@ParameterizedClass
@EnumSource(Protocol.class)
class MixedLatchTest {
    @RegisterExtension
    static final Server SERVER = new Server();

    @RegisterExtension
    static final Clients CLIENTS = new Clients(SERVER);

    @Parameter
    Protocol protocol;

    @Test
    void bothWaitAndBothCountDown() throws Exception {
        String key = "both" + protocol;
        String channel = "redisson_countdownlatch__channel__{" + key + "}";
        RCountDownLatch latch = CLIENTS.get(protocol, 0).getCountDownLatch(key);
        assertTrue(latch.trySetCount(3));
        assertEquals(0L, SERVER.call("LATCH.SET", key, "5"));
        try (Crowd crowd = new Crowd(); Raw raw = new Raw(SERVER)) {
            crowd.run(() -> assertTrue(latch.await(2, MINUTES)));
            crowd.run(() -> {
                try (Raw waiter = new Raw(SERVER)) {
                    assertEquals(1L, waiter.call("LATCH.WAIT", key, "WAIT", 2 * Await.DEADLINE_MS));
                }
            });
            Await.until("Redisson's waiter has subscribed",
                    () -> SERVER.call("PUBSUB", "NUMSUB", channel).equals(List.of(channel, 1L)));
            assertEquals(2L, raw.call("LATCH.DOWN", key));
            latch.countDown();
            assertEquals(1, latch.getCount());
            assertEquals(1L, raw.call("LATCH.GET", key));
            assertEquals(0L, raw.call("LATCH.DOWN", key));
            crowd.join();
        }
        assertEquals(0, latch.getCount());
        assertEquals(0L, SERVER.call("EXISTS", key));
    }

    @Test
    void redissonOpensWhatTheServerHasClosed() throws Exception {
        String key = "closed" + protocol;
        RCountDownLatch latch = CLIENTS.get(protocol, 1).getCountDownLatch(key);
        assertEquals(1L, SERVER.call("LATCH.SET", key, "2"));
        assertFalse(latch.trySetCount(9), "set already");
        try (Crowd crowd = new Crowd()) {
            crowd.run(() -> {
                try (Raw waiter = new Raw(SERVER)) {
                    assertEquals(1L, waiter.call("LATCH.WAIT", key, "WAIT", 2 * Await.DEADLINE_MS));
                }
            });
            latch.countDown();
            latch.countDown();
            crowd.join();
        }
        latch.await();
        assertEquals(0L, SERVER.call("LATCH.GET", key));
    }
}
