package io.lockserver.tests;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;

import org.junit.jupiter.api.Test;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lockserver.client.DelayedEntries;
import io.lockserver.client.Entry;
import io.lockserver.client.HeldLock;
import io.lockserver.client.LockClient;
import io.lockserver.client.LockLostException;
import io.lockserver.client.LockOptions;
import io.lockserver.client.LossReason;
import io.lockserver.client.NotAcquiredException;
import io.lockserver.client.Sale;
import io.lockserver.client.Worker;
import io.lockserver.client.WorkerOptions;
import io.lockserver.test.LockserverTest;
import io.lockserver.test.TestServer;

/** Keys of any bytes. A plain client of Lettuce, with byte arrays, says what is on the server. */
@LockserverTest
class BinaryTest {
    private static final LockOptions TRY = LockOptions.defaults().withWait(Duration.ZERO);

    private static byte[] bytes(int... values) {
        byte[] bytes = new byte[values.length];
        for (int i = 0; i < values.length; i++) {
            bytes[i] = (byte) values[i];
        }
        return bytes;
    }

    @Test
    void eachByteIsOfTheKey(LockClient locks, TestServer server) throws Exception {
        long seed = System.nanoTime();
        Random chance = new Random(seed);
        RedisClient lettuce = RedisClient.create(RedisURI.create(server.uri()));
        try {
            RedisCommands<byte[], byte[]> plain = lettuce.connect(ByteArrayCodec.INSTANCE).sync();
            List<byte[]> keys = new ArrayList<>(List.of(bytes(0x80), bytes(0xff, 0xfe), bytes(0xc3), bytes(0xc3, 0xa9), bytes('a', 0xe2, 0x82, 'b'),
                    bytes(0xed, 0xa0, 0x80), bytes(0xf0, 0x9f, 0x98, 0x80, 0x80), bytes(0xef, 0xbf, 0xbd, 0xff), bytes(0, '\r', '\n', 0xc0, 0x80)));
            for (int i = 0; i < 100; i++) {
                byte[] key = new byte[1 + chance.nextInt(20)];
                chance.nextBytes(key);
                keys.add(key);
            }
            for (byte[] key : keys) {
                HeldLock held = locks.lock(key, TRY);
                assertArrayEquals(key, held.keyBytes());
                assertEquals(1, plain.exists(key), () -> Arrays.toString(key) + " by seed " + seed);
                assertTrue(locks.tryLock(key, TRY).isEmpty());
                held.unlock();
                assertEquals(0, plain.exists(key));
            }
        } finally {
            lettuce.shutdown(0, 0, TimeUnit.SECONDS);
        }
    }

    @Test
    void aKeyOfTextHasItsBytes(LockClient locks) throws Exception {
        HeldLock text = locks.lock("ключ 😀");
        assertTrue(locks.isLocked("ключ 😀".getBytes(StandardCharsets.UTF_8)));
        assertThrows(NotAcquiredException.class, () -> locks.lock("ключ 😀".getBytes(StandardCharsets.UTF_8), TRY));
        text.unlock();
        assertThrows(IllegalArgumentException.class, () -> locks.lock(new byte[0], TRY));
        assertThrows(NullPointerException.class, () -> locks.lock((byte[]) null, TRY));
        HeldLock binary = locks.lock(bytes(0x80), TRY);
        assertThrows(IllegalArgumentException.class, () -> locks.lock(binary.key()), "a half is no text");
        binary.unlock();
    }

    /** Grants, losses and changes of latches come as messages with the key. */
    @Test
    void messagesHaveTheKey(LockClient locks, TestServer server) throws Exception {
        byte[] key = bytes(0xff, 'k', 0x80);
        HeldLock first = locks.lock(key, TRY);
        CompletableFuture<HeldLock> later = locks.lockAsync(key, LockOptions.defaults());
        Await.until("it waits", () -> locks.info(key).orElseThrow().waiters().size() == 1);
        first.unlock();
        HeldLock next = later.get(60, TimeUnit.SECONDS);
        CompletableFuture<LockLostException> told = new CompletableFuture<>();
        next.onLost(told::complete);
        assertTrue(locks.forceUnlock(key));
        assertEquals(LossReason.FORCED, told.get(60, TimeUnit.SECONDS).reason());
        assertFalse(locks.isLocked(key));

        byte[] gate = bytes(0xfe, 'l');
        assertTrue(locks.latch(gate).set(1));
        Call<Boolean> waits = Call.of(() -> locks.latch(gate).await(Duration.ofMinutes(5)));
        locks.latch(gate).countDown();
        assertTrue(waits.get());
        assertTrue(locks.limiter(bytes(0xfd), 1, 1, Duration.ofHours(1)).take().allowed());
        assertFalse(locks.limiter(bytes(0xfd), 1, 1, Duration.ofHours(1)).take().allowed());
        assertTrue(locks.limiter(bytes(0xfc), 1, 1, Duration.ofHours(1)).take().allowed());
        HeldLock permit = locks.semaphore(bytes(0xfb), 1).acquire(1, TRY);
        assertTrue(locks.semaphore(bytes(0xfb), 1).tryAcquire(1, TRY).isEmpty());
        permit.unlock();
        Sale shoe = locks.sale(bytes(0xf9));
        assertTrue(shoe.create(Sale.Terms.of(2).withHold(Duration.ofHours(1))));
        assertEquals(Sale.Outcome.SOLD, shoe.buy("ann", "o1"));
        assertTrue(shoe.confirm("ann", "o1"));
        assertTrue(shoe.confirm("ann", "o1"), "the record of the order is found");
        assertEquals(1, locks.sale(bytes(0xf9)).info().orElseThrow().stock());
        assertTrue(locks.sale(bytes(0xf8)).info().isEmpty());
        DelayedEntries entries = locks.delay(bytes(0xf7));
        assertTrue(entries.add("a", Duration.ofHours(1), Map.of("x", "1")));
        assertTrue(entries.add("now", Duration.ZERO, Map.of("x", "2")));
        Await.until("one is due", () -> entries.list(Instant.EPOCH, 9).stream().map(DelayedEntries.Pending::id).toList().equals(List.of("a")));
        assertEquals(0, locks.delay(bytes(0xf6)).count());
        CompletableFuture<Entry> worked = new CompletableFuture<>();
        Worker worker = locks.worker(bytes(0xf7), "g", WorkerOptions.defaults(), worked::complete);
        Call<Void> works = Call.of(() -> {
            worker.run();
            return null;
        });
        assertEquals(Map.of("x", "2"), worked.get(60, TimeUnit.SECONDS).fields());
        assertThrows(IllegalArgumentException.class, () -> worked.get().once(null), "SQL would have another name for the stream");
        worker.stop();
        works.get();
        Lock lock = locks.asLock(bytes(0xfa));
        lock.lock();
        assertTrue(locks.isLocked(bytes(0xfa)));
        lock.unlock();
    }

