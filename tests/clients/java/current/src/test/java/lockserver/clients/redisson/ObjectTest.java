package lockserver.clients.redisson;

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.stream.IntStream;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;
import org.redisson.api.BatchOptions;
import org.redisson.api.BatchResult;
import org.redisson.api.RAtomicLong;
import org.redisson.api.RBatch;
import org.redisson.api.RBucket;
import org.redisson.api.RScript;
import org.redisson.api.RStream;
import org.redisson.api.RTopic;
import org.redisson.api.RTransaction;
import org.redisson.api.RedissonClient;
import org.redisson.api.TransactionOptions;
import org.redisson.api.stream.StreamAddArgs;
import org.redisson.api.stream.StreamCreateGroupArgs;
import org.redisson.api.stream.StreamMessageId;
import org.redisson.api.stream.StreamPendingRangeArgs;
import org.redisson.api.stream.StreamRangeArgs;
import org.redisson.api.stream.StreamReadGroupArgs;
import org.redisson.client.RedisException;
import org.redisson.config.Protocol;

import lockserver.clients.Await;
import lockserver.clients.Crowd;
import lockserver.clients.Server;

/** Single values, batches, transactions, scripts, topics and streams. */
@ParameterizedClass
@EnumSource(Protocol.class)
class ObjectTest {
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
    void atomicLong() {
        RAtomicLong number = client(0).getAtomicLong("number");
        Crowd.of(6, n -> {
            for (int i = 0; i < 50; i++) {
                client(n % 2).getAtomicLong("number").incrementAndGet();
            }
        });
        assertEquals(300, number.get());
        assertTrue(number.compareAndSet(300, 5));
        assertFalse(number.compareAndSet(300, 6));
        assertEquals(5, number.getAndAdd(1L << 62));
        assertEquals((1L << 62) + 5, number.getAndSet(-1));
        assertEquals(-1, number.getAndDelete());
        assertEquals(0, number.get());
    }

    @Test
    void bucket() {
        RBucket<String> bucket = client(0).getBucket("bucket");
        assertTrue(bucket.setIfAbsent("1", Duration.ofMinutes(1)));
        assertFalse(bucket.setIfAbsent("2"));
        assertTrue(bucket.remainTimeToLive() > 30_000);
        assertTrue(bucket.compareAndSet("1", "3"));
        assertFalse(bucket.compareAndSet("1", "4"));
        assertEquals("3", bucket.getAndSet("5"));
        assertEquals("5", bucket.getAndExpire(Duration.ofMillis(150)));
        Await.until("it expires", () -> !bucket.isExists());
        assertTrue(client(0).getBuckets().trySet(Map.of("a", "1", "b", "2")));
        assertFalse(client(0).getBuckets().trySet(Map.of("b", "9", "c", "3")));
        assertEquals(Map.of("a", "1", "b", "2"), client(1).getBuckets().get("a", "b", "c"));
        client(0).getKeys().delete("a");
        assertEquals(Set.of("b"), new TreeSet<>(client(0).getKeys().getKeysStream().toList()));
    }

    @Test
    void batchesArePipelinesOrTransactions() {
        for (BatchOptions.ExecutionMode mode : BatchOptions.ExecutionMode.values()) {
            RBatch batch = client(0).createBatch(BatchOptions.defaults().executionMode(mode));
            for (int i = 0; i < 500; i++) {
                batch.getMap("batch-" + mode).fastPutAsync("field-" + i, "value-" + i);
                batch.getAtomicLong("count-" + mode).incrementAndGetAsync();
            }
            BatchResult<?> result = batch.execute();
            assertEquals(1_000, result.getResponses().size(), mode.name());
            assertEquals(500L, result.getResponses().get(999), mode.name());
            assertEquals(500, client(1).getMap("batch-" + mode).size(), mode.name());
        }
    }

    @Test
    void transactionsAreAllOrNothing() {
        client(0).getBucket("account").set("10");
        RTransaction transfer = client(0).createTransaction(TransactionOptions.defaults());
        transfer.<String>getBucket("account").set("7");
        transfer.<String, String>getMap("ledger").put("entry", "3");
        assertEquals("10", client(1).getBucket("account").get());
        transfer.commit();
        assertEquals("7", client(1).getBucket("account").get());
        assertEquals("3", client(1).getMap("ledger").get("entry"));

        RTransaction undone = client(0).createTransaction(TransactionOptions.defaults());
        undone.<String>getBucket("account").set("0");
        undone.rollback();
        assertEquals("7", client(1).getBucket("account").get());
        assertThrows(IllegalStateException.class, undone::commit, "it is over");
    }

