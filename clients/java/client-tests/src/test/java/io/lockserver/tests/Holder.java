package io.lockserver.tests;

import java.io.BufferedReader;
import java.io.InputStreamReader;

import io.lockserver.client.HeldLock;
import io.lockserver.client.LockClient;
import io.lockserver.client.LockException;

/** A program of PauseTest: it holds a lock, and says for each line that it reads whether it does. */
final class Holder {
    private Holder() {
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        try (LockClient locks = Clients.create(arguments[0])) {
            HeldLock lock = locks.lock("k");
            System.out.println("held " + lock.token());
            while (lines.readLine() != null) {
                try {
                    lock.ensureHeld();
                    System.out.println("held " + lock.token());
                } catch (LockException e) {
                    System.out.println(e.getClass().getSimpleName());
                }
            }
        }
    }
}
