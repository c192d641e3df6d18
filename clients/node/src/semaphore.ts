// Semaphores: at most so many permits at a time, each a lease like a lock.

import type { Lock } from './lock.js';
import { during, type LockOptions, type Locks, type LockTask } from './locks.js';
import { translated } from './errors.js';

export interface SemaphoreOptions extends Omit<LockOptions, 'shared'> {
  /** How many permits: 1 by default. All of them are granted in one moment, or none. */
  permits?: number;
}

export class Semaphore {
  /** @internal */
  constructor(private readonly locks: Locks, readonly key: string, readonly limit: number) {
    if (!Number.isSafeInteger(limit) || limit < 1) throw new RangeError(`a limit of ${limit} permits is not a whole number from 1`);
  }

  /**
   * Acquires permits. Errors: those of Locks.acquire(). The semaphore has another limit: a ReplyError that begins with
   * LIMITMISMATCH.
   */
  async acquire(options: SemaphoreOptions = {}): Promise<Lock> {
    const { permits = 1 } = options;
    if (!Number.isSafeInteger(permits) || permits < 1) throw new RangeError(`${permits} permits are not a whole number from 1`);
    return this.locks.take({
      kind: 'semaphore', keys: [this.key], shared: false, lease: options.lease ?? 0, tries: false, limit: this.limit, permits,
    }, options);
  }

  /** Runs a task while it holds permits: see Locks.using(). */
  using<T>(task: LockTask<T>): Promise<T>;
  using<T>(options: SemaphoreOptions, task: LockTask<T>): Promise<T>;
  async using<T>(first: SemaphoreOptions | LockTask<T>, second?: LockTask<T>): Promise<T> {
    return typeof first === 'function' ? during(this.acquire(), first) : during(this.acquire(first), second!);
  }

  /** Changes the limit of the semaphore, if there is one: false. Its holders keep what they have. */
  async resize(limit: number): Promise<boolean> {
    return await this.locks.keeper.channel.again(['SEM.RESIZE', this.key, limit]).catch((error: unknown) => { throw translated(error); }) === 1;
  }
}
