package io.lockserver.client;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

import io.lettuce.core.RedisURI;

/**
 * The way to the server that leads. A single URI is the server, or its Sentinels, which Lettuce asks each time. Several URIs are members of
 * a raft group, or servers of a shard: one that does not lead says who does ({@code -MOVED}).
 */
final class Route {
    /** What a connection is tried with: an error says that another server is to be tried. */
    interface Login {
        void over(Wire wire, Duration limit) throws InterruptedException;
    }

    /** A key that does not exist. */
    private static final String PROBE = "lockserver";
    /** How often an attempt follows a server that names another one as the leader. */
    private static final int MOST_HOPS = 5;

    private final Dialer dialer;
    /** Learns the map of a cluster by each new connection; null: there is no map. */
    private final Shards learner;
    private volatile List<RedisURI> nodes;
    private volatile String probe = PROBE;
    private volatile RedisURI leader;

    Route(Dialer dialer, Shards learner, List<RedisURI> nodes) {
        this.dialer = dialer;
        this.learner = learner;
        this.nodes = nodes;
    }

    /** The servers that are known. */
    List<RedisURI> nodes() {
        return nodes;
    }

    boolean has(RedisURI uri) {
        return nodes.stream().anyMatch(node -> Dialer.address(node).equals(Dialer.address(uri)));
    }

    /** Replaces what is known: the servers of a shard, and its slots, each range with its first and last one. */
    void become(List<RedisURI> servers, List<int[]> ranges) {
        nodes = servers;
        for (int n = 0;; n++) {
            String key = n == 0 ? PROBE : PROBE + ":" + n;
            int slot = Slots.of(key);
            if (ranges.stream().anyMatch(range -> range[0] <= slot && slot <= range[1])) {
                probe = key;
                return;
            }
        }
    }

    /** The next attempt begins with this server. */
    void leadBy(RedisURI uri) {
        leader = uri;
    }

    /**
     * Opens a connection to the server that leads and logs in.
     *
     * @throws ServerException for the reply of a server that cannot be used
     * @throws BrokenException if none was reached within the limit
     */
    Wire dial(Duration limit, Login login) throws InterruptedException {
        long end = System.nanoTime() + limit.toNanos();
        Deque<RedisURI> candidates = new ArrayDeque<>(nodes);
        RedisURI first = leader;
        if (first != null) {
            candidates.addFirst(first);
        }
        Set<String> tried = new HashSet<>();
        int hops = 0;
        RuntimeException last = null;
        while (!candidates.isEmpty() && (last == null || System.nanoTime() < end)) {
            RedisURI uri = candidates.poll();
            if (!tried.add(Dialer.address(uri))) {
                continue;
            }
            Wire wire = null;
            // One that is stopped accepts connections and never answers: it leaves time for the others.
            long share = System.nanoTime() + left(end).toNanos() / (candidates.size() + 1);
            try {
                wire = dialer.open(this, uri, left(share));
                if (learner != null) {
                    learner.ask(wire, left(share));
                }
                login.over(wire, left(share));
                leader = uri;
                return wire;
            } catch (ServerException e) {
                last = e;
                if (wire != null) {
                    wire.close(e);
                }
                if (!Errors.isElsewhere(e.getMessage())) {
                    throw e;
                }
                RedisURI named = Errors.moved(e.getMessage(), uri, dialer);
                if (named != null && hops++ < MOST_HOPS && (learner == null || !learner.isOther(this, named))) {
                    tried.remove(Dialer.address(named));
                    candidates.addFirst(named);
                }
            } catch (BrokenException e) {
                last = e;
                if (uri == leader) {
                    leader = null; // the next attempt does not begin with it
                }
            }
        }
        throw last;
    }

    /** The time up to a moment of System.nanoTime, a millisecond at least. */
    private static Duration left(long end) {
        return Duration.ofNanos(Math.max(end - System.nanoTime(), 1_000_000));
    }

    /** Has a server that does not lead say so. */
    void leads(Wire wire, Duration within) throws InterruptedException {
        try {
            wire.ask(within, "EXISTS", probe);
        } catch (ServerException e) {
            if (Errors.isElsewhere(e.getMessage()) && !isOneOfSeveral(wire, within, e)) {
                throw e;
            }
        }
    }

    /** Whether the only server that the program has named is one of several shards, which leads for its own keys. */
    private boolean isOneOfSeveral(Wire wire, Duration within, ServerException moved) throws InterruptedException {
        try {
            return learner == null && moved.code().equals("MOVED") && Shards.areSeveral(dialer, wire.uri, wire.ask(within, "CLUSTER", "SLOTS"));
        } catch (ServerException e) {
            return false; // no cluster, or the user may not ask
        }
    }
}
