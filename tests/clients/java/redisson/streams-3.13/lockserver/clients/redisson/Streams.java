package lockserver.clients.redisson;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import java.util.Map;

import org.redisson.api.RStream;
import org.redisson.api.StreamMessageId;

/** A stream's methods before they took objects for their arguments. */
final class Streams {
    private Streams() {
    }

    /** Makes the group, and the stream if need be. */
    static void createGroup(RStream<String, String> stream, String group) {
        stream.createGroup(group, StreamMessageId.ALL);
    }

    /** Appends an entry. */
    static StreamMessageId add(RStream<String, String> stream, Map<String, String> fields) {
        return stream.addAll(fields);
    }

    /** What is new to the group, without waiting. */
    static Map<StreamMessageId, Map<String, String>> read(RStream<String, String> stream, String group, String name, int count) {
        return stream.readGroup(group, name, count);
    }

    /** What is new to the group, or will be soon. */
    static Map<StreamMessageId, Map<String, String>> await(RStream<String, String> stream, String group, String name, long ms) {
        return stream.readGroup(group, name, ms, MILLISECONDS);
    }
}
