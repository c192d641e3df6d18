package io.lockserver.client;

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
    static RedisURI moved(String reply, RedisURI from) {
        String[] words = reply.split(" ");
        if (!words[0].equals("MOVED") || words.length < 3) {
            return null;
        }
        int colon = words[2].lastIndexOf(':');
        RedisURI uri = RedisURI.builder(from).build();
        if (colon > 0) {
            uri.setHost(words[2].substring(0, colon));
        }
        uri.setPort(Integer.parseInt(words[2].substring(colon + 1)));
        return uri;
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

    /** An error reply as an exception of its meaning. */
    static LockException meaning(ServerException reply) {
        String text = reply.getMessage();
        if (text.startsWith("DEADLOCK")) {
            return new DeadlockException(text);
        }
        if (text.regionMatches(true, 0, "ERR unknown command", 0, 19)) {
            return new NotLockserverException(text);
        }
        return reply;
    }
}
