package io.lockserver.test;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** Runs commands on the shards of a cluster. */
final class ClusterCalls {
    /** What is of each shard, where the answer of one stands for all: they are asked for the same. */
    private static final Set<String> THE_SAME = Set.of("ADD", "DEL", "CLEAR");
    /** What counts for all shards when one is asked. */
    private static final Set<String> OF_ALL = Set.of("TEST.CLOCK", "TEST.RESET", "TEST.SHARD", "FLUSHALL");

    private ClusterCalls() {
    }

    /** A shard. */
    record Shard(String host, int port) implements TestServer {
        @Override
        public Object call(String... words) {
            return Wire.call(host, port, words);
        }
    }

    /** The shards of the cluster that a server belongs to, in the order of their slots. */
    static List<TestServer> shards(String host, int port) {
        List<TestServer> shards = new ArrayList<>();
        for (Object range : (List<?>) Wire.call(host, port, "CLUSTER", "SLOTS")) {
            List<?> node = (List<?>) ((List<?>) range).get(2);
            shards.add(new Shard(String.valueOf(node.get(0)), Math.toIntExact((Long) node.get(1))));
        }
        return shards;
    }

    /**
     * Runs a command on the shard of its key. Without a key it runs on all shards: their lists are joined, their numbers added, and of
     * other replies it is that of the first one.
     */
    static Object call(List<TestServer> shards, String... words) {
        if (shards.size() == 1 || OF_ALL.contains(words[0])) {
            return shards.get(0).call(words);
        }
        List<Object> replies = new ArrayList<>();
        for (TestServer shard : shards) {
            try {
                replies.add(shard.call(words));
            } catch (IllegalStateException e) {
                if (!String.valueOf(e.getMessage()).startsWith("MOVED ")) {
                    throw e;
                }
            }
        }
        if (words[0].equals("TEST.FAULT") && THE_SAME.contains(words[1])) {
            return replies.get(0);
        }
        if (replies.size() > 1 && replies.stream().allMatch(List.class::isInstance)) {
            return replies.stream().flatMap(reply -> ((List<?>) reply).stream()).map(Object.class::cast).toList();
        }
        if (replies.size() > 1 && replies.stream().allMatch(Long.class::isInstance)) {
            return replies.stream().mapToLong(Long.class::cast).sum();
        }
        return replies.get(0);
    }
}
