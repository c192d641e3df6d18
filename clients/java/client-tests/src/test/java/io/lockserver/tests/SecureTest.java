package io.lockserver.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.file.Files;
import java.nio.file.Path;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import io.lockserver.client.HeldLock;
import io.lockserver.client.LockClient;
import io.lockserver.client.LockException;
import io.lockserver.client.ServerException;
import io.lockserver.test.Lockserver;

/** TLS and users. */
class SecureTest {
    @Test
    void tls(@TempDir Path folder) throws Exception {
        try (Secure secure = new Secure(folder)) {
            String uri = "rediss://localhost:" + secure.server.port();
            try (LockClient locks = secure.client(secure.server.port()); HeldLock lock = locks.lock("k")) {
                assertEquals("OK", lock.guard("SET", "x", "1"));
            }
            assertThrows(LockException.class, () -> LockClient.builder(uri).connectTimeout(Clients.PATIENCE).build());
            assertEquals(true, Files.exists(folder.resolve("log")));
        }
    }

    @Test
    void users() throws Exception {
        try (Lockserver server = Lockserver.start()) {
            server.call("ACL", "SETUSER", "ann", "on", ">secret", "~lock:*", "&*", "+@all", "-@dangerous");
            String host = "@" + server.host() + ":" + server.port();
            try (LockClient locks = Clients.create("redis://ann:secret" + host); HeldLock lock = locks.lock("lock:1")) {
                assertEquals("OK", lock.guard("SET", "lock:x", "1"));
                assertEquals("NOPERM", assertThrows(ServerException.class, () -> locks.lock("other")).code());
                assertEquals("NOPERM", assertThrows(ServerException.class, () -> lock.guard("SET", "other", "1")).code());
            }
            assertEquals("WRONGPASS", assertThrows(ServerException.class, () -> Clients.create("redis://ann:wrong" + host)).code());
        }
    }
}
