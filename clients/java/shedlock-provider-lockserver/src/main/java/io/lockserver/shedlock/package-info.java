/** ShedLock's locks on a lockserver: {@link io.lockserver.shedlock.LockserverLockProvider}. */
package io.lockserver.shedlock;
