package io.lockserver.client;

import java.time.Duration;
import java.util.Optional;

/** Another owner holds the lock, and the call was not to wait; or an operator ended the wait ({@code LOCK.CANCEL}). */
public class NotAcquiredException extends LockException {
    private static final long serialVersionUID = 1L;

    private final transient LockInfo.Holder holder;

    NotAcquiredException(String message) {
        this(message, null);
    }

    /** holder: one that was seen just after the refusal; null: it is not known. */
    NotAcquiredException(String message, LockInfo.Holder holder) {
        super(holder == null ? message : message + ". The holder is " + text(holder));
        this.holder = holder;
    }

    private static String text(LockInfo.Holder holder) {
        String left = holder.isRenewed() ? "renewed by the server" : holder.remaining().map(Duration::toString).map(rest -> rest + " left").orElse("without an end");
        return holder.owner() + " (token " + holder.token() + ", " + left + (holder.client().isEmpty() ? "" : ", from " + holder.client()) + ")";
    }

    /** The owner that held the lock just after the refusal; empty: it is not known, or there was none any more. */
    public Optional<LockInfo.Holder> holder() {
        return Optional.ofNullable(holder);
    }

    /** The same with the holder. */
    NotAcquiredException of(LockInfo.Holder seen) {
        return new NotAcquiredException(getMessage(), seen);
    }
}
