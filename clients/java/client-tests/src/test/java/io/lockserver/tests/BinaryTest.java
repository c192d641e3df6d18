package io.lockserver.tests;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;

import org.junit.jupiter.api.Test;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lockserver.client.HeldLock;
import io.lockserver.client.LockClient;
import io.lockserver.client.LockLostException;
import io.lockserver.client.LockOptions;
import io.lockserver.client.LossReason;
import io.lockserver.client.NotAcquiredException;
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
        Lock lock = locks.asLock(bytes(0xfa));
        lock.lock();
        assertTrue(locks.isLocked(bytes(0xfa)));
        lock.unlock();
    }
}
