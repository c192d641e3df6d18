package io.lockserver.tests;

import java.io.IOException;
import java.nio.file.Path;

/** Certificates for tests with TLS. */
final class Certificates {
    private Certificates() {
    }

    /** Makes them in a folder: tests/clients/certificates.sh says which. */
    static void make(Path folder) throws IOException, InterruptedException {
        Path script = Repository.file("tests/clients/certificates.sh");
        if (new ProcessBuilder("bash", script.toString(), folder.toString()).inheritIO().start().waitFor() != 0) {
            throw new IllegalStateException("the certificates could not be made");
        }
    }
}
