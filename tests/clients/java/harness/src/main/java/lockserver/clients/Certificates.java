package lockserver.clients;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;

import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** What certificates.sh makes for a server and its clients, in the forms that Java's libraries want. */
public final class Certificates {
    private static final char[] PASSWORD = "secret".toCharArray();

    private final Path folder;

    /** Makes new ones, with the script of the repository; they are removed when the process ends. */
    Certificates(Path repository) {
        try {
            folder = Files.createTempDirectory("lockserver-certificates");
            Runtime.getRuntime().addShutdownHook(new Thread(() -> Server.remove(folder)));
            Path script = repository.resolve("tests/clients/certificates.sh");
            Process process = new ProcessBuilder("bash", script.toString(), folder.toString()).inheritIO().start();
            if (process.waitFor() != 0) {
                throw new IllegalStateException(script + " failed");
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The path of one of the files. */
    String file(String name) {
        return folder.resolve(name).toString();
    }

    /** Trust in an authority: "ca", which is the server's, or "other". */
    public TrustManagerFactory trust(String authority) {
        try (InputStream pem = Files.newInputStream(folder.resolve(authority + ".crt"))) {
            KeyStore store = KeyStore.getInstance("PKCS12");
            store.load(null, null);
            store.setCertificateEntry(authority, CertificateFactory.getInstance("X.509").generateCertificate(pem));
            TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            factory.init(store);
            return factory;
        } catch (IOException | GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }

    /** A certificate to be shown: "client", or "stranger", whom the server does not know. */
    public KeyManagerFactory key(String certificate) {
        try (InputStream file = Files.newInputStream(folder.resolve(certificate + ".p12"))) {
            KeyStore store = KeyStore.getInstance("PKCS12");
            store.load(file, PASSWORD);
            KeyManagerFactory factory = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
            factory.init(store, PASSWORD);
            return factory;
        } catch (IOException | GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Both in one; certificate null: none is shown. */
    public SSLContext context(String authority, String certificate) {
        try {
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(certificate == null ? null : key(certificate).getKeyManagers(), trust(authority).getTrustManagers(), null);
            return context;
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }
}
