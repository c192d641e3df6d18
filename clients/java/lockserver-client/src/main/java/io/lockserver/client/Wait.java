package io.lockserver.client;

import java.util.concurrent.CompletableFuture;

/** A request for a lock that is not over. The lock of the keeper guards the fields, as far as they are not final or volatile. */
final class Wait {
    enum State {
        /** There is no reply yet, or no connection. */
        ASKED,
        /** The outcome will be a push. */
        QUEUED,
        /** The confirmation of a grant is under way. */
        GRANTED,
        /** The caller has the outcome, or is gone. */
        OVER
    }

    final Owner owner;
    final Wish wish;
    /** Of the first key. */
    final int slot;
    /** Which is asked. */
    Shard shard;
    int redirections;
    /** It was redirected, and is asked for soon: no new map moves it. */
    boolean leaving;
    /** When the caller goes, by System.nanoTime. */
    final long end;
    /** How the caller waits. */
    final Patience patience;
    /** The server has queued it, once at least. */
    volatile boolean placed;
    final CompletableFuture<Hold> result = new CompletableFuture<>();

    State state = State.ASKED;
    /** The connection that it was sent by; null: the next one will. */
    Wire by;
    /** No later than the lease on the server began, by System.nanoTime. */
    long began;
    long[] tokens;
    int confirmationsLeft;

    enum Patience {
        NONE, LIMITED, ENDLESS
    }

    Wait(Owner owner, Wish wish, Shards shards, Patience patience, long end) {
        this.owner = owner;
        this.wish = wish;
        slot = shards.slotOf(wish.key());
        shard = shards.of(slot);
        this.patience = patience;
        this.end = end;
    }

    Place place() {
        return new Place(owner.name, wish.key());
    }

    String[] request() {
        return wish.request(owner.name, switch (patience) {
            case NONE -> -1;
            case LIMITED -> Math.max(1, (end - System.nanoTime() + 999_999) / 1_000_000);
            case ENDLESS -> 0;
        });
    }
}
