package io.lockserver.client;

import java.util.List;
import java.util.function.Supplier;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisURI;

/** The meaning of replies that are errors. */
final class Errors {
    private Errors() {
    }

    /** Whether the server has answered. One that does not lead has not: another one is to be asked. */
    static boolean isReply(RuntimeException error) {
        return error == null || error instanceof ServerException && !isElsewhere(error.getMessage());
    }

    /** Whether a reply is that of a server that does not lead, or not yet. */
    static boolean isElsewhere(String reply) {
        int blank = reply.indexOf(' ');
        return switch (blank < 0 ? reply : reply.substring(0, blank)) {
            case "MOVED", "CLUSTERDOWN", "MASTERDOWN", "READONLY", "LOADING" -> true;
            default -> reply.startsWith("UNBLOCKED force unblock");
        };
    }

    /** The server that a {@code -MOVED slot host:port} names, reached as the one that said so is; null for other replies. */
    static RedisURI moved(String reply, RedisURI from, Dialer dialer) {
        String[] words = reply.split(" ");
        if (!words[0].equals("MOVED") || words.length < 3) {
            return null;
        }
        int colon = words[2].lastIndexOf(':');
        return dialer.named(from, words[2].substring(0, Math.max(colon, 0)), Integer.parseInt(words[2].substring(colon + 1)));
    }

    /** The error reply in a chain of causes, null if there is none. */
    static String reply(Throwable error) {
        for (Throwable cause = error; cause != null; cause = cause.getCause()) {
            if (cause instanceof RedisCommandExecutionException) {
                return String.valueOf(cause.getMessage());
            }
        }
        return null;
    }

    /** The slot that a {@code -MOVED slot host:port} is about; -1 for other replies. */
    static int slot(String reply) {
        String[] words = reply.split(" ");
        return words[0].equals("MOVED") && words.length > 2 ? Integer.parseInt(words[1]) : -1;
    }

    /** An error reply as an exception of its meaning. */
    static LockException meaning(ServerException reply) {
        return meaning(reply, List::of);
    }

    /** The same for a call with some keys, for the errors that name them. */
    static LockException meaning(ServerException reply, Supplier<List<String>> keys) {
        String text = reply.getMessage();
        if (reply.code().equals("CROSSSLOT")) {
            return new CrossSlotException(text, keys.get());
        }
        if (text.startsWith("DEADLOCK")) {
            return new DeadlockException(text);
        }
        if (text.regionMatches(true, 0, "ERR unknown command", 0, 19)) {
            return new NotLockserverException(text);
        }
        return reply;
    }
}
