// Semaphores: at most so many permits at a time, each a lease like a lock.

import type { Lock } from './lock.js';
import { during, wishOf, type LockOptions, type Locks, type LockTask } from './locks.js';
import { translated } from './errors.js';
import * as values from './values.js';

export interface SemaphoreOptions extends Omit<LockOptions, 'shared'> {
  /** How many permits: 1 by default. All of them are granted in one moment, or none. */
  permits?: number;
}

export class Semaphore {
  /** @internal */
  constructor(private readonly locks: Locks, readonly key: string, readonly limit: number) {
    values.whole(limit, 'a limit');
  }

  /**
   * Acquires permits. Errors: those of Locks.acquire(). The semaphore has another limit: a ReplyError that begins with
   * LIMITMISMATCH.
   */
  async acquire(options?: SemaphoreOptions): Promise<Lock> {
    const { permits = 1 } = values.options(options, 'acquire() of a semaphore', 'permits', 'wait', 'signal', 'lease', 'within', 'trace');
    values.whole(permits, 'a number of permits', 1, this.limit);
    return this.locks.take({ ...wishOf(options), kind: 'semaphore', keys: [this.key], limit: this.limit, permits }, options);
  }

  /** Runs a task while it holds permits: see Locks.using(). */
  using<T>(task: LockTask<T>): Promise<T>;
  using<T>(options: SemaphoreOptions, task: LockTask<T>): Promise<T>;
  async using<T>(first: SemaphoreOptions | LockTask<T>, second?: LockTask<T>): Promise<T> {
    if (typeof first === 'function') return during(this.acquire(), first);
    values.task(second!, 'using()');
    return during(this.acquire(first), second!);
  }

  /** Changes the limit of the semaphore, if there is one: false. Its holders keep what they have. */
  async resize(limit: number): Promise<boolean> {
    const words = ['SEM.RESIZE', this.key, values.whole(limit, 'a limit')];
    return await this.locks.keeper.channel.again(words).catch((error: unknown) => { throw translated(error); }) === 1;
  }
}
