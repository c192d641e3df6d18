package lockserver.clients.secure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.ConcurrentLinkedQueue;

import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import lockserver.clients.Await;
import lockserver.clients.Crowd;
import lockserver.clients.Server;

/** Each library over TLS, to a server that asks clients for a certificate and to one that does not. */
class TlsTest {
    @RegisterExtension
    static final Server OPEN = Server.secure("no");

    @RegisterExtension
    static final Server ASKING = Server.secure("yes");

    @ParameterizedTest
    @EnumSource(Library.class)
    void withoutACertificate(Library library) {
        story(library, OPEN, Access.tls("ca", null));
    }

    @ParameterizedTest
    @EnumSource(Library.class)
    void withACertificate(Library library) {
        story(library, ASKING, Access.tls("ca", "client"));
    }

    private static void story(Library library, Server server, Access access) {
        ConcurrentLinkedQueue<String> heard = new ConcurrentLinkedQueue<>();
        try (Client client = library.connect(server, access); Client other = library.connect(server, access)) {
            assertTrue(client.lock("door"));
            assertFalse(Crowd.elsewhere(() -> other.lock("door")));
            client.unlock("door");
            assertTrue(Crowd.elsewhere(() -> other.lock("door")));
            String big = "x".repeat(1_000_000);
            client.set("big", big);
            assertEquals(big, client.get("big"));
            assertEquals("7", client.throughStream("orders", "7"));
            other.listen("news", heard::add);
            Await.until("the message is heard", () -> client.publish("news", "hello") == 1 && heard.contains("hello"));

            server.kill();
            server.start();
            Await.until("it is connected again", () -> again(client));
            assertEquals("v", client.get("k"));
            Await.until("it listens again", () -> client.publish("news", "again") == 1 && heard.contains("again"));
        }
    }

    private static boolean again(Client client) {
        try {
            client.set("k", "v");
            return true;
        } catch (RuntimeException e) {
            return false; // the connection that broke
        }
    }

    @ParameterizedTest
    @EnumSource(Library.class)
    void whoIsRefused(Library library) {
        assertThrows(Exception.class, () -> library.connect(OPEN, Access.tls("other", null)), "the client refuses the server");
        assertThrows(Exception.class, () -> library.connect(ASKING, Access.tls("ca", null)));
        assertThrows(Exception.class, () -> library.connect(ASKING, Access.tls("ca", "stranger")));
        library.connect(ASKING, Access.tls("ca", "client")).close();
    }
}
