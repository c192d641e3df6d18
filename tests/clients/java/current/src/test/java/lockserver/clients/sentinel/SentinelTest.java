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
    @Test
    void failovers() {
        try (Fleet fleet = new Fleet("min-replicas-ack 1", "lock-watchdog-timeout " + Trial.LEASE_MS);
                Library jedis = new ByJedis(fleet); Library lettuce = new ByLettuce(fleet); Library redisson = new ByRedisson(fleet)) {
            List<Trial> trials = List.of(new Trial(jedis), new Trial(lettuce), new Trial(redisson));
            try (Crowd crowd = new Crowd()) {
                trials.forEach(trial -> trial.start(crowd));
                try {
                    play(fleet, trials);
                } finally {
                    trials.forEach(Trial::end);
                }
                crowd.join();
            }
            fleet.act("same");
            trials.forEach(Trial::check);
        }
    }

    private static void play(Fleet fleet, List<Trial> trials) {
        trials.forEach(Trial::goesOn);
        for (String event : List.of("kill", "pause", "plan")) {
            String leader = fleet.act(event);
            System.out.println(event + ": " + leader + " leads, and clients go on "
                    + trials.stream().map(trial -> Long.toString(trial.goesOn())).collect(Collectors.joining(", ")) + " ms later");
            fleet.act("mend");
        }
    }
}
