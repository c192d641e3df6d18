package io.lockserver.test;

import java.time.Duration;

import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ExtensionContext.Store;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

import io.lockserver.client.LockClient;

/** What {@link LockserverTest} does; it may also be registered by hand. */
public final class LockserverExtension implements ParameterResolver, AfterEachCallback {
    private static final Namespace NAMESPACE = Namespace.create(LockserverExtension.class);

    /** Machines on which tests run are busy. */
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    /** The server of a test, with what belongs to it. */
    private static final class Fixture implements TestServer {
        final Lockserver parent;
        final String host;
        final int port;
        final TestClock clock = new TestClock(this);
        final TestFaults faults = new TestFaults(this);
        private LockClient client;

        Fixture(Lockserver parent) {
            this.parent = parent;
            if (parent.shards().size() > 1) { // a cluster is one process, which is made as new for each test
                parent.call("TEST.RESET");
                host = parent.host();
                port = parent.port();
                return;
            }
            String address = String.valueOf(parent.call("TEST.SERVER", "NEW"));
            int colon = address.lastIndexOf(':');
            host = address.substring(0, colon);
            port = Integer.parseInt(address.substring(colon + 1));
        }

        @Override
        public String host() {
            return host;
        }

        @Override
        public int port() {
            return port;
        }

        @Override
        public Object call(String... words) {
            return parent.shards().size() > 1 ? parent.call(words) : Wire.call(host, port, words);
        }

        LockClient client() {
            if (client == null) {
                client = LockClient.builder(uri()).cluster(parent.shards().size() > 1).timeout(PATIENCE).connectTimeout(PATIENCE).build();
            }
            return client;
        }

        void end() {
            try {
                faults.verify();
            } finally {
                call("TEST.CLOCK", "RESUME");
                if (client != null) {
                    client.close();
                }
                if (parent.shards().size() == 1) {
                    parent.call("TEST.SERVER", "END", host + ":" + port);
                }
            }
        }
    }

    /** The process that all tests share. */
    @SuppressWarnings("deprecation") // JUnit before 5.13 needs it
    private record Shared(Lockserver server) implements Store.CloseableResource, AutoCloseable {
        @Override
        public void close() {
            server.close();
        }
    }

    private static Fixture fixture(ExtensionContext context) {
        Shared shared = context.getRoot().getStore(NAMESPACE).getOrComputeIfAbsent(Shared.class,
                key -> new Shared(Lockserver.startInTestMode()), Shared.class);
        return context.getStore(NAMESPACE).getOrComputeIfAbsent(Fixture.class, key -> new Fixture(shared.server), Fixture.class);
    }

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        Class<?> type = parameter.getParameter().getType();
        return type == TestServer.class || type == TestClock.class || type == TestFaults.class || type == LockClient.class;
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        Fixture fixture = fixture(context);
        Class<?> type = parameter.getParameter().getType();
        if (type == TestServer.class) {
            return fixture;
        }
        if (type == TestClock.class) {
            return fixture.clock;
        }
        return type == TestFaults.class ? fixture.faults : fixture.client();
    }

    @Override
    public void afterEach(ExtensionContext context) {
        Fixture fixture = context.getStore(NAMESPACE).remove(Fixture.class, Fixture.class);
        if (fixture != null) {
            fixture.end();
        }
    }
}
