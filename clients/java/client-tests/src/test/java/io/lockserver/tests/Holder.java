package io.lockserver.tests;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.Arrays;

import io.lockserver.client.HeldLock;
import io.lockserver.client.LockClient;
import io.lockserver.client.LockException;
import io.lockserver.client.LockOptions;

/**
 * A program of PauseTest: LEASE URI.... It holds a lock, with a fixed lease of so many milliseconds, or 0. For a line with "?" it
 * says whether it holds the lock; for any other it writes it to the key "{k}written" under the lock's guard.
 */
final class Holder {
    private Holder() {
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        long lease = Long.parseLong(arguments[0]);
        LockOptions options = lease == 0 ? LockOptions.defaults() : LockOptions.defaults().withLease(Duration.ofMillis(lease));
        try (LockClient locks = Clients.create(Arrays.copyOfRange(arguments, 1, arguments.length))) {
            HeldLock lock = locks.lock("k", options);
            lock.ensureHeld();
            System.out.println("held " + lock.token());
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                try {
                    if (line.equals("?")) {
                        lock.ensureHeld();
                    } else {
                        lock.guard("SET", "{k}written", line);
                    }
                    System.out.println("held " + lock.token());
                } catch (LockException e) {
                    System.out.println(e.getClass().getSimpleName());
                }
            }
        }
    }
}
