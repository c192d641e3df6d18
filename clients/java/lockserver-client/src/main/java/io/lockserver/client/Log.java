package io.lockserver.client;

import java.time.Duration;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What is told to operators if nobody else tells them: by SLF4J, or by Java's own logger in a program without it. */
final class Log {
    private static final String NAME = "io.lockserver.client";
    private static final String PACKAGE = NAME + ".";
    private static final Sink SINK = isPresent() ? new Slf4j() : new Java();

    private Log() {
    }

    private interface Sink {
        void warn(String text);

        void info(String text);

        void debug(String text);
    }

    private static boolean isPresent() {
        try {
            Class.forName("org.slf4j.LoggerFactory", false, Log.class.getClassLoader());
            return true;
        } catch (ClassNotFoundException | LinkageError e) {
            return false;
        }
    }

    /** It is loaded only if slf4j-api is there. */
    private static final class Slf4j implements Sink {
        private final Logger logger = LoggerFactory.getLogger(NAME);

        @Override
        public void warn(String text) {
            logger.warn(text);
        }

        @Override
        public void info(String text) {
            logger.info(text);
        }

        @Override
        public void debug(String text) {
            logger.debug(text);
        }
    }

    private static final class Java implements Sink {
        private final System.Logger logger = System.getLogger(NAME);

        @Override
        public void warn(String text) {
            logger.log(System.Logger.Level.WARNING, text);
        }

        @Override
        public void info(String text) {
            logger.log(System.Logger.Level.INFO, text);
        }

        @Override
        public void debug(String text) {
            logger.log(System.Logger.Level.DEBUG, text);
        }
    }

    /** A lock was lost. A client that is closed has released it on purpose. */
    static void lost(LockLostException loss, Duration held) {
        String text = loss.getMessage() + ", after " + held.toMillis() + " ms";
        if (loss.reason() == LossReason.CLOSED) {
            SINK.debug(text);
        } else {
            SINK.warn(text);
        }
    }

    /** The connection that is attached is gone. */
    static void detached(String address, Throwable reason) {
        SINK.warn("the connection to " + address + " is lost, and is made anew: " + (reason == null ? "" : reason.getMessage()));
    }

    /** There is a connection, again or for the first time. */
    static void attached(String address) {
        SINK.info("connected to " + address);
    }

    /** A client that starts without a server has found none. */
    static void unreachable(RuntimeException reason) {
        SINK.warn("there is no server yet, and it is tried again: " + reason.getMessage());
    }

    /** A handler of a worker has failed. */
    static void failed(Entry entry, String error) {
        SINK.warn("a handler has failed: entry " + entry.id() + " of \"" + entry.stream() + "\", attempt " + entry.attempt() + ": " + error);
    }

    /** An entry has had its last attempt. */
    static void buried(Entry entry, String dead, String error) {
        SINK.warn("entry " + entry.id() + " of \"" + entry.stream() + "\" is in the dead letter stream \"" + dead + "\": " + error);
    }

    /** The server was not told what came of an entry. */
    static void unsettled(String stream, RuntimeException error) {
        SINK.warn("an entry of \"" + stream + "\" will come again: " + error.getMessage());
    }

    /** The program has forgotten a lock. One with a fixed lease ends by itself. */
    static void forgotten(Hold hold, StackWalker.StackFrame place) {
        String text = hold + " was forgotten, and is still held after " + hold.heldFor().toMillis() + " ms: it was acquired at "
                + (place == null ? "an unknown place" : place.toStackTraceElement());
        if (hold.isRenewedByServer()) {
            SINK.warn(text);
        } else {
            SINK.debug(text);
        }
    }

    /**
     * The place outside of this package that has called it; null: it is not known. Each lock records it, and hardly any is logged. So
     * the frame stays as it is: its text would take as long again.
     */
    static StackWalker.StackFrame caller() {
        return StackWalker.getInstance().walk(frames -> frames.filter(frame -> !frame.getClassName().startsWith(PACKAGE)).findFirst().orElse(null));
    }
}
