package io.lockserver.client;

/** The server replied with an error. {@link #getMessage()} is the reply, for instance {@code NOPERM ...}. */
public class ServerException extends LockException {
    private static final long serialVersionUID = 1L;

    ServerException(String reply) {
        super(reply);
    }

    /** The first word of the reply: {@code ERR}, {@code WRONGTYPE}, {@code NOPERM} and so on. */
    public String code() {
        int blank = getMessage().indexOf(' ');
        return blank < 0 ? getMessage() : getMessage().substring(0, blank);
    }
}
