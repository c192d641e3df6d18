package io.lockserver.client;

import java.time.Duration;

/**
 * How a {@link Worker} is.
 *
 * @param attempts how often an entry is tried before it goes to the dead letter stream; the server counts
 * @param claimAfter entries of a worker that has given no sign of life for so long go to another one
 * @param parallel how many handlers run at a time, each in a thread of its own
 * @param dead the dead letter stream; null: the stream's name with ":dead" behind it
 * @param name the name of the consumer, which no other one has; null: a random one
 */
public record WorkerOptions(int attempts, Duration claimAfter, int parallel, String dead, String name) {
    private static final WorkerOptions DEFAULTS = new WorkerOptions(5, Duration.ofSeconds(30), 1, null, null);

    /** Checks the values. */
    public WorkerOptions {
        Values.number(attempts, 1, "a number of attempts");
        Values.time(claimAfter, "a time to claim after");
        Values.number(parallel, 1, "a number of handlers");
        if (dead != null) {
            Values.name(dead, "a dead letter stream");
        }
        if (name != null) {
            Values.name(name, "the name of a consumer");
        }
    }

    /** Five attempts, one handler at a time, and entries of a silent worker go to another one after 30 s. */
    public static WorkerOptions defaults() {
        return DEFAULTS;
    }

    /** With so many attempts. */
    public WorkerOptions withAttempts(int number) {
        return new WorkerOptions(number, claimAfter, parallel, dead, name);
    }

    /** With another time after which a silent worker counts as dead. */
    public WorkerOptions withClaimAfter(Duration time) {
        return new WorkerOptions(attempts, time, parallel, dead, name);
    }

    /** With so many handlers at a time. */
    public WorkerOptions withParallel(int number) {
        return new WorkerOptions(attempts, claimAfter, number, dead, name);
    }

    /** With another dead letter stream. */
    public WorkerOptions withDead(String stream) {
        return new WorkerOptions(attempts, claimAfter, parallel, Values.name(stream, "a dead letter stream"), name);
    }

    /** With a name for the consumer, which no other worker of the group has. */
    public WorkerOptions withName(String consumer) {
        return new WorkerOptions(attempts, claimAfter, parallel, dead, Values.name(consumer, "the name of a consumer"));
    }
}