    /** Of several keys the tokens have the strings of the keys. They are granted and lost together, after a wait as well. */
    @Test
    void severalKeys(LockClient locks, TestServer server) throws Exception {
        byte[][] keys = {bytes(0xff), bytes(0x80), "\uff5a".getBytes(StandardCharsets.UTF_8), "😀".getBytes(StandardCharsets.UTF_8), bytes('a')};
        HeldLock all = locks.acquireAll(keys, TRY);
        assertEquals(5, all.tokens().size());
        for (byte[] key : keys) {
            assertTrue(locks.isLocked(key), () -> Arrays.toString(key));
        }
        CompletableFuture<HeldLock> waits = locks.acquireAllAsync(keys, LockOptions.defaults());
        Await.until("it waits", () -> locks.waitingCount() == 1 && !locks.info(bytes(0xff)).orElseThrow().waiters().isEmpty());
        all.unlock();
        HeldLock next = waits.get(60, TimeUnit.SECONDS);
        assertEquals(all.tokens().keySet(), next.tokens().keySet());
        next.ensureHeld();
        assertTrue(locks.forceUnlock(bytes(0x80)));
        Await.until("it is lost as a whole", () -> !next.isHeld() && server.call("DBSIZE").equals(0L));
    }

    /** Calls with words that are no keys. */
    private static final Set<String> NO_KEYS = Set.of("create", "builder", "command", "commandAsync", "buyCart", "buyCartAsync");

    @Test
    void eachCallWithAKeyTakesBytes() {
        Set<String> text = new TreeSet<>();
        Set<String> binary = new TreeSet<>();
        for (Method method : LockClient.class.getDeclaredMethods()) {
            Class<?> first = Modifier.isPublic(method.getModifiers()) && method.getParameterCount() > 0 ? method.getParameterTypes()[0] : null;
            if (first == String.class || first == Collection.class) {
                text.add(method.getName());
            } else if (first == byte[].class || first == byte[][].class) {
                binary.add(method.getName());
            }
        }
        text.removeAll(NO_KEYS);
        assertTrue(text.size() > 20, text::toString);
        assertEquals(text, binary);
    }

    @Test
    void byThreadAndTask(LockClient locks) throws Exception {
        byte[] key = bytes(0xf0, 0x80);
        HeldLock mine = locks.lockByThread(key, TRY);
        assertEquals(mine, locks.heldByThread(key).orElseThrow());
        locks.lockByThread(key, TRY);
        locks.unlockByThread(key, false);
        assertTrue(mine.isHeld());
        locks.unlockByThread(key, false);
        assertFalse(locks.isLockedAsync(key).get(60, TimeUnit.SECONDS));
        Lock read = locks.readWrite(key).readLock();
        read.lock();
        assertTrue(locks.infoAsync(key).get(60, TimeUnit.SECONDS).orElseThrow().mode().equals("shared"));
        assertTrue(locks.tryLockAsync(key, TRY).get(60, TimeUnit.SECONDS).isEmpty());
        assertTrue(locks.forceUnlockAsync(key).get(60, TimeUnit.SECONDS));
        assertThrows(LockLostException.class, read::unlock);
        Lock fixed = locks.asLock(key, Duration.ofMinutes(1));
        fixed.lock();
        assertFalse(locks.info(key).orElseThrow().holders().get(0).isRenewed());
        fixed.unlock();
        assertEquals(true, locks.lockedAsync(key, TRY, lock -> CompletableFuture.completedFuture(locks.isLocked(key))).get(60, TimeUnit.SECONDS));
        locks.campaign(key, lead -> assertArrayEquals(key, lead.keyBytes()));
        assertFalse(locks.isLocked(key));
    }
}
