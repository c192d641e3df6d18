package io.lockserver.tests;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

import org.junit.jupiter.api.Test;

import io.lockserver.client.DelayedEntries;
import io.lockserver.client.HeldLock;
import io.lockserver.client.Latch;
import io.lockserver.client.Limiter;
import io.lockserver.client.LockClient;
import io.lockserver.client.LockOptions;
import io.lockserver.client.LockSemaphore;
import io.lockserver.client.Sale;

/** The column for Java in the table of calls of docs/CLIENTS.md. */
class TableTest {
    private static final String COLUMN = "Java";
    /** A class of another module, with whatever calls. */
    private static final String REACTIVE = "ReactiveLocks.";
    /** Another one, and calls of applications that make nothing happen. */
    private static final Set<String> ELSEWHERE = Set.of("TransactionFence.raise", "Entry.once");
    /** The classes of which the table has the calls that ask the server for something. */
    private static final List<Class<?>> ASKING = List.of(LockSemaphore.class, Sale.class, DelayedEntries.class, Latch.class, Limiter.class);

    /** The cells of the column. */
    private static List<String> cells() throws Exception {
        List<String> lines = Files.readAllLines(Repository.file("docs/CLIENTS.md"));
        int head = 0;
        while (!lines.get(head).startsWith("| to | Go |")) {
            head++;
        }
        int column = Arrays.asList(lines.get(head).split(" *\\| *")).indexOf(COLUMN);
        return lines.subList(head + 2, lines.size()).stream().takeWhile(line -> line.startsWith("|")).map(line -> line.split(" *\\| *", -1)[column]).toList();
    }

    private static Set<String> calls() throws Exception {
        Set<String> calls = new TreeSet<>();
        for (String cell : cells()) {
            for (Matcher call = Pattern.compile("`(\\w+\\.\\w+)`").matcher(cell); call.find();) {
                calls.add(call.group(1));
            }
        }
        return calls;
    }

    private static Set<String> methods(Class<?> of) {
        return Arrays.stream(of.getDeclaredMethods()).filter(each -> Modifier.isPublic(each.getModifiers()) && !each.isSynthetic()).map(Method::getName)
                .collect(Collectors.toCollection(TreeSet::new));
    }

    @Test
    void eachCallOfTheTableIsThere() throws Exception {
        Set<String> calls = calls();
        assertTrue(calls.contains("LockClient.lock"), calls::toString);
        for (String call : calls) {
            if (!ELSEWHERE.contains(call) && !call.startsWith(REACTIVE)) {
                String[] parts = call.split("\\.");
                assertTrue(methods(Class.forName("io.lockserver.client." + parts[0])).contains(parts[1]), call + " is in the table, and in no class");
            }
        }
    }

    /** What asks the server is in the table. The forms that return a future have the names of the others. */
    @Test
    void theTableHasEachCall() throws Exception {
        Set<String> calls = calls();
        for (Class<?> of : ASKING) {
            for (String method : methods(of)) {
                String call = of.getSimpleName() + "." + method.replaceFirst("Async$", "");
                boolean form = method.startsWith("try") || method.equals("addAtAsync") || call.equals("Latch.count");
                assertTrue(form || calls.contains(call), call + " is not in the table");
            }
        }
        for (Class<?> of : List.of(LockClient.class, HeldLock.class, LockOptions.class)) {
            assertTrue(calls.stream().anyMatch(call -> call.startsWith(of.getSimpleName() + ".")), of.getSimpleName());
        }
    }
}
