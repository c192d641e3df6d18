package lockserver.migration;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;

import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.RedisException;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;

/**
 * Two Redisson clients, which for their locks are two processes, at an address with a password. A line on standard input
 * is what to do next, and one on standard output says what came of it: {@code ok}, or what is wrong. The end of the
 * input ends the program.
 */
public final class Move {
    /**
     * The lease of a lock without one, which the watchdog renews every third of it, in milliseconds: short enough to be
     * seen, and long enough for a machine that stands still for half a minute.
     */
    static final long WATCHDOG_MS = 45_000;

    /** How long a test waits for something that happens by itself, in milliseconds: longer than any lease. */
    static final long PATIENCE_MS = 180_000;

    /**
     * How long a waiter of a fair lock keeps its place behind the end of the lease for which it waits. Its place is what
     * Held checks, so that it lasts longer than any test, as by Redisson's default.
     */
    private static final long QUEUED_MS = 300_000;

    /** The same for Load, in which a thread whose attempt failed half-way stands in the queue for so long. */
    private static final long FAILED_MS = 5_000;

    private Move() {
    }

    /** @param args the address, as in redis://127.0.0.1:6379, and the password */
    public static void main(String[] args) throws IOException {
        Held held = new Held(connect(args[0], args[1], QUEUED_MS), connect(args[0], args[1], QUEUED_MS));
        Load load = new Load(connect(args[0], args[1], FAILED_MS), connect(args[0], args[1], FAILED_MS));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.out.println(done(line, held, load));
        }
        System.exit(0); // with whatever still waits
    }

    private static String done(String what, Held held, Load load) {
        try {
            switch (what) {
                case "hold" -> held.hold();
                case "check" -> held.check();
                case "release" -> held.release();
                case "load" -> load.start();
                case "stop" -> {
                    return "ok " + load.stop();
                }
                default -> throw new IllegalArgumentException(what);
            }
            return "ok";
        } catch (Exception | AssertionError e) {
            e.printStackTrace();
            return e.toString().replace('\n', ' ');
        }
    }

    private static RedissonClient connect(String address, String password, long fairLockWaitMS) {
        Config config = new Config();
        config.setLockWatchdogTimeout(WATCHDOG_MS);
        config.setFairLockWaitTimeout(fairLockWaitMS);
        config.setCodec(StringCodec.INSTANCE);
        config.setPassword(password);
        config.setThreads(4);
        config.setNettyThreads(4);
        config.useSingleServer().setAddress(address).setTimeout(10_000).setConnectionMinimumIdleSize(2).setConnectionPoolSize(16)
                .setSubscriptionConnectionMinimumIdleSize(1).setSubscriptionConnectionPoolSize(8);
        return Redisson.create(config);
    }

    /** Fails unless something is so. */
    static void require(boolean so, String what) {
        if (!so) {
            throw new AssertionError(what);
        }
    }

    /** Waits until something is so. A command may fail meanwhile, as the connections are being made anew. */
    static void await(String what, Condition so) throws Exception {
        for (long end = System.nanoTime() + PATIENCE_MS * 1_000_000; !holds(so); Thread.sleep(10)) {
            require(System.nanoTime() < end, "it did not come to that: " + what);
        }
    }

    private static boolean holds(Condition so) throws Exception {
        try {
            return so.holds();
        } catch (RedisException e) {
            System.err.println(e);
            return false;
        }
    }

    /** Lets go of a lock that this thread may have, however often. A command may fail meanwhile. */
    static void giveBack(RLock lock) {
        while (true) {
            try {
                while (lock.isHeldByCurrentThread()) {
                    lock.unlock();
                }
                return;
            } catch (RedisException | IllegalMonitorStateException e) {
                System.err.println(lock.getName() + ": " + e);
            }
        }
    }

    /** What is waited for. */
    interface Condition {
        boolean holds() throws Exception;
    }
}
