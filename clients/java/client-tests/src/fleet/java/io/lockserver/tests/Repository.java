package io.lockserver.tests;

import java.nio.file.Files;
import java.nio.file.Path;

/** Where the repository is, for tests that use its programs. */
final class Repository {
    private Repository() {
    }

    static Path file(String name) {
        Path root = Path.of("").toAbsolutePath();
        while (!Files.exists(root.resolve("go.mod"))) {
            root = root.getParent();
        }
        return root.resolve(name);
    }
}
