package io.lockserver.client;

import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** Looks at keys that any client may hold, and frees them. The keys were checked. Each call is a future, with an end by System.nanoTime. */
final class Inspection {
    private final Commands commands;

    Inspection(Commands commands) {
        this.commands = commands;
    }

    /** A call of this class. */
    interface Question<T> {
        CompletableFuture<T> ask(String key, long end);
    }

    /** Waits for the answer. */
    <T> T now(Question<T> question, String key) {
        long end = commands.deadline();
        return commands.get(question.ask(key, end), end);
    }

    /** Returns a future for a caller. */
    <T> CompletableFuture<T> later(Question<T> question, String key) {
        long end = commands.deadline();
        return commands.promised(question.ask(key, end), end);
    }

    CompletableFuture<Optional<LockInfo>> info(String key, long end) {
        return commands.askAgain(end, "LOCK.INFO", key).thenApply(LockInfo::of);
    }

    CompletableFuture<Boolean> isHeld(String key, long end) {
        return commands.askAgain(end, "LOCK.INFO", key, "COUNT", "1")
                .thenApply(reply -> LockInfo.of(reply).filter(info -> !info.holders().isEmpty()).isPresent());
    }

    /** Releases the key, of those owners only that were seen: a later one keeps it, also if an answer was lost. */
    CompletableFuture<Boolean> force(String key, long end) {
        return info(key, end).thenCompose(found -> {
            List<LockInfo.Holder> holders = found.map(LockInfo::holders).orElse(List.of());
            CompletableFuture<?> forced = CompletableFuture.completedFuture(null);
            for (LockInfo.Holder holder : holders) {
                forced = forced.thenCompose(reply -> commands.askAgain(end, "LOCK.FORCE", key, "OWNER", holder.owner()));
            }
            return forced.thenApply(reply -> !holders.isEmpty());
        });
    }
}
