package lockserver.clients.spring;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

import org.springframework.data.domain.Range;
import org.springframework.data.redis.connection.stream.Consumer;
import org.springframework.data.redis.connection.stream.MapRecord;
import org.springframework.data.redis.connection.stream.PendingMessage;
import org.springframework.data.redis.connection.stream.ReadOffset;
import org.springframework.data.redis.connection.stream.RecordId;
import org.springframework.data.redis.connection.stream.StreamOffset;
import org.springframework.data.redis.connection.stream.StreamReadOptions;
import org.springframework.data.redis.core.StreamOperations;
import org.springframework.data.redis.core.StringRedisTemplate;

/** The workers that drain the stream of orders into a database with a unique key, and crash on demand. */
final class Orders {
    static final String STREAM = "stream.orders";
    static final String GROUP = "g1";

    /** A worker's death between what it reads and what it acknowledges. */
    static final class Crash extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    /** The orders that were written, by user and voucher: a second one is not written. */
    final Map<String, String> table = new ConcurrentHashMap<>();

    /** How many were delivered a second time after they had been written. */
    final AtomicInteger repeated = new AtomicInteger();

    private final StreamOperations<String, String, String> stream;

    Orders(StringRedisTemplate redis) {
        stream = redis.opsForStream();
        stream.createGroup(STREAM, ReadOffset.from("0"), GROUP);
    }

    /**
     * Works until it is told to stop and nothing new is left: first off its own pending list, then what is new.
     *
     * @param crashAfter how many orders it handles before it crashes; it has written that one, but not acknowledged it
     */
    void work(String name, AtomicBoolean stop, int crashAfter) {
        int handled = 0;
        boolean pending = true;
        while (true) {
            boolean stopping = stop.get();
            List<MapRecord<String, String, String>> batch = read(name, pending);
            if (batch.isEmpty() && !pending && stopping) {
                return;
            }
            pending = pending && !batch.isEmpty();
            for (MapRecord<String, String, String> order : batch) {
                write(order);
                if (++handled == crashAfter) {
                    throw new Crash();
                }
                stream.acknowledge(STREAM, GROUP, order.getId());
            }
        }
    }

    @SuppressWarnings("unchecked") // read takes the offsets as generic varargs
    private List<MapRecord<String, String, String>> read(String name, boolean pending) {
        StreamReadOptions options = StreamReadOptions.empty().count(5);
        return stream.read(Consumer.from(GROUP, name), pending ? options : options.block(Duration.ofMillis(100)),
                StreamOffset.create(STREAM, pending ? ReadOffset.from("0") : ReadOffset.lastConsumed()));
    }

    private void write(MapRecord<String, String, String> order) {
        Map<String, String> row = order.getValue();
        if (table.putIfAbsent(row.get("userId") + " " + row.get("voucherId"), row.get("id")) != null) {
            repeated.incrementAndGet();
        }
    }

    /** Takes over what a worker that will not come back has read and not acknowledged; returns how many. */
    int inherit(String from, String to) {
        RecordId[] ids = stream.pending(STREAM, Consumer.from(GROUP, from), Range.unbounded(), 1_000).stream()
                .map(PendingMessage::getId).toArray(RecordId[]::new);
        if (ids.length == 0) {
            return 0;
        }
        for (MapRecord<String, String, String> order : stream.claim(STREAM, GROUP, to, Duration.ZERO, ids)) {
            write(order);
            stream.acknowledge(STREAM, GROUP, order.getId());
        }
        return ids.length;
    }

    /** How many are read and not acknowledged. */
    long pending() {
        return stream.pending(STREAM, GROUP).getTotalPendingMessages();
    }
}
