// Leader election: a function that runs while this process holds a lock.

import { Gate, rest } from './clock.js';
import { PAUSES } from './channel.js';
import { abortedBy, LockLostError, NoAnswerError, NotAcquiredError } from './errors.js';
import { inside } from './flow.js';
import type { Lock } from './lock.js';
import type { Locks, LockTask } from './locks.js';
import * as values from './values.js';
import type { Key } from './values.js';

/** See Locks.campaign. */
export async function campaign<T>(locks: Locks, key: Key, options: { signal?: AbortSignal }, lead: LockTask<T>): Promise<T> {
  const { signal } = options;
  const gone = new Gate();
  const fire = () => gone.fire();
  signal?.addEventListener('abort', fire, { once: true });
  try {
    return await terms(locks, key, options, lead, gone);
  } finally {
    signal?.removeEventListener('abort', fire);
  }
}

async function terms<T>(locks: Locks, key: Key, options: { signal?: AbortSignal }, lead: LockTask<T>, gone: Gate): Promise<T> {
  const { signal } = options;
  for (let attempt = 0; ; attempt++) {
    let lock: Lock;
    try {
      lock = await locks.acquire(key, options);
    } catch (error) {
      const again = error instanceof NoAnswerError || error instanceof LockLostError || error instanceof NotAcquiredError;
      if (signal?.aborted) throw abortedBy(signal);
      if (!again) throw error;
      await rest(PAUSES[Math.min(attempt, PAUSES.length - 1)]!, gone);
      continue;
    }
    attempt = 0;
    let result: T | undefined;
    let failure: unknown;
    let failed = false;
    try {
      result = values.finished(await inside(lock, () => lead(lock)));
    } catch (error) {
      failed = true;
      failure = error;
    }
    const lost = lock.ended instanceof LockLostError ? lock.ended : undefined;
    await lock.release().catch(() => {}); // what is not answered is done later
    if (lost?.reason === 'closed') throw failed ? failure : lost;
    if (lost) continue;
    if (failed) throw failure;
    return result as T;
  }
}
