package io.lockserver.client;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

import io.lettuce.core.cluster.SlotHash;

/** The slots of a Redis Cluster: the slot of a key, and the keys of a command. */
final class Slots {
    /** How many there are. */
    static final int COUNT = SlotHash.SLOT_COUNT;

    /** Where the first key of a command is, if it is not the first word behind the name. */
    private static final Map<String, Integer> KEY_AT = Map.of("MLOCK", 2, "MUNLOCK", 2, "LIMIT.MTAKE", 2, "SECKILL.CART", 4, "EVAL", 3, "EVALSHA", 3,
            "FCALL", 3, "XGROUP", 2);

    private Slots() {
    }

    /** The slot of a key, as {@link Escaped} has it. */
    static int of(String key) {
        return SlotHash.getSlot(Escaped.bytes(key));
    }

    /** The first key of a command; empty: it has none. */
    static String keyOf(String[] words) {
        int at = KEY_AT.getOrDefault(words[0], 1);
        return at < words.length ? words[at] : "";
    }

    /** The keys of a command, for errors; none: this package does not know where they are. */
    static List<String> keysOf(String[] words) {
        return switch (words[0]) {
            case "MLOCK" -> List.copyOf(Arrays.asList(words).subList(2, 2 + Integer.parseInt(words[1])));
            case "LIMIT.MTAKE" -> every(words, 2, 4, Integer.parseInt(words[1]));
            case "SECKILL.CART" -> every(words, 4, 2, Integer.parseInt(words[3]));
            case "GUARD" -> words.length > 4 ? List.of(words[1], words[4]) : List.of(words[1]);
            default -> List.of();
        };
    }

    private static List<String> every(String[] words, int first, int step, int count) {
        List<String> keys = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            keys.add(words[first + step * i]);
        }
        return keys;
    }
}
