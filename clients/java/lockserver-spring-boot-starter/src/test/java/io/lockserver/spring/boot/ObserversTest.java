package io.lockserver.spring.boot;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import org.junit.jupiter.api.Test;

import io.lockserver.client.LockObserver;

/** Several observers, of which some throw. */
class ObserversTest {
    private static Object valueFor(Class<?> type) {
        return type == String.class ? "k" : type == Duration.class ? Duration.ZERO : null;
    }

    private static LockObserver observer(List<String> told, Throwable thrown) {
        return (LockObserver) Proxy.newProxyInstance(ObserversTest.class.getClassLoader(), new Class<?>[] {LockObserver.class}, (proxy, method, arguments) -> {
            told.add(method.getName());
            if (thrown != null) {
                throw thrown;
            }
            return null;
        });
    }

    /** Each method of the interface, so also one that is added to it. */
    @Test
    void oneThatThrowsKeepsNothingFromTheOthers() throws Exception {
        List<String> told = new ArrayList<>();
        LockObserver all = new Observers(List.of(observer(told, new IllegalStateException("of an observer")), observer(told, new AssertionError("an Error")),
                observer(told, null)));
        PrintStream before = System.err;
        ByteArrayOutputStream log = new ByteArrayOutputStream();
        System.setErr(new PrintStream(log, true, StandardCharsets.UTF_8)); // slf4j-simple looks for it with each line
        List<String> expected = new ArrayList<>();
        try {
            for (Method method : LockObserver.class.getMethods()) {
                method.invoke(all, Arrays.stream(method.getParameterTypes()).map(ObserversTest::valueFor).toArray());
                for (int i = 0; i < 3; i++) {
                    expected.add(method.getName());
                }
            }
        } finally {
            System.setErr(before);
        }
        assertEquals(expected, told);
        String text = log.toString(StandardCharsets.UTF_8);
        int methods = expected.size() / 3;
        assertEquals(2 * methods, text.split("has thrown when it was told", -1).length - 1, text);
        assertTrue(text.contains("of an observer") && text.contains("an Error"), text);
    }
}
