package io.lockserver.client;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

import io.lettuce.core.RedisURI;
import io.lettuce.core.codec.StringCodec;

/**
 * The shards that a client uses, and which of them has a key. A plain server, a raft group and the master of Sentinels are one shard that
 * has all keys. A client that knows one server alone computes no slots.
 *
 * <p>The map of a cluster comes from {@code CLUSTER SLOTS}, by each new connection and after each {@code -MOVED}. It may be old: a server
 * that does not have a slot answers {@code -MOVED}, and the command goes to the shard that the answer names. The lock of the keeper guards
 * the fields.
 */
final class Shards {
    /** The slot of all keys while there is one shard. */
    static final int ANY = -1;
    /** How often a command is redirected without a pause. Then its slot is between two shards. */
    private static final int QUICK = 2;
    /** The pause after that; it doubles up to the longest. */
    private static final long PAUSE_MS = 5;
    private static final long LONGEST_PAUSE_MS = 100;
    private static final Duration ASKING = Duration.ofSeconds(1);

    private final Keeper keeper;
    private final Dialer dialer;
    private final List<RedisURI> seeds;
    /** Whether servers are asked for the map. */
    private final boolean mapped;
    /** Those that are used. */
    private final Map<Route, Shard> shards = new LinkedHashMap<>();
    /** The shard of all keys; null: there are several, and the fields below say which has what. */
    private volatile Shard only;
    private List<Route> routes = List.of();
    private Route[] bySlot;
    /** The last map that was taken, as text. */
    private String map = "";
    private boolean refreshing;
    private boolean sorting;
    /** Whether the observer knows that the connections are there. */
    private boolean reported;

    Shards(Keeper keeper, Dialer dialer, List<RedisURI> seeds, boolean mapped) {
        this.keeper = keeper;
        this.dialer = dialer;
        this.seeds = seeds;
        this.mapped = mapped;
        Route route = route(seeds);
        only = new Shard(keeper, route);
        shards.put(route, only);
    }

    private Route route(List<RedisURI> nodes) {
        return new Route(dialer, mapped ? this : null, nodes);
    }

    /** The shard to begin with: that of all keys. */
    Shard first() {
        return shards.values().iterator().next();
    }

    /** Those that are used; the caller holds mu. */
    List<Shard> all() {
        return List.copyOf(shards.values());
    }

    /** The slot of a key, or {@link #ANY}. */
    int slotOf(String key) {
        return mapped ? Slots.of(key) : ANY;
    }

    /** The slot of a command's first key, or {@link #ANY}. */
    int slotOf(StringCodec codec, String[] words) {
        if (!mapped) {
            return ANY;
        }
        String key = Slots.keyOf(words);
        return Slots.of(codec == Bytes.CODEC ? Escaped.of(Bytes.array(key)) : key);
    }

    /** The shard of a slot, which connects if it was not used before. */
    Shard of(int slot) {
        Shard all = only;
        if (all != null) {
            return all;
        }
        keeper.mu.lock();
        try {
            Route route = bySlot[slot];
            return shardOf(route == null ? routes.get(0) : route); // a slot that no shard has: any server says so
        } finally {
            keeper.mu.unlock();
        }
    }

    private Shard shardOf(Route route) {
        Shard shard = shards.get(route);
        if (shard == null) {
            shard = new Shard(keeper, route);
            shards.put(route, shard);
            if (!keeper.isClosing()) {
                shard.startLazily();
            }
        }
        return shard;
    }

    /** Whether there are several shards, as far as is known. */
    boolean isSharded() {
        return only == null;
    }

    /** Fails if keys that are known are of different slots of several shards. */
    void together(List<String> keys) {
        if (isSharded() && keys.stream().mapToInt(Slots::of).distinct().count() > 1) {
            throw CrossSlotException.of(keys);
        }
    }

    // The map.

    /** Asks a new connection for the map, and takes the answer. A server that refuses it, or has none, is one shard. */
    void ask(Wire wire, Duration within) throws InterruptedException {
        try {
            Object slots = wire.ask(within, "CLUSTER", "SLOTS");
            learn(wire, slots, only == null || !(slots instanceof List<?> list) || list.size() < 2 ? null : wire.ask(within, "CLUSTER", "MYID"));
        } catch (ServerException e) {
            // no cluster, or the user may not ask
        }
    }

    /** A shard of the map: its servers of which one leads, their ids, and its slots. */
    private record Served(List<RedisURI> servers, Set<Object> ids, List<int[]> ranges) {
        boolean has(RedisURI uri) {
            return servers.stream().anyMatch(server -> Dialer.address(server).equals(Dialer.address(uri)));
        }

        String text() {
            StringBuilder text = new StringBuilder(servers.stream().map(Dialer::address).toList().toString());
            ranges.forEach(range -> text.append(Arrays.toString(range)));
            return text.toString();
        }
    }

