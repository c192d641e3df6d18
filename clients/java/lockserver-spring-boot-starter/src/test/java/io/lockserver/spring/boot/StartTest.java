package io.lockserver.spring.boot;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.Test;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

import io.lockserver.client.LockClient;
import io.lockserver.client.NoConnectionException;
import io.lockserver.client.NotLockserverException;
import io.lockserver.shedlock.LockserverLockProvider;
import io.lockserver.test.Lockserver;
import io.lockserver.test.LockserverTest;
import io.lockserver.test.TestFaults;
import io.lockserver.test.TestServer;
import net.javacrumbs.shedlock.core.LockProvider;

/** Applications that start without their server, or do not start and say why. */
@LockserverTest
class StartTest {
    /** The application. */
    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class App {
    }

    /** One with a provider of its own. */
    @Configuration(proxyBeanMethods = false)
    static class Providing {
        @Bean
        LockProvider mine() {
            return configuration -> java.util.Optional.empty();
        }
    }

    private static ConfigurableApplicationContext run(Map<String, Object> properties, Class<?>... more) {
        SpringApplication application = new SpringApplication(App.class);
        application.addPrimarySources(List.of(more));
        application.setLogStartupInfo(false);
        Map<String, Object> all = new HashMap<>(Map.of("lockserver.timeout", "60s", "lockserver.connect-timeout", "60s")); // a busy machine
        all.putAll(properties);
        application.setDefaultProperties(all);
        return application.run();
    }

    /** What the log of an application says that does not start. */
    private static String report(Class<? extends Exception> cause, Map<String, Object> properties) {
        PrintStream before = System.err;
        ByteArrayOutputStream log = new ByteArrayOutputStream();
        System.setErr(new PrintStream(log, true, StandardCharsets.UTF_8));
        try {
            Throwable thrown = assertThrows(Exception.class, () -> run(properties).close());
            while (thrown != null && !cause.isInstance(thrown)) {
                thrown = thrown.getCause();
            }
            assertTrue(thrown != null, () -> log.toString(StandardCharsets.UTF_8));
        } finally {
            System.setErr(before);
        }
        return log.toString(StandardCharsets.UTF_8);
    }

    private static void assertSays(String report, String... parts) {
        assertTrue(report.contains("APPLICATION FAILED TO START"), report);
        for (String part : parts) {
            assertTrue(report.contains(part), () -> part + " is not in\n" + report);
        }
    }

    @Test
    void theReportSaysWhatIsWrong(TestServer server, TestFaults faults) {
        try (Lockserver gone = Lockserver.start()) {
            gone.kill();
            assertSays(report(NoConnectionException.class, Map.of("lockserver.uris", gone.uri())),
                    "127.0.0.1:" + gone.port() + " cannot be reached", "correct lockserver.uris", "lockserver.lazy=true");
            assertSays(report(NoConnectionException.class, Map.of("spring.data.redis.port", gone.port(), "spring.data.redis.host", "127.0.0.1")),
                    "127.0.0.1:" + gone.port() + " cannot be reached", "spring.data.redis.*");
        }
        assertSays(report(NoConnectionException.class, Map.of("lockserver.uris", "rediss://" + server.host() + ":" + server.port(),
                "lockserver.connect-timeout", "300ms")), "has not answered in time", "has TLS");
        try (Lockserver silent = Lockserver.start()) {
            silent.pause();
            assertSays(report(NoConnectionException.class, Map.of("lockserver.uris", silent.uri(), "lockserver.connect-timeout", "300ms")),
                    silent.port() + " accepts connections", "has not answered in time", "raise lockserver.connect-timeout");
            silent.resume();
        }
        try (Lockserver secure = Lockserver.start("--requirepass", "secret")) {
            String report = report(io.lockserver.client.ServerException.class, Map.of("lockserver.uris", secure.uri(), "lockserver.password", "mistyped"));
            assertSays(report, "refuses the user or the password: WRONGPASS", "lockserver.password");
            assertFalse(report.contains("mistyped"), report);
        }
        faults.add("ERROR", "ERR unknown command 'LOCK.ATTACH'", "MATCH", "LOCK.ATTACH");
        assertSays(report(NotLockserverException.class, Map.of("lockserver.uris", server.uri())),
                server.port() + " is no lockserver", "answers like Redis", "lockserver.uris");
        faults.clear();
        faults.add("ERROR", "NOPERM this user has no permissions", "MATCH", "LOCK.ATTACH");
        assertSays(report(io.lockserver.client.ServerException.class, Map.of("lockserver.uris", server.uri())), "the rights that the client needs");
    }

    /** A server that has no TLS, and says so. */
    @Test
    void theReportSaysThatTlsDoesNotWork() throws Exception {
        try (ServerSocket listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            Thread server = new Thread(() -> {
                try {
                    while (true) {
                        try (Socket client = listener.accept()) {
                            client.getOutputStream().write("-ERR no TLS here\r\n".getBytes(StandardCharsets.UTF_8));
                            client.getInputStream().transferTo(OutputStream.nullOutputStream());
                        } catch (SocketException e) {
                            if (listener.isClosed()) {
                                return;
                            }
                        }
                    }
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });
            server.setDaemon(true);
            server.start();
            assertSays(report(NoConnectionException.class, Map.of("lockserver.uris", "rediss://127.0.0.1:" + listener.getLocalPort())),
                    "cannot be used with TLS", "rediss://");
        }
    }

    @Test
    void lazily() throws Exception {
        try (Lockserver server = Lockserver.start()) {
            server.kill();
            try (ConfigurableApplicationContext context = run(Map.of("lockserver.uris", server.uri(), "lockserver.lazy", "true"))) {
                LockClient locks = context.getBean(LockClient.class);
                assertFalse(locks.isAttached());
                server.restart();
                locks.lock("k").unlock();
                long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
                while (!locks.isAttached()) {
                    assertTrue(System.nanoTime() < end);
                    Thread.sleep(2);
                }
            }
        }
    }

    @Test
    void shedLockHasAProvider(TestServer server) {
        try (ConfigurableApplicationContext context = run(Map.of("lockserver.uris", server.uri()))) {
            assertEquals(LockserverLockProvider.class, context.getBean(LockProvider.class).getClass());
        }
        try (ConfigurableApplicationContext context = run(Map.of("lockserver.uris", server.uri()), Providing.class)) {
            assertEquals(1, context.getBeansOfType(LockProvider.class).size());
            assertTrue(context.containsBean("mine"));
        }
    }
}
