package io.lockserver.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.locks.Lock;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.redisson.config.BaseMasterSlaveServersConfig;
import org.redisson.spring.starter.RedissonAutoConfigurationCustomizer;
import org.springframework.beans.BeansException;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.context.annotation.ImportCandidates;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.NestedExceptionUtils;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.integration.support.locks.LockRegistry;

import io.lockserver.client.HeldLock;
import io.lockserver.client.LockClient;
import io.lockserver.client.LockLostException;
import io.lockserver.client.LockOptions;
import io.lockserver.client.NoConnectionException;
import io.lockserver.client.ServerException;
import io.lockserver.spring.CurrentLock;
import io.lockserver.spring.Locked;
import io.lockserver.test.Lockserver;

/**
 * Applications with the starter, on servers in each form, with TLS and users and without, which lose their leader. Of each the
 * servers are named by Spring Data's properties or by ours, and the other library is plain Spring Data Redis or Redisson's
 * starter. Where ours name them, the application's Redis is another server.
 */
class ServersTest {
    private static final int ATTEMPTS = 5;

    /** The application. */
    @Configuration
    @EnableAutoConfiguration
    static class App {
        @Bean
        Shop shop() {
            return new Shop();
        }

        /** Redisson opens 24 connections to each server otherwise. */
        @Bean
        RedissonAutoConfigurationCustomizer few() {
            return config -> {
                if (config.isSentinelConfig()) {
                    few(config.useSentinelServers());
                } else if (config.isClusterConfig()) {
                    few(config.useClusterServers());
                } else {
                    config.useSingleServer().setConnectionMinimumIdleSize(1);
                }
            };
        }

        private static void few(BaseMasterSlaveServersConfig<?> servers) {
            servers.setMasterConnectionMinimumIdleSize(1).setSlaveConnectionMinimumIdleSize(1);
        }
    }

    /** What it does. */
    static class Shop {
        @Locked(key = "'shop:order:' + #id", waitFor = "60s")
        long pay(long id) {
            return CurrentLock.get().token();
        }
    }

    @ParameterizedTest(name = "{0}")
    @EnumSource(Servers.Form.class)
    void withoutALeader(Servers.Form form) throws Exception {
        play(form, null);
    }

    @ParameterizedTest(name = "{0}")
    @EnumSource(Servers.Form.class)
    void withoutALeaderWithTlsAndUsers(Servers.Form form, @TempDir Path certificates) throws Exception {
        Certificates.make(certificates);
        play(form, certificates);
    }

    private static void play(Servers.Form form, Path certificates) throws Exception {
        try (Servers servers = Servers.start(form, certificates); Lockserver other = Lockserver.start(); Running all = new Running()) {
            Map<String, Object> ours = new TreeMap<>(servers.ofLockserver());
            ours.putAll(Map.of("spring.data.redis.host", other.host(), "spring.data.redis.port", other.port()));
            for (boolean redisson : List.of(false, true)) {
                all.add(servers.ofSpringData(), redisson, certificates == null ? "default" : "ann");
                all.add(ours, redisson, certificates == null ? "default" : "ann");
            }
            for (Running.One one : all.apps) {
                one.use();
            }
            servers.strand();
            List<Call<Void>> calls = new ArrayList<>();
            for (Running.One one : all.apps) {
                Await.until("the client knows that there is no server", () -> !one.locks.isAttached());
                assertEquals("DOWN", one.health());
                calls.add(Call.of(one::payThroughout));
                calls.add(Call.of(one::lockThroughout));
            }
            servers.mend();
            for (Call<Void> call : calls) {
                call.get();
            }
            for (Running.One one : all.apps) {
                Await.until("the health says that there is a server", () -> one.health().equals("UP"));
                one.stillHolds();
            }
        }
    }

    /** The certificates that Java trusts, without a bundle: ssl.enabled, or a URI that begins with rediss. */
    @ParameterizedTest
    @CsvSource({"spring.data.redis., ssl.enabled=true", "lockserver., uris=rediss://ann:ann@127.0.0.1:"})
    void javasOwnCertificates(String prefix, String property, @TempDir Path folder) throws Exception {
        Certificates.make(folder);
        try (Lockserver server = Servers.secure(folder, "no"); Trust trust = new Trust(folder)) {
            Map<String, Object> properties = new TreeMap<>(Map.of("spring.data.redis.host", "127.0.0.1", "spring.data.redis.port",
                    server.port(), "spring.data.redis.username", "ann", "spring.data.redis.password", "ann"));
            String value = property.endsWith(":") ? property + server.port() : property;
            properties.put(prefix + value.split("=")[0], value.split("=")[1]);
            try (ConfigurableApplicationContext context = patiently(properties, false)) {
                assertTrue(context.getBean(Shop.class).pay(1) > 0);
            }
        }
    }

    /** A wrong password is refused, of the servers or of the Sentinels. */
    @Test
    void wrongPasswords(@TempDir Path certificates) throws Exception {
        Certificates.make(certificates);
        try (Servers servers = Servers.start(Servers.Form.UNDER_SENTINEL, certificates)) {
            for (String property : List.of("spring.data.redis.password", "spring.data.redis.sentinel.password")) {
                refused(servers.ofSpringData(), property);
            }
            for (String property : List.of("lockserver.password", "lockserver.sentinel-password")) {
                refused(servers.ofLockserver(), property);
            }
        }
    }

