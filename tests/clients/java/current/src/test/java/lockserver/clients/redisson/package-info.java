/**
 * Redisson against the server: all of it is Lua, so this is also a test of scripting. {@code Locks*} are its locks,
 * {@code *Test} beside them its other objects; {@link lockserver.clients.redisson.MixedLockTest} lets its RLock and the
 * server's LOCK contend for one key.
 */
package lockserver.clients.redisson;
