package lockserver.clients.sentinel;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;

import lockserver.clients.Await;
import lockserver.clients.Crowd;

/** What one library's workers do, and what was acknowledged to them. */
final class Trial {
    static final int WORKERS = 3;
    /** A lease that is renewed: longer than it takes the slowest library to find the next master, shorter than the trial. */
    static final int LEASE_MS = 20_000;

    private static final int PAUSE_MS = 20;

    private final Library library;
    private final AtomicReference<Integer> inside = new AtomicReference<>();
    private final AtomicLong highest = new AtomicLong();
    private final AtomicIntegerArray written = new AtomicIntegerArray(WORKERS);
    private volatile boolean over;

    Trial(Library library) {
        this.library = library;
    }

    /** Starts the threads, each of which goes on until {@link #end}, or one has failed. */
    void start(Crowd crowd) {
        for (int i = 0; i < WORKERS; i++) {
            int number = i;
            crowd.run(() -> untilOver(() -> work(number)));
        }
        crowd.run(() -> untilOver(() -> {
            assertFalse(library.steal(), () -> library.name + ": a lock is held by two");
            Thread.sleep(PAUSE_MS);
        }));
        crowd.run(() -> untilOver(() -> {
            library.live();
            Thread.sleep(PAUSE_MS);
        }));
    }

    void end() {
        over = true;
    }

    private void untilOver(Crowd.Work step) throws Exception {
        try {
            while (!over) {
                step.run();
            }
        } finally {
            over = true; // a failure ends it for all
        }
    }

    private static String word(int number, int count) {
        return number + ":" + count;
    }

    /** A write, and a critical section. */
    private void work(int number) throws Exception {
        String word = word(number, written.get(number));
        library.write(word);
        Long token = null;
        long before = 0;
        while (token == null) {
            if (over) {
                return;
            }
            before = highest.get();
            token = library.enter(number);
            if (token == null) {
                Thread.sleep(PAUSE_MS);
            }
        }
        assertNull(inside.getAndSet(number), library.name + ": somebody else is behind the door");
        assertTrue(token > before, library.name + ": " + token + " after " + before);
        highest.accumulateAndGet(token, Math::max);
        library.write(word + " inside", token);
        inside.set(null);
        library.leave(number, token);
        written.incrementAndGet(number);
    }

    /** Waits until every worker has written more, and returns how many milliseconds that took. */
    long goesOn() {
        long begun = System.nanoTime();
        int[] before = new int[WORKERS];
        for (int i = 0; i < WORKERS; i++) {
            before[i] = written.get(i);
        }
        Await.until(library.name + " goes on", () -> {
            boolean all = true;
            for (int i = 0; i < WORKERS; i++) {
                all &= written.get(i) > before[i] + 2;
            }
            return all || over;
        });
        return (System.nanoTime() - begun) / 1_000_000;
    }

    /** Fails if something was lost; nobody works any more. */
    void check() {
        library.held();
        List<String> words = new ArrayList<>();
        for (int number = 0; number < WORKERS; number++) {
            for (int i = 0; i < written.get(number); i++) {
                words.add(word(number, i));
                words.add(word(number, i) + " inside");
            }
        }
        library.written(words);
    }
}
