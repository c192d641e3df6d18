package io.lockserver.client;

/** Identifies a request or a hold: an owner at a key. */
record Place(String owner, String key) {
}
