package lockserver.clients.redisson;

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.MINUTES;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.redisson.api.RMap;
import org.redisson.api.RMapCache;
import org.redisson.api.RScript;
import org.redisson.api.RedissonClient;
import org.redisson.client.RedisException;

import lockserver.clients.Await;
import lockserver.clients.Sale;
import lockserver.clients.Server;

/** Scripts, topics, sessions, caches, and a sale. */
class ObjectsTest {
    @RegisterExtension
    static final Server SERVER = new Server();

    @RegisterExtension
    static final Clients CLIENTS = new Clients(SERVER);

    private static <T> T eval(String script, RScript.ReturnType type, List<Object> keys, Object... args) {
        return CLIENTS.get(0).getScript().eval(RScript.Mode.READ_WRITE, script, type, keys, args);
    }

    @Test
    void scripts() {
        assertEquals(7L, ObjectsTest.<Long>eval("return redis.call('incrby', KEYS[1], ARGV[1])",
                RScript.ReturnType.INTEGER, List.of("n"), "7"));
        assertEquals(List.of("n", 1L, "x"), eval("return {KEYS[1], 1, ARGV[1]}", RScript.ReturnType.MULTI, List.of("n"), "x"));
        assertNull(eval("return redis.call('get', KEYS[1])", RScript.ReturnType.VALUE, List.of("absent")));
        assertTrue(ObjectsTest.<Boolean>eval("return redis.call('set', KEYS[1], 'v')", RScript.ReturnType.BOOLEAN, List.of("k")));
        assertThrows(RedisException.class, () -> eval("return redis.call('incr', KEYS[1])", RScript.ReturnType.INTEGER, List.of("k")));
        RScript script = CLIENTS.get(0).getScript();
        String sha = script.scriptLoad("return ARGV[1] .. '!'");
        assertEquals(List.of(true), script.scriptExists(sha));
        assertEquals("hello!", script.evalSha(RScript.Mode.READ_WRITE, sha, RScript.ReturnType.VALUE, Collections.emptyList(), "hello"));
        script.scriptFlush();
        assertEquals(List.of(false), script.scriptExists(sha));
    }

    @Test
    void messages() {
        ConcurrentLinkedQueue<String> heard = new ConcurrentLinkedQueue<>();
        Topics.listen(CLIENTS.get(0), "news", heard::add);
        Topics.listenByPattern(CLIENTS.get(1), "ne*", message -> heard.add("by pattern: " + message));
        assertEquals(2, CLIENTS.get(2).getTopic("news").publish("hello"));
        Await.until("both have heard", () -> heard.size() == 2);
        assertTrue(heard.containsAll(List.of("hello", "by pattern: hello")), heard.toString());
    }

    @Test
    void sessions() {
        RedissonClient client = CLIENTS.get(0);
        RMap<String, String> session = client.getMap("session:1");
        session.putAll(Map.of("id", "7", "name", "Ann"));
        assertTrue(session.expire(30, MINUTES));
        assertTrue(session.remainTimeToLive() > 29 * 60_000);
        RMap<String, String> seen = CLIENTS.get(1).getMap("session:1");
        assertEquals(Map.of("id", "7", "name", "Ann"), seen.readAllMap());
        assertEquals("7", seen.put("id", "8"));
        assertEquals("8", session.get("id"));
        assertTrue(session.expire(50, MILLISECONDS));
        Await.until("it ends", () -> !seen.isExists());
        assertTrue(seen.readAllMap().isEmpty());
        RMapCache<String, String> cache = client.getMapCache("cache");
        assertTrue(cache.fastPut("short", "x", 50, MILLISECONDS));
        assertTrue(cache.fastPut("long", "y", 10, MINUTES));
        Await.until("one entry ends", () -> cache.get("short") == null);
        assertEquals("y", cache.get("long"));
        client.getBucket("code").set("123456", 1, MINUTES);
        assertFalse(client.getBucket("code").trySet("654321"));
    }

    @Test
    void theSaleOfTheScript() {
        Sale.play(SERVER, (user, order) -> ObjectsTest.<Long>eval(Sale.SCRIPT, RScript.ReturnType.INTEGER,
                Collections.emptyList(), Sale.VOUCHER, user, order));
    }

    @Test
    @Tag("native")
    void theSaleOfSeckill() {
        String seckill = "return redis.call('SECKILL', ARGV[1], ARGV[2], ARGV[3])"; // Redisson has no other way to send it
        Sale.play(SERVER, (user, order) -> ObjectsTest.<Long>eval(seckill, RScript.ReturnType.INTEGER,
                Collections.emptyList(), Sale.VOUCHER, user, order));
    }
}
