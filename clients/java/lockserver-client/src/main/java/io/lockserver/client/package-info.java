/**
 * Holds locks on a lockserver for as long as the program that took them lives, and says when one is lost.
 *
 * <pre>{@code
 * try (LockClient locks = LockClient.create("redis://127.0.0.1:6379");
 *         HeldLock lock = locks.lock("order:42", Duration.ofSeconds(5))) {
 *     charge(lock.token());
 * }
 * }</pre>
 *
 * <p>{@link io.lockserver.client.LockClient} is where everything begins. A client has two connections of its own, whatever
 * the number of its locks and waiters. One is attached to the prefix of its owners' names: by that the server renews the
 * leases and reports grants and losses. The other one carries commands. Both are made anew when they break. Over the shards of a cluster
 * there are two for each shard that is used.
 *
 * <p>Inside, {@code Keeper} has what is held, {@code Shards} the map of a cluster, {@code Shard} an attached connection, {@code Channel}
 * the second one, {@code Waits} the requests that are not over, and {@code Debts} what has to be released although the server did not
 * answer. A plain server is one shard with all keys. Add a kind of lock in {@code Wish}, which has the words of each.
 */
package io.lockserver.client;
