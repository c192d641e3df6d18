import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import io.lockserver.client.HeldLock;
import io.lockserver.client.LockClient;
import io.lockserver.client.LockLostException;
import io.lockserver.client.NoConnectionException;
import io.lockserver.client.NotAcquiredException;

/** A program of TestProgramsOfACutShard with the client for Java: Visitor.java section turn list calm kept,kept... uri... */
public final class Visitor {
    private final LockClient locks;
    private final Path section;
    private final String turn;
    private final String tokens;
    private final String calm;
    private volatile boolean over;

    private Visitor(LockClient locks, String... of) {
        this.locks = locks;
        section = Path.of(of[0]);
        turn = of[1];
        tokens = of[2];
        calm = of[3];
    }

    private static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    /** Something that may end with an error of a shard without a leader, or of a connection that breaks. */
    private interface Step {
        void go() throws Exception;
    }

    private static void passing(Step step) throws Exception {
        try {
            step.go();
        } catch (NoConnectionException | LockLostException | NotAcquiredException e) {
            // the next turn asks again
        }
    }

    /** Takes the lock of the shard that is cut off, and writes its token. */
    private void takeTurn() throws Exception {
        HeldLock lock = locks.lock(turn, Duration.ofSeconds(1));
        alone(() -> passing(() -> {
            lock.guard("RPUSH", tokens, String.valueOf(lock.token()));
            say("pushed " + lock.token());
        }));
        lock.unlock();
    }

    /** Says so if another holder of the lock does the same. */
    private void alone(Step work) throws Exception {
        try {
            Files.createFile(section);
        } catch (FileAlreadyExistsException e) {
            say("fault two holders");
            return;
        }
        try {
            work.go();
        } finally {
            Files.delete(section);
        }
    }

    /** Takes a lock of a shard that nothing happens to. */
    private void goCalmly() throws Exception {
        try (HeldLock lock = locks.lock(calm, Duration.ofHours(1))) {
            say("calm " + lock.guard("INCR", calm + ":n"));
        } catch (NoConnectionException | LockLostException | NotAcquiredException e) {
            say("shaken " + e);
        }
    }

    private Thread again(Step step) {
        Thread thread = new Thread(() -> {
            try {
                while (!over) {
                    step.go();
                }
            } catch (Exception e) {
                say("fault " + e);
            }
        });
        thread.start();
        return thread;
    }

    private void live(List<String> kept) throws Exception {
        List<HeldLock> held = new ArrayList<>();
        for (String key : kept) {
            held.add(locks.lock(key));
        }
        List<Thread> threads = List.of(again(() -> passing(this::takeTurn)), again(this::goCalmly));
        answer(held);
        over = true;
        for (Thread thread : threads) {
            thread.join();
        }
        for (HeldLock lock : held) {
            lock.guard("SET", lock.key() + ":n", "1");
            lock.unlock();
        }
    }

    /** A line asks whether the locks are held, the end ends all. */
    private static void answer(List<HeldLock> held) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        while (in.readLine() != null) {
            say(held.stream().allMatch(HeldLock::isHeld) ? "held" : "fault a lock is lost");
        }
    }

    public static void main(String... of) throws Exception {
        Duration patience = Duration.ofHours(1); // a call that hangs is noticed
        try (LockClient locks = LockClient.builder(Arrays.copyOfRange(of, 5, of.length)).timeout(patience).build()) {
            new Visitor(locks, of).live(List.of(of[4].split(",")));
        }
        say("end");
    }
}
