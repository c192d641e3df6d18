package lockserver.clients.secure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import lockserver.clients.Server;

/** Each library as a user with a name, who may do less than the others. */
class UsersTest {
    @RegisterExtension
    static final Server SERVER = new Server();

    @ParameterizedTest
    @EnumSource(Library.class)
    void aUserWithFewRights(Library library) {
        SERVER.call("ACL", "SETUSER", "ann", "reset", "on", ">secret", "~ann:*", "~redisson*", "&redisson*", "+@all",
                "-@dangerous", "+info");
        assertThrows(Exception.class, () -> library.connect(SERVER, Access.user("ann", "wrong")));
        assertThrows(Exception.class, () -> library.connect(SERVER, Access.user("ben", "secret")));
        try (Client ann = library.connect(SERVER, Access.user("ann", "secret"))) {
            ann.set("ann:k", "v");
            assertEquals("v", ann.get("ann:k"));
            assertTrue(ann.lock("ann:door"));
            ann.unlock("ann:door");
            refused(() -> ann.get("k"));
            refused(() -> ann.lock("door"));
            refused(() -> ann.publish("news", "hello"));
            SERVER.call("ACL", "SETUSER", "ann", "-set");
            refused(() -> ann.set("ann:k", "w"));
            assertEquals("v", SERVER.call("GET", "ann:k"));
        }
    }

    private static void refused(Executable command) {
        String message = assertThrows(RuntimeException.class, command).getMessage();
        assertTrue(message.contains("NOPERM"), message);
    }
}
