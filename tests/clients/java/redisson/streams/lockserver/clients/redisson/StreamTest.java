package lockserver.clients.redisson;

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Future;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.redisson.api.RStream;
import org.redisson.api.StreamMessageId;

import lockserver.clients.Await;
import lockserver.clients.Crowd;
import lockserver.clients.Server;

/** RStream: a group of two, of which one dies with orders in its hands. */
class StreamTest {
    private static final int MANY = 60;

    @RegisterExtension
    static final Server SERVER = new Server();

    @RegisterExtension
    static final Clients CLIENTS = new Clients(SERVER);

    @Test
    void aConsumerGroup() {
        RStream<String, String> stream = CLIENTS.get(0).getStream("orders");
        Streams.createGroup(stream, "workers");
        for (int i = 0; i < MANY; i++) {
            Streams.add(stream, Map.of("order", Integer.toString(i)));
        }
        Set<String> done = new HashSet<>();
        Map<StreamMessageId, Map<String, String>> lost = Streams.read(stream, "workers", "ann", 20);
        assertEquals(20, lost.size());
        finish(stream, done, Streams.read(stream, "workers", "ben", MANY));
        assertEquals(MANY - 20, done.size());
        assertEquals(20, stream.getPendingInfo("workers").getTotal());
        assertEquals(Map.of("ann", 20L), stream.getPendingInfo("workers").getConsumerNames());
        StreamMessageId[] ids = stream.listPending("workers", "ann", StreamMessageId.MIN, StreamMessageId.MAX, MANY)
                .stream().map(entry -> entry.getId()).toArray(StreamMessageId[]::new);
        finish(stream, done, stream.claim("workers", "ben", 0, MILLISECONDS, ids));
        assertEquals(MANY, done.size());
        assertEquals(0, stream.getPendingInfo("workers").getTotal());
        assertEquals(MANY, stream.range(StreamMessageId.MIN, StreamMessageId.MAX).size());
    }

    private static void finish(RStream<String, String> stream, Set<String> done, Map<StreamMessageId, Map<String, String>> orders) {
        orders.forEach((id, fields) -> {
            assertEquals(1, stream.ack("workers", id));
            assertTrue(done.add(fields.get("order")), "an order is done once");
        });
    }

    @Test
    void aReaderThatWaits() {
        RStream<String, String> stream = CLIENTS.get(0).getStream("fresh");
        Streams.createGroup(stream, "workers");
        try (Crowd crowd = new Crowd()) {
            Future<Map<StreamMessageId, Map<String, String>>> waiter =
                    crowd.start(() -> Streams.await(stream, "workers", "ann", 8_000));
            Await.until("it waits", () -> SERVER.call("INFO", "clients").toString().contains("blocked_clients:1"));
            StreamMessageId id = Streams.add(CLIENTS.get(1).getStream("fresh"), Map.of("order", "1"));
            assertEquals(Map.of(id, Map.of("order", "1")), Crowd.outcome(waiter));
        }
    }
}
