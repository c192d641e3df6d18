package io.lockserver.client;

import java.util.List;

/**
 * The keys of one call are of different slots of a cluster, which refuses it; nothing was done. Keys with the same hash tag share a slot,
 * as {@code {order}:1} and {@code {order}:2}.
 */
public class CrossSlotException extends ServerException {
    private static final long serialVersionUID = 1L;
    /** What a server says that does not say which keys. */
    private static final String PLAIN = "CROSSSLOT Keys in request";

    private final transient List<String> keys;

    CrossSlotException(String reply, List<String> keys) {
        super(reply.startsWith(PLAIN) ? "CROSSSLOT the keys " + (keys.isEmpty() ? "of the call" : keys) + " are of different slots of the cluster: give them the same hash tag, which is "
                + "the part in braces, as {order}:1 and {order}:2" : reply);
        this.keys = List.copyOf(keys);
    }

    /** For keys that a call would use together only later. */
    static CrossSlotException of(List<String> keys) {
        return new CrossSlotException(PLAIN, keys);
    }

    /** The keys of the call, as far as they are known. */
    public List<String> keys() {
        return keys == null ? List.of() : keys;
    }
}
