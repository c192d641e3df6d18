package io.lockserver.tests;

import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.time.Duration;

import io.lettuce.core.ClientOptions;
import io.lettuce.core.SslOptions;
import io.lockserver.client.LockClient;
import io.lockserver.client.NoConnectionException;
import io.lockserver.test.Lockserver;

/** A server with TLS, and certificates made for it in a folder. */
final class Secure implements AutoCloseable {
    private static final int ATTEMPTS = 10;

    final Lockserver server;
    private final Path folder;

    Secure(Path folder) throws IOException, InterruptedException {
        this.folder = folder;
        Certificates.make(folder);
        String port;
        try (ServerSocket free = new ServerSocket(0)) {
            port = Integer.toString(free.getLocalPort());
        }
        server = Lockserver.start("--tls-port", port, "--tls-auth-clients", "no", "--tls-ca-cert-file",
                folder.resolve("ca.crt").toString(), "--tls-cert-file", folder.resolve("server.crt").toString(), "--tls-key-file",
                folder.resolve("server.key").toString());
    }

    /**
     * A client that knows the server's authority, by a port of this machine. The server cuts a handshake that takes longer than 10
     * seconds, which the first one of a process may do on a busy machine. So it is tried several times.
     */
    LockClient client(int port) {
        return client(port, Clients.PATIENCE);
    }

    /** The same, with calls that give up after so long. */
    LockClient client(int port, Duration timeout) {
        ClientOptions trusting = ClientOptions.builder().sslOptions(SslOptions.builder().trustManager(folder.resolve("ca.crt").toFile())
                .build()).build();
        for (int attempt = 1;; attempt++) {
            try {
                return LockClient.builder("rediss://localhost:" + port).clientOptions(trusting).timeout(timeout)
                        .connectTimeout(Clients.PATIENCE).build();
            } catch (NoConnectionException e) {
                if (attempt == ATTEMPTS) {
                    throw e;
                }
            }
        }
    }

    @Override
    public void close() {
        server.close();
    }
}
