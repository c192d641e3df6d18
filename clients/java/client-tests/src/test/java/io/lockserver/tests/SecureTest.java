package io.lockserver.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import io.lettuce.core.ClientOptions;
import io.lettuce.core.SslOptions;
import io.lockserver.client.HeldLock;
import io.lockserver.client.LockClient;
import io.lockserver.client.LockException;
import io.lockserver.client.ServerException;
import io.lockserver.test.Lockserver;

/** TLS and users. */
class SecureTest {
    @Test
    void tls(@TempDir Path folder) throws Exception {
        Path script = Repository.file("tests/clients/certificates.sh");
        assertEquals(0, new ProcessBuilder("bash", script.toString(), folder.toString()).inheritIO().start().waitFor());
        String port;
        try (ServerSocket free = new ServerSocket(0)) {
            port = Integer.toString(free.getLocalPort());
        }
        try (Lockserver server = Lockserver.start("--tls-port", port, "--tls-auth-clients", "no", "--tls-ca-cert-file",
                folder.resolve("ca.crt").toString(), "--tls-cert-file", folder.resolve("server.crt").toString(), "--tls-key-file",
                folder.resolve("server.key").toString())) {
            String uri = "rediss://localhost:" + server.port();
            ClientOptions trusting = ClientOptions.builder().sslOptions(SslOptions.builder().trustManager(folder.resolve("ca.crt").toFile())
                    .build()).build();
            try (LockClient locks = LockClient.builder(uri).clientOptions(trusting).connectTimeout(Clients.PATIENCE).build(); HeldLock lock = locks.lock("k")) {
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
