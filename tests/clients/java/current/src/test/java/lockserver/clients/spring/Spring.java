package lockserver.clients.spring;

import java.time.Duration;
import java.util.List;

import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.script.DefaultRedisScript;
import org.springframework.data.redis.core.script.RedisScript;

import lockserver.clients.Await;
import lockserver.clients.Server;

/** A connection factory and its template, as Spring would configure them, for as long as a test class runs. */
final class Spring implements BeforeAllCallback, AfterAllCallback {
    /** Releases a lock that was taken by setIfAbsent, if it is still the caller's: 1, otherwise 0. */
    static final RedisScript<Long> RELEASE = new DefaultRedisScript<>(
            "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0", Long.class);

    private final Server server;
    private LettuceConnectionFactory factory;
    private StringRedisTemplate template;

    Spring(Server server) {
        this.server = server;
    }

    /** The template; Lettuce speaks RESP3, and all threads share one connection unless they block. */
    StringRedisTemplate template() {
        return template;
    }

    /** The factory of connections, for what needs one of its own. */
    LettuceConnectionFactory factory() {
        return factory;
    }

    /** Whether the lock was still the owner's and is released now. */
    boolean release(String lock, String owner) {
        return template.execute(RELEASE, List.of(lock), owner) == 1;
    }

    @Override
    public void beforeAll(ExtensionContext context) {
        factory = new LettuceConnectionFactory(new RedisStandaloneConfiguration(server.host(), server.port()),
                LettuceClientConfiguration.builder().clientName("shop").commandTimeout(Duration.ofMillis(Await.DEADLINE_MS))
                        .shutdownQuietPeriod(Duration.ZERO).build());
        factory.afterPropertiesSet();
        factory.start();
        template = new StringRedisTemplate(factory);
    }

    @Override
    public void afterAll(ExtensionContext context) {
        factory.destroy();
    }
}
