package shop;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;
import java.util.stream.Stream;

import org.springframework.data.redis.connection.DecoratedRedisConnection;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.lettuce.LettuceConnection;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.stereotype.Service;

import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.output.IntegerOutput;

/** What the shop keeps in the server: who is at the till, what is sold, who is signed in. */
@Service
public class Shop {
    private static final Duration SESSION = Duration.ofMinutes(30);

    private final StringRedisTemplate redis;

    Shop(StringRedisTemplate redis) {
        this.redis = redis;
    }

    /** Takes the till for so long at most; the answer is a fencing token, or nothing: somebody else has it. */
    public Optional<Long> open(String till, String owner, Duration lease) {
        return Optional.ofNullable(number("LOCK", till, owner, "PX", Long.toString(lease.toMillis())));
    }

    /** Gives the till back; false: it was no longer the owner's. */
    public boolean close(String till, String owner) {
        return number("UNLOCK", till, owner) != null;
    }

    /** Puts something on sale. Who has ordered it has so long to pay. */
    public void offer(String thing, int stock, Duration toPay) {
        redis.execute(connection -> connection.execute("SECKILL.CREATE",
                bytes(thing, "STOCK", Integer.toString(stock), "HOLD", Long.toString(toPay.toMillis()))), true);
    }

    /** Orders one; false: it is sold out. The same order again is the same order. */
    public boolean order(String thing, String user, String order) {
        return number("SECKILL", thing, user, order) == 0;
    }

    /** Pays an order; false: it was not in time. */
    public boolean pay(String thing, String user, String order) {
        return number("SECKILL.CONFIRM", thing, user, order) == 1;
    }

    /** How many can still be ordered. */
    public String left(String thing) {
        return redis.opsForValue().get("seckill:stock:" + thing);
    }

    /** A user signs in. */
    public void signIn(String session, String user) {
        redis.opsForValue().set("session:" + session, user, SESSION);
    }

    /** Who has that session, which goes on by being used. */
    public Optional<String> user(String session) {
        return Optional.ofNullable(redis.opsForValue().getAndExpire("session:" + session, SESSION));
    }

    /** Sends a command that Lettuce does not know, whose reply is an integer or nil. */
    private Long number(String command, String... words) {
        return redis.execute(connection -> (Long) lettuce(connection)
                .execute(command, new IntegerOutput<>(ByteArrayCodec.INSTANCE), bytes(words)), true);
    }

    /** The connection itself, which some versions of Spring Data wrap. */
    private static LettuceConnection lettuce(RedisConnection connection) {
        return (LettuceConnection) (connection instanceof DecoratedRedisConnection wrapped ? wrapped.getDelegate() : connection);
    }

    private static byte[][] bytes(String... words) {
        return Stream.of(words).map(word -> word.getBytes(StandardCharsets.UTF_8)).toArray(byte[][]::new);
    }
}
