// Leader election: a function that runs while this process holds a lock.

import { rest } from './clock.js';
import { PAUSES } from './channel.js';
import { abortedBy, LockLostError, NoAnswerError, NotAcquiredError } from './errors.js';
import type { Lock } from './lock.js';
import type { Locks, LockTask } from './locks.js';

/** See Locks.campaign. */
export async function campaign<T>(locks: Locks, key: string, options: { signal?: AbortSignal }, lead: LockTask<T>): Promise<T> {
  const { signal } = options;
  for (let attempt = 0; ; attempt++) {
    let lock: Lock;
    try {
      lock = await locks.acquire(key, options);
    } catch (error) {
      const again = error instanceof NoAnswerError || error instanceof LockLostError || error instanceof NotAcquiredError;
      if (signal?.aborted) throw abortedBy(signal);
      if (!again) throw error;
      await rest(PAUSES[Math.min(attempt, PAUSES.length - 1)]!);
      continue;
    }
    attempt = 0;
    let result: T | undefined;
    let failure: unknown;
    let failed = false;
    try {
      result = await lead(lock);
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
