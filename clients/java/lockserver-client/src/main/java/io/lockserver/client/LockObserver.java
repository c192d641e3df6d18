package io.lockserver.client;

import java.time.Duration;

/** Hears what becomes of locks, for metrics and logs. The methods are called by the thread that asked or by threads of the client, and must return soon. What one throws goes to the thread's uncaught exception handler. */
public interface LockObserver {
    /** A lock was acquired after so long. */
    default void acquired(String key, Duration waited) {
    }

    /** A lock was not acquired, after so long, for that reason. */
    default void refused(String key, Duration waited, Exception reason) {
    }

    /** A lock was released that was held for so long. */
    default void released(String key, Duration held) {
    }

    /** A lock was lost that was held for so long. */
    default void lost(LockLostException loss, Duration held) {
    }

    /** The attached connection is there; over several shards, those of all that are used. */
    default void attached() {
    }

    /** The attached connection, or that of a shard, is gone, and the client looks for the server. */
    default void detached(Throwable reason) {
    }
}
