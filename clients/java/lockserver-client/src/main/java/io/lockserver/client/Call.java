package io.lockserver.client;

import java.time.Duration;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;

import io.lettuce.core.codec.StringCodec;

/**
 * A command that is under way on the connection of {@link Commands}, with all its attempts. No thread waits for it: its steps are taken by
 * the threads that bring the connection, the reply, or the end of a pause.
 */
final class Call {
    private static final long[] PAUSES_MS = {10, 50, 200, 500};

    /** The reply, or an error: see {@link Commands#once}. */
    final CompletableFuture<Object> reply = new CompletableFuture<>();
    /** When the call gives up, by System.nanoTime. */
    final long end;

    private final Commands commands;
    private final StringCodec codec;
    /** The command may be done twice. */
    private final boolean again;
    private final String[] words;
    /** Of its first key, or that of the last redirection. */
    private int slot;
    private int redirections;
    private final long began = System.nanoTime();
    /** One step ends before the next one begins, so the steps need no lock. */
    private int attempt;
    /** The connection that has the command now. */
    private volatile Wire wire;

    Call(Commands commands, StringCodec codec, boolean again, long end, int slot, String[] words) {
        this.commands = commands;
        this.codec = codec;
        this.again = again;
        this.end = end;
        this.slot = slot;
        this.words = words;
    }

    /** Begins an attempt. */
    void send() {
        try {
            commands.wire(slot).whenComplete(this::opened);
        } catch (ClientClosedException e) {
            reply.completeExceptionally(e);
        }
    }

    private void opened(Wire opened, Throwable error) {
        if (error != null) {
            failed(cause(error), false);
        } else if (!reply.isDone()) {
            wire = opened;
            opened.then(codec, this::replied, words);
        }
    }

    private void replied(Object value, RuntimeException error) {
        Wire by = wire;
        wire = null;
        if (error == null) {
            reply.complete(value);
        } else if (commands.shards.redirects(by, error)) {
            redirected((ServerException) error);
        } else if (commands.shards.suspects(by, error, reply::completeExceptionally, () -> failed(error, false))) {
            wire = null; // what comes next is another attempt
        } else if (error instanceof ServerException refusal && Errors.isElsewhere(refusal.getMessage())) {
            by.close(error);
            failed(error, false);
        } else {
            failed(error, true);
        }
    }

    /** Asks the shard that has the slot. This one has not done the command. */
    private void redirected(ServerException error) {
        int moved = Errors.slot(error.getMessage());
        slot = moved < 0 ? slot : moved;
        long pause = Shards.pause(++redirections).toNanos();
        if (System.nanoTime() + pause > end) {
            reply.completeExceptionally(unanswered(error));
        } else {
            commands.later(pause, this::send);
        }
    }

    private NoConnectionException unanswered(RuntimeException failure) {
        return new NoConnectionException("the server has not answered " + what() + ": " + failure.getMessage(), failure);
    }

    /** What a chain of futures has wrapped. */
    static RuntimeException cause(Throwable error) {
        Throwable cause = error instanceof CompletionException && error.getCause() != null ? error.getCause() : error;
        if (cause instanceof CancellationException) {
            return new BrokenException("the connection was given up", cause);
        }
        return cause instanceof RuntimeException known ? known : new LockException(String.valueOf(cause.getMessage()), cause);
    }

    /** An attempt has failed; done: the command may have been done all the same. */
    private void failed(RuntimeException failure, boolean done) {
        if (failure instanceof ServerException refusal && Errors.isReply(refusal)) {
            reply.completeExceptionally(Errors.meaning(refusal, () -> Slots.keysOf(words)));
            return;
        }
        if (!(failure instanceof ServerException) && !(failure instanceof BrokenException)) {
            reply.completeExceptionally(failure);
            return;
        }
        long pause = TimeUnit.MILLISECONDS.toNanos(PAUSES_MS[Math.min(attempt++, PAUSES_MS.length - 1)]);
        if (done && !again || System.nanoTime() + pause > end) {
            reply.completeExceptionally(unanswered(failure));
        } else {
            commands.later(pause, this::send);
        }
    }

    /** Gives up because the time is over. A connection that has not answered is closed. */
    void expire() {
        Duration took = Duration.ofNanos(System.nanoTime() - began);
        Wire silent = wire;
        if (reply.completeExceptionally(new NoConnectionException("the server has not answered " + what() + " within " + took, null)) && silent != null) {
            silent.close(new BrokenException("no answer of " + silent.address, null));
        }
    }

    /** The command and its key, for errors. */
    private String what() {
        int key = words[0].equals("EVAL") ? 3 : 1;
        return words.length <= key ? words[0] : words[0] + " \"" + words[key] + "\"";
    }
}
