package io.lockserver.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

import org.junit.jupiter.api.Test;

import io.lockserver.client.HeldLock;
import io.lockserver.client.LockClient;
import io.lockserver.client.LockOptions;
import io.lockserver.client.ServerException;
import io.lockserver.test.LockserverTest;
import io.lockserver.test.TestServer;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.TraceFlags;
import io.opentelemetry.api.trace.TraceState;
import io.opentelemetry.context.Scope;

/** The trace of a call: the option, and OpenTelemetry's current span. */
@LockserverTest
class TraceTest {
    private static final String TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    private static final String UNSAMPLED = TRACE.replaceAll("01$", "00");
    private static final String CURRENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-";
    private static final LockOptions TRACED = LockOptions.defaults().withTrace(TRACE);

    /** The events of a key, with their traces. */
    private static List<String> traces(TestServer server, String key) {
        List<String> found = new ArrayList<>();
        for (Object event : (List<?>) field(server.call("LOCK.HISTORY", "KEY", key), "events")) {
            found.add(field(event, "event") + " " + field(event, "trace"));
        }
        return found;
    }

    private static Object field(Object map, String name) {
        List<?> fields = (List<?>) map;
        return fields.get(fields.indexOf(name) + 1);
    }

    private static List<String> pair(String trace) {
        return List.of("granted " + trace, "released " + trace);
    }

    private static Scope span(TraceFlags flags, String spanId) {
        return Span.wrap(SpanContext.create("0af7651916cd43dd8448eb211c80319c", spanId, flags, TraceState.getDefault())).makeCurrent();
    }

    private static Scope span(TraceFlags flags) {
        return span(flags, "b7ad6b7169203331");
    }

    @Test
    void anOptionNamesIt(LockClient locks, TestServer server) throws Exception {
        HeldLock held = locks.lock("k", TRACED);
        Call<HeldLock> waits = Call.of(() -> locks.lock("k", LockOptions.defaults().withTrace(UNSAMPLED).withWait(Duration.ofMinutes(1))));
        Await.until("it waits", () -> LockTest.waiters(server, "k") == 1);
        held.unlock();
        waits.get().unlock();
        Await.until("all is known", () -> traces(server, "k").size() == 6);
        List<String> found = traces(server, "k");
        assertEquals(List.of("granted " + TRACE, "queued " + UNSAMPLED, "released " + TRACE, "granted " + UNSAMPLED), found.subList(0, 4));
        assertTrue(found.contains("confirmed " + UNSAMPLED) && found.contains("released " + UNSAMPLED), found.toString());
        locks.acquireAll(List.of("a", "b"), TRACED).unlock();
        assertEquals(pair(TRACE), traces(server, "b"));
        locks.semaphore("s", 2).acquire(1, TRACED).unlock();
        assertEquals(pair(TRACE), traces(server, "s"));
    }

    @Test
    void otherwiseItIsThatOfTheCurrentSpan(LockClient locks, TestServer server) throws Exception {
        try (Scope scope = span(TraceFlags.getSampled())) {
            locks.lock("k").unlock();
            locks.asLock("thread").lock();
            locks.asLock("thread").unlock();
            locks.lock("none", LockOptions.defaults().withTrace("")).unlock();
            locks.lock("other", TRACED).unlock();
        }
        try (Scope scope = span(TraceFlags.getDefault())) {
            locks.lock("unsampled").unlock();
        }
        try (Scope scope = span(TraceFlags.getSampled(), "0000000000000000")) {
            locks.lock("invalid").unlock();
        }
        locks.lock("outside").unlock();
        assertEquals(pair(CURRENT + "01"), traces(server, "k"));
        assertEquals(pair(CURRENT + "01"), traces(server, "thread"));
        assertEquals(pair(CURRENT + "00"), traces(server, "unsampled"));
        assertEquals(pair(TRACE), traces(server, "other"));
        for (String key : List.of("none", "invalid", "outside")) {
            assertEquals(pair(null), traces(server, key));
        }
    }

    @Test
    void oneThatIsNoneIsRefused(LockClient locks, TestServer server) {
        ServerException refused = assertThrows(ServerException.class, () -> locks.lock("k", LockOptions.defaults().withTrace("x")));
        assertTrue(refused.getMessage().contains("traceparent"), refused.getMessage());
        assertEquals(0L, server.call("EXISTS", "k"));
    }

    /** A program without opentelemetry-api has no current span. */
    @Test
    void withoutOpenTelemetry() throws Exception {
        URL client = LockClient.class.getProtectionDomain().getCodeSource().getLocation();
        try (URLClassLoader alone = new URLClassLoader(new URL[] {client}, ClassLoader.getPlatformClassLoader())) {
            assertThrows(ClassNotFoundException.class, () -> alone.loadClass(Span.class.getName()));
            assertEquals("", currentBy(alone));
        }
    }

    private static Object currentBy(ClassLoader loader) throws ReflectiveOperationException, IOException {
        Method current = loader.loadClass("io.lockserver.client.Traces").getDeclaredMethod("current");
        current.setAccessible(true);
        try {
            return current.invoke(null);
        } catch (InvocationTargetException e) {
            throw new AssertionError(e.getCause());
        }
    }
}
