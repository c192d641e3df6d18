package io.lockserver.client;

/** A name that the server knows a holder by. */
final class Owner {
    final String name;
    /** A request of this owner may still reach the server, so no later request may have the name. */
    volatile boolean spoiled;

    Owner(String name) {
        this.name = name;
    }
}