    @Test
    void scripts() {
        RScript script = client(0).getScript();
        Object sum = script.eval(RScript.Mode.READ_WRITE,
                "redis.call('incrby', KEYS[1], ARGV[1]); return redis.call('incrby', KEYS[1], ARGV[2])",
                RScript.ReturnType.LONG, List.of("sum"), 40, 2);
        assertEquals(42L, sum);
        String sha = script.scriptLoad("return {KEYS[1], ARGV[1], false, 7}");
        assertEquals(List.of(true, false), script.scriptExists(sha, "0".repeat(40)));
        List<Object> list = script.evalSha(RScript.Mode.READ_ONLY, sha, RScript.ReturnType.LIST, List.of("k"), "v");
        assertEquals(4, list.size());
        assertEquals("v", list.get(1));
        assertNull(list.get(2));
        RedisException raised = assertThrows(RedisException.class, () -> script.eval(RScript.Mode.READ_WRITE,
                "return redis.error_reply('NOTENOUGH only ' .. ARGV[1])", RScript.ReturnType.STRING, List.of("k"), 3));
        assertTrue(raised.getMessage().startsWith("NOTENOUGH only 3"), raised.getMessage());
    }

    @Test
    void topics() {
        Set<String> heard = new ConcurrentSkipListSet<>();
        RTopic topic = client(0).getTopic("news");
        int listener = topic.addListener(String.class, (channel, message) -> heard.add(channel + "=" + message));
        int pattern = client(1).getPatternTopic("n?ws*").addListener(String.class,
                (glob, channel, message) -> heard.add(glob + " " + channel + "=" + message));
        assertEquals(2, client(1).getTopic("news").publish("one"), "a subscriber and a pattern");
        assertEquals(1, client(1).getTopic("nuws-2").publish("two"));
        assertEquals(0, client(1).getTopic("olds").publish("three"));
        Await.until("all is heard", () -> heard.equals(Set.of("news=one", "n?ws* news=one", "n?ws* nuws-2=two")));
        assertEquals(1, topic.countSubscribers());
        topic.removeListener(listener);
        client(1).getPatternTopic("n?ws*").removeListener(pattern);
        Await.until("nobody listens", () -> client(1).getTopic("news").publish("four") == 0);
        assertEquals(3, heard.size());
    }

    @Test
    void aConsumerGroupOfAStream() {
        RStream<String, String> stream = client(0).getStream("orders");
        stream.createGroup(StreamCreateGroupArgs.name("workers").makeStream().id(StreamMessageId.ALL));
        for (int i = 0; i < 10; i++) {
            stream.add(StreamAddArgs.entry("order", Integer.toString(i)));
        }
        Map<StreamMessageId, Map<String, String>> first =
                stream.readGroup("workers", "ann", StreamReadGroupArgs.neverDelivered().count(4));
        assertEquals(List.of("0", "1", "2", "3"), first.values().stream().map(entry -> entry.get("order")).toList());
        Map<StreamMessageId, Map<String, String>> second = client(1).<String, String>getStream("orders")
                .readGroup("workers", "ben", StreamReadGroupArgs.neverDelivered().timeout(Duration.ofSeconds(20)));
        assertEquals(6, second.size());
        assertEquals(6, stream.ack("workers", second.keySet().toArray(StreamMessageId[]::new)));
        assertEquals(4, stream.getPendingInfo("workers").getTotal());
        assertEquals(Map.of("ann", 4L), stream.getPendingInfo("workers").getConsumerNames());
        assertEquals(4, stream.listPending(StreamPendingRangeArgs.groupName("workers")
                .startId(StreamMessageId.MIN).endId(StreamMessageId.MAX).count(10)).size());
        var claimed = stream.autoClaim("workers", "ben", 0, MILLISECONDS, StreamMessageId.MIN, 10);
        assertEquals(first, claimed.getMessages());
        assertEquals(4, stream.ack("workers", first.keySet().toArray(StreamMessageId[]::new)));
        assertEquals(2, stream.listConsumers("workers").size());
        assertEquals(0, stream.listGroups().get(0).getPending());
        assertEquals(10, stream.getInfo().getLength());
        var all = stream.range(StreamRangeArgs.startId(StreamMessageId.MIN).endId(StreamMessageId.MAX));
        assertEquals(IntStream.range(0, 10).mapToObj(Integer::toString).toList(),
                all.values().stream().map(entry -> entry.get("order")).toList());
    }
}