    /** The shards of a reply of CLUSTER SLOTS. Ranges that share a server are of one shard. */
    private static List<Served> parse(Dialer dialer, RedisURI from, Object reply) {
        List<Served> all = new ArrayList<>();
        for (Object item : reply instanceof List<?> list ? list : List.of()) {
            if (!(item instanceof List<?> range) || range.size() < 3 || !(range.get(0) instanceof Long first) || !(range.get(1) instanceof Long last)) {
                continue;
            }
            List<RedisURI> servers = new ArrayList<>();
            Set<Object> ids = new LinkedHashSet<>();
            for (Object node : range.subList(2, range.size())) {
                if (node instanceof List<?> parts && parts.size() > 1 && parts.get(1) instanceof Long port && port > 0) {
                    servers.add(dialer.named(from, parts.get(0) instanceof String host ? host : "", Math.toIntExact(port)));
                    ids.add(parts.size() > 2 ? parts.get(2) : "");
                }
            }
            if (servers.isEmpty()) {
                continue;
            }
            Served served = all.stream().filter(other -> servers.stream().anyMatch(other::has)).findFirst().orElse(null);
            if (served == null) {
                served = new Served(new ArrayList<>(), new LinkedHashSet<>(), new ArrayList<>());
                all.add(served);
            }
            for (RedisURI server : servers) {
                if (!served.has(server)) {
                    served.servers.add(server);
                }
            }
            served.ids.addAll(ids);
            served.ranges.add(new int[] {Math.toIntExact(first), Math.toIntExact(last)});
        }
        return all;
    }

    /** Whether a reply of CLUSTER SLOTS has several shards. */
    static boolean areSeveral(Dialer dialer, RedisURI from, Object reply) {
        return parse(dialer, from, reply).size() > 1;
    }

    /** Takes a map; id is that of the server that has said it, or null. */
    private void learn(Wire wire, Object reply, Object id) {
        List<Served> served = parse(dialer, wire.uri, reply);
        keeper.mu.lock();
        try {
            String text = served.stream().map(Served::text).toList().toString();
            // The addresses of the program lead to the one shard as well, and are those that it can reach.
            if (served.isEmpty() || served.size() == 1 && only != null || text.equals(map) || keeper.isClosing()) {
                return;
            }
            map = text;
            apply(served, wire, id);
        } finally {
            keeper.mu.unlock();
        }
    }

    /** A shard is the one that it was if it has one of its servers still. The first one becomes that of the server that has said the map. */
    private void apply(List<Served> served, Wire wire, Object id) {
        Set<Route> gone = new LinkedHashSet<>(shards.keySet());
        gone.addAll(routes);
        Served home = only == null ? null
                : served.stream().filter(shard -> shard.ids.contains(id) || shard.has(wire.uri)).findFirst().orElse(served.get(0));
        List<Route> next = new ArrayList<>();
        Route[] owners = new Route[Slots.COUNT];
        for (Served shard : served) {
            Route route = home == null ? gone.stream().filter(known -> known.nodes().stream().anyMatch(shard::has)).findFirst().orElse(null)
                    : shard == home ? only.route() : null;
            if (route == null) {
                route = route(shard.servers);
            }
            gone.remove(route);
            route.become(List.copyOf(shard.servers), List.copyOf(shard.ranges));
            next.add(route);
            for (int[] range : shard.ranges) {
                Arrays.fill(owners, range[0], range[1] + 1, route);
            }
        }
        routes = next;
        bySlot = owners;
        only = null;
        sortOut();
        for (Route route : gone) {
            Shard shard = shards.remove(route);
            if (shard != null) {
                shard.retire();
            }
        }
        report();
    }

    /** Gives each shard what is of its slots. */
    private void sortOut() {
        keeper.waits.sortOut();
        keeper.rates.sortOut();
        keeper.sortOutHolds();
        keeper.debts.sortOut();
        keeper.latches.readAll();
    }

    /** Gives each shard what is of its slots, once for all redirections that come at a time; the caller holds mu. */
    private void sortOutSoon() {
        if (sorting) {
            return;
        }
        sorting = true;
        keeper.later(Duration.ofMillis(PAUSE_MS), () -> {
            keeper.mu.lock();
            try {
                sorting = false;
                sortOut();
            } finally {
                keeper.mu.unlock();
            }
        });
    }

    /** Whether a server is of another shard than a route leads to. */
    boolean isOther(Route route, RedisURI uri) {
        keeper.mu.lock();
        try {
            return !route.has(uri) && routes.stream().anyMatch(other -> other != route && other.has(uri));
        } finally {
            keeper.mu.unlock();
        }
    }

