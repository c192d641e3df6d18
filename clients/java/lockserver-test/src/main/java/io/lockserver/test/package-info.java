/**
 * A lockserver for tests. {@link io.lockserver.test.LockserverTest} gives each test a server of its own in test mode, with its
 * clock, its faults and a client as arguments. {@link io.lockserver.test.Lockserver} is a process for any other use, and
 * {@link io.lockserver.test.LockserverContainer} a container.
 *
 * <p>The program is what the property {@code lockserver.program} or the environment's {@code LOCKSERVER} names, or else
 * {@code lockserver} in {@code PATH}.
 */
package io.lockserver.test;
