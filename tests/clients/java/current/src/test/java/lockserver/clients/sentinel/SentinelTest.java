package lockserver.clients.sentinel;

import java.util.List;
import java.util.stream.Collectors;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import lockserver.clients.Crowd;
import lockserver.clients.Fleet;

/** All libraries at once, for each failover takes Lettuce five seconds. */
@Tag("native")
class SentinelTest {
    private static final String LEASE = "lock-watchdog-timeout " + Trial.LEASE_MS;

    @Test
    void failovers() {
        failOver(new Fleet("min-replicas-ack 1", LEASE), "kill", "pause", "plan");
    }

    /**
     * The members of a raft group, of which each is a Sentinel, too. Redisson may go on asking a member that has handed the lead on,
     * which lives, and be told READONLY; so the leader is killed.
     */
    @Test
    void groupBySentinel() {
        failOver(Fleet.group("sentinel", LEASE), "kill", "kill");
    }

    @Test
    void groupAsCluster() {
        failOver(Fleet.group("cluster", LEASE), "kill", "plan");
    }

    private static void failOver(Fleet started, String... events) {
        try (Fleet fleet = started;
                Library jedis = new ByJedis(fleet); Library lettuce = new ByLettuce(fleet); Library redisson = new ByRedisson(fleet)) {
            List<Trial> trials = List.of(new Trial(jedis), new Trial(lettuce), new Trial(redisson));
            try (Crowd crowd = new Crowd()) {
                trials.forEach(trial -> trial.start(crowd));
                try {
                    play(fleet, trials, events);
                } finally {
                    trials.forEach(Trial::end);
                }
                crowd.join();
            }
            fleet.act("same");
            trials.forEach(Trial::check);
        }
    }

    private static void play(Fleet fleet, List<Trial> trials, String... events) {
        trials.forEach(Trial::goesOn);
        for (String event : events) {
            String leader = fleet.act(event);
            System.out.println(event + ": " + leader + " leads, and clients go on "
                    + trials.stream().map(trial -> Long.toString(trial.goesOn())).collect(Collectors.joining(", ")) + " ms later");
            fleet.act("mend");
        }
    }
}