    /**
     * Takes the error of a command that a shard has not done because it does not have the slot. True: the command is to be asked again,
     * of the shard that has the slot. False: it is no such error, or the shard has another leader; the connection is of no use then.
     */
    boolean redirects(Wire by, RuntimeException error) {
        if (!isSharded() || !(error instanceof ServerException refusal)) {
            return false;
        }
        if (refusal.code().equals("CLUSTERDOWN")) {
            refresh(by);
            return true;
        }
        RedisURI to = Errors.moved(refusal.getMessage(), by.uri, dialer);
        int slot = Errors.slot(refusal.getMessage());
        if (to == null || slot < 0) {
            return false;
        }
        keeper.mu.lock();
        try {
            Route route = routes.stream().filter(known -> known.has(to)).findFirst().orElse(null);
            if (route == by.route || Dialer.address(to).equals(by.address)) {
                by.route.leadBy(to);
                return false;
            }
            if (route == null) {
                route = route(List.of(to));
                routes = new ArrayList<>(routes);
                routes.add(route);
            }
            if (bySlot[slot] != route) {
                bySlot[slot] = route;
                map = "";
                sortOutSoon();
                refresh(by);
            }
            return true;
        } finally {
            keeper.mu.unlock();
        }
    }

    /** Asks a server for the map, and does not wait for the answer. */
    private void refresh(Wire wire) {
        keeper.mu.lock();
        try {
            if (refreshing || wire.reason() != null) {
                return;
            }
            refreshing = true;
        } finally {
            keeper.mu.unlock();
        }
        wire.then((reply, error) -> {
            keeper.mu.lock();
            refreshing = false;
            keeper.mu.unlock();
            if (error == null) {
                learn(wire, reply, null);
            }
        }, "CLUSTER", "SLOTS");
    }

    /** A shard cannot be reached: it may be elsewhere. Another one is asked. */
    void trouble(Shard shard) throws InterruptedException {
        if (!isSharded()) {
            return;
        }
        for (Shard other : allNow()) {
            Wire wire = other == shard ? null : other.wire();
            if (wire == null || wire.reason() != null) {
                continue;
            }
            try {
                learn(wire, wire.ask(ASKING, "CLUSTER", "SLOTS"), null);
                return;
            } catch (ServerException | BrokenException e) {
                // another one
            }
        }
        try {
            route(seeds).dial(ASKING, (wire, within) -> { }).close(new BrokenException("the map is known", null)); // a new connection asks
        } catch (ServerException | BrokenException e) {
            // no server can be reached
        }
    }

    /** The same for a caller without mu. */
    List<Shard> allNow() {
        keeper.mu.lock();
        try {
            return all();
        } finally {
            keeper.mu.unlock();
        }
    }

    /**
     * Takes the error of a command by the only server that the program has named. True: the server names another one, and it is asked
     * whether it is one of several shards. Then the call ends with what is given to {@code ended}; otherwise the connection is closed, and
     * {@code other} runs.
     */
    boolean suspects(Wire by, RuntimeException error, Consumer<LockException> ended, Runnable other) {
        if (mapped || !by.uri.getSentinels().isEmpty() || !(error instanceof ServerException refusal) || !refusal.code().equals("MOVED")) {
            return false;
        }
        by.then((reply, failed) -> {
            if (failed == null && areSeveral(dialer, by.uri, reply)) {
                ended.accept(new ShardedException(error));
            } else {
                by.close(error);
                other.run();
            }
        }, "CLUSTER", "SLOTS");
        return true;
    }

    /** Has a command asked again that was redirected so often. */
    void again(int redirections, Runnable ask) {
        Duration pause = pause(redirections);
        if (pause.isZero()) {
            ask.run();
        } else {
            keeper.later(pause, ask);
        }
    }

    /** How long something waits that was redirected so often. Half of it is chance, so that clients do not come together. */
    static Duration pause(int redirections) {
        if (redirections <= QUICK) {
            return Duration.ZERO;
        }
        long most = TimeUnit.MILLISECONDS.toNanos(Math.min(PAUSE_MS << Math.min(redirections - QUICK - 1, 10), LONGEST_PAUSE_MS));
        return Duration.ofNanos(ThreadLocalRandom.current().nextLong(most / 2, most));
    }

    // The connections.

    /** Tells the observer if the connections of all used shards are there now, or are not any more. */
    void report() {
        keeper.mu.lock();
        try {
            boolean now = shards.values().stream().noneMatch(Shard::isBroken) && shards.values().stream().anyMatch(shard -> shard.wire() != null);
            if (now != reported) {
                reported = now;
                RuntimeException why = shards.values().stream().map(Shard::brokenBy).filter(reason -> reason != null).findFirst().orElse(null);
                keeper.tell(now ? keeper.observer::attached : () -> keeper.observer.detached(why));
            }
        } finally {
            keeper.mu.unlock();
        }
    }

    /** Whether the connections of all used shards are there. */
    boolean isAttached() {
        return allNow().stream().map(Shard::wire).allMatch(wire -> wire != null && wire.reason() == null);
    }

    /** Ends the connections, within a limit for all of them together. */
    void close(Duration limit) throws InterruptedException {
        List<Shard> all = allNow();
        all.forEach(Shard::end);
        long end = System.nanoTime() + limit.toNanos();
        for (Shard shard : all) {
            shard.join(Math.max(1, TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime())));
        }
    }
}
