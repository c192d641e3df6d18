package lockserver.clients.redisson;

import java.util.function.Consumer;

import org.redisson.api.RedissonClient;

/** Listening, up to 3.9: a topic has the type of its messages. */
final class Topics {
    private Topics() {
    }

    /** Hands each message of the topic over. */
    static void listen(RedissonClient client, String topic, Consumer<String> heard) {
        client.<String>getTopic(topic).addListener((channel, message) -> heard.accept(message));
    }

    /** Hands each message of the topics over whose names match. */
    static void listenByPattern(RedissonClient client, String pattern, Consumer<String> heard) {
        client.<String>getPatternTopic(pattern).addListener((matched, channel, message) -> heard.accept(message));
    }
}
