package lockserver.clients.redisson;

import java.time.Duration;
import java.util.Map;

import org.redisson.api.RStream;
import org.redisson.api.StreamMessageId;
import org.redisson.api.stream.StreamAddArgs;
import org.redisson.api.stream.StreamCreateGroupArgs;
import org.redisson.api.stream.StreamReadGroupArgs;

/** A stream's methods since they take objects for their arguments. */
final class Streams {
    private Streams() {
    }

    /** Makes the group, and the stream if need be. */
    static void createGroup(RStream<String, String> stream, String group) {
        stream.createGroup(StreamCreateGroupArgs.name(group).id(StreamMessageId.ALL).makeStream());
    }

    /** Appends an entry. */
    static StreamMessageId add(RStream<String, String> stream, Map<String, String> fields) {
        return stream.add(StreamAddArgs.entries(fields));
    }

    /** What is new to the group, without waiting. */
    static Map<StreamMessageId, Map<String, String>> read(RStream<String, String> stream, String group, String name, int count) {
        return stream.readGroup(group, name, StreamReadGroupArgs.neverDelivered().count(count));
    }

    /** What is new to the group, or will be soon. */
    static Map<StreamMessageId, Map<String, String>> await(RStream<String, String> stream, String group, String name, long ms) {
        return stream.readGroup(group, name, StreamReadGroupArgs.neverDelivered().timeout(Duration.ofMillis(ms)));
    }
}
