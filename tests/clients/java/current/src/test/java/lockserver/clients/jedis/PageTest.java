package lockserver.clients.jedis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

import redis.clients.jedis.RedisClient;
import redis.clients.jedis.commands.ProtocolCommand;

import lockserver.clients.Server;

/** The Java that docs/CLIENTS.md shows, word for word: tests/readme compares the two. */
@Tag("native")
class PageTest {
    @RegisterExtension
    static final Server SERVER = new Server();

    private final List<Long> charged = new ArrayList<>();

    private void charge(long token) {
        charged.add(token);
    }

    @Test
    void aLockAroundSomeWork() {
        // snippet
        ProtocolCommand lock = "LOCK"::getBytes, unlock = "UNLOCK"::getBytes;
        RedisClient jedis = RedisClient.create(SERVER.host(), SERVER.port());
        String owner = UUID.randomUUID().toString();
        Object token = jedis.sendCommand(lock, "order:42", owner, "PX", "30000", "WAIT", "1000", "ONCE");
        if (token != null) {
            try {
                charge((Long) token);
            } finally {
                jedis.sendCommand(unlock, "order:42", owner, "TOKEN", token.toString());
            }
        }
        // end
        assertEquals(List.of(token), charged);
        assertTrue((Long) token > 0);
        ProtocolCommand info = "LOCK.INFO"::getBytes;
        assertNull(jedis.sendCommand(info, "order:42"), "it was released");
        jedis.close();
    }
}
