package lockserver.clients.redisson;

import java.util.function.Consumer;

import org.redisson.api.RedissonClient;

/** Listening, since 3.10: a listener has the type of its messages. */
final class Topics {
    private Topics() {
    }

    /** Hands each message of the topic over. */
    static void listen(RedissonClient client, String topic, Consumer<String> heard) {
        client.getTopic(topic).addListener(String.class, (channel, message) -> heard.accept(message.toString()));
    }

    /** Hands each message of the topics over whose names match. */
    static void listenByPattern(RedissonClient client, String pattern, Consumer<String> heard) {
        client.getPatternTopic(pattern).addListener(String.class, (matched, channel, message) -> heard.accept(message));
    }
}
