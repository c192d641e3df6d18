// The locks around the code that runs: those of the functions of using() and campaign() that have not ended yet, also
// behind an await. So a nested call has the owner of the lock around it, and one that would wait for itself is known.

import { AsyncLocalStorage } from 'node:async_hooks';
import { DeadlockError } from './errors.js';
import type { Lock } from './lock.js';
import { Task } from './task.js';
import type { Shards } from './shards.js';
import type { Wish } from './wish.js';

interface Around {
  lock: Lock;
  outer: Around | undefined;
}

const flow = new AsyncLocalStorage<Around>();

/** Runs a function that holds a lock. */
export function inside<T>(lock: Lock, run: () => T): T {
  return flow.run({ lock, outer: flow.getStore() }, run);
}

/** The locks of a client that the running code is inside of, and still has, the innermost first. */
function locksAround(shards: Shards): Lock[] {
  const found: Lock[] = [];
  for (let at = flow.getStore(); at; at = at.outer) if (at.lock.its.keeper.shards === shards && at.lock.isHeld) found.push(at.lock);
  return found;
}

/**
 * Returns the owner of a nested call: that of the innermost lock around it. So the server finds cycles of owners that wait for each
 * other. A key that another branch of the same flow has, or asks for, is asked for by a new owner: the branches keep each other
 * out. Throws a DeadlockError if the call would wait for a lock around it, unless it may be taken again.
 */
export function ownerOf(shards: Shards, wish: Wish, reentrant: boolean): Task {
  const around = locksAround(shards);
  const apart = () => new Task(shards.newOwner());
  if (wish.kind !== 'semaphore') {
    for (const lock of around) {
      const key = lock.keys.find((it) => wish.keys.includes(it));
      if (key === undefined || lock.its.wish.kind === 'semaphore') continue;
      if (reentrant || (lock.its.wish.shared && wish.shared)) return lock.its.task;
      if (wish.tries) return apart();
      throw new DeadlockError(`${JSON.stringify(key)} is held by the function around this call, since ${lock.acquiredAt}. `
        + 'To take it again say { within: lock }, or { reentrant: true } where the client is made');
    }
  }
  const task = around[0]?.its.task;
  return task?.isIdle(wish.keys) ? task : apart();
}