    private static void refused(Map<String, Object> properties, String property) {
        Map<String, Object> wrong = new TreeMap<>(properties);
        assertTrue(wrong.put(property, "wrong") != null, property);
        wrong.put("lockserver.connect-timeout", "1s");
        assertThrows(Exception.class, () -> run(wrong, false).close(), property);
    }

    /** The configurations of Redisson's starter, to be left out. */
    static String redisson() {
        return StreamSupport.stream(ImportCandidates.load(AutoConfiguration.class, null).spliterator(), false)
                .filter(name -> name.startsWith("org.redisson.")).collect(Collectors.joining(","));
    }

    private static ConfigurableApplicationContext run(Map<String, Object> properties, boolean redisson) {
        SpringApplication application = new SpringApplication(App.class);
        application.setLogStartupInfo(false);
        Map<String, Object> all = new TreeMap<>(Map.of("logging.level.root", "error", "lockserver.timeout", "60s",
                "lockserver.connect-timeout", "60s", "lockserver.registry-key", "shop", "spring.data.redis.timeout", "60s",
                "spring.data.redis.connect-timeout", "60s"));
        if (!redisson) {
            all.put("spring.autoconfigure.exclude", redisson());
        }
        all.putAll(properties);
        application.setDefaultProperties(all);
        return application.run();
    }

    /** A server cuts a handshake that takes longer than 10 seconds, which it may on a busy machine: then it starts again. */
    private static ConfigurableApplicationContext patiently(Map<String, Object> properties, boolean redisson) {
        for (int attempt = 1;; attempt++) {
            try {
                return run(properties, redisson);
            } catch (BeansException e) {
                if (attempt == ATTEMPTS || !(NestedExceptionUtils.getRootCause(e) instanceof IOException)) {
                    throw e;
                }
            }
        }
    }

    /** Applications that run. */
    private static final class Running implements AutoCloseable {
        final List<One> apps = new ArrayList<>();

        void add(Map<String, Object> properties, boolean redisson, String user) {
            apps.add(new One(patiently(properties, redisson), redisson, user));
        }

        @Override
        public void close() {
            apps.forEach(one -> one.context.close());
        }

        /** One of them. */
        private static final class One {
            private final ConfigurableApplicationContext context;
            private final boolean redisson;
            private final String user;
            private final LockClient locks;
            private HeldLock kept;

            One(ConfigurableApplicationContext context, boolean redisson, String user) {
                this.context = context;
                this.redisson = redisson;
                this.user = user;
                locks = context.getBean(LockClient.class);
            }

            void use() throws Exception {
                assertEquals(redisson ? "RedissonConnectionFactory" : "LettuceConnectionFactory",
                        context.getBean(RedisConnectionFactory.class).getClass().getSimpleName());
                assertEquals(user, locks.command("ACL", "WHOAMI"));
                if (!user.equals("default")) {
                    assertEquals("NOPERM", assertThrows(ServerException.class, () -> locks.lock("other")).code());
                }
                Lock lock = context.getBean(LockRegistry.class).obtain("lock:" + context.getId());
                lock.lock();
                assertEquals(1L, locks.command("EXISTS", "shop:lock:" + context.getId()));
                lock.unlock();
                assertTrue(context.getBean(Shop.class).pay(1) > 0);
                StringRedisTemplate theirs = context.getBean(StringRedisTemplate.class);
                theirs.opsForValue().set("shop:x", "1");
                assertEquals("1", theirs.opsForValue().get("shop:x"));
                assertEquals("UP", health());
                kept = locks.lock("shop:kept:" + context.hashCode(), LockOptions.defaults().withLease(Duration.ofHours(1)));
            }

            Void payThroughout() {
                while (true) {
                    try {
                        context.getBean(Shop.class).pay(1);
                        return null;
                    } catch (NoConnectionException | LockLostException e) {
                        // again, as there is no server
                    }
                }
            }

            Void lockThroughout() {
                while (true) {
                    Lock lock = context.getBean(LockRegistry.class).obtain("throughout");
                    try {
                        lock.lock();
                        lock.unlock();
                        return null;
                    } catch (RuntimeException e) {
                        // again
                    }
                }
            }

            void stillHolds() {
                kept.ensureHeld();
                kept.unlock();
            }

            /** What the actuator's endpoint says, whose classes are other ones in Boot 4. */
            String health() throws Exception {
                Object endpoint = context.getBean("healthEndpoint");
                Object found = endpoint.getClass().getMethod("healthForPath", String[].class)
                        .invoke(endpoint, (Object) new String[] {"lockserver"});
                return found.getClass().getMethod("getStatus").invoke(found).toString();
            }
        }
    }

    /** Has Java trust an authority for a time. */
    private static final class Trust implements AutoCloseable {
        private static final Map<String, String> NAMES = Map.of("javax.net.ssl.trustStore", "trusted.p12",
                "javax.net.ssl.trustStorePassword", "secret");

        Trust(Path folder) throws Exception {
            KeyStore store = KeyStore.getInstance("PKCS12");
            store.load(null, null);
            try (InputStream authority = Files.newInputStream(folder.resolve("ca.crt"))) {
                store.setCertificateEntry("ca", CertificateFactory.getInstance("X.509").generateCertificate(authority));
            }
            try (var out = Files.newOutputStream(folder.resolve("trusted.p12"))) {
                store.store(out, "secret".toCharArray());
            }
            System.setProperty("javax.net.ssl.trustStore", folder.resolve("trusted.p12").toString());
            System.setProperty("javax.net.ssl.trustStorePassword", "secret");
        }

        @Override
        public void close() {
            NAMES.keySet().forEach(System::clearProperty);
        }
    }
}
