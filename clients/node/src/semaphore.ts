// Semaphores: at most so many permits at a time, each a lease like a lock.

import { callerOf } from './claim.js';
import type { Lock } from './lock.js';
import { during, wishOf, type LockOptions, type Locks, type LockTask } from './locks.js';
import { semaphoreInfoOf, type SemaphoreInfo } from './info.js';
import * as values from './values.js';

export interface SemaphoreOptions extends Omit<LockOptions, 'shared'> {
  /** How many permits: 1 by default. All of them are granted in one moment, or none. */
  permits?: number;
}

export class Semaphore {
  /** @internal */
  constructor(private readonly locks: Locks, readonly key: string, readonly limit: number | undefined, private readonly isInitial = false) {
    if (limit !== undefined || isInitial) values.whole(limit, 'a limit');
  }

  /**
   * The same semaphore with a limit that counts only for the call that makes it. So programs with different limits work
   * together, as while they are replaced one by one.
   */
  initial(limit: number): Semaphore { return new Semaphore(this.locks, this.key, limit, true); }

  /**
   * Acquires permits. Errors: those of Locks.acquire(). The semaphore has another limit: a ReplyError that begins with
   * LIMITMISMATCH.
   */
  async acquire(options?: SemaphoreOptions): Promise<Lock> {
    return this.take(options, callerOf(this.acquire));
  }

  private async take(options: SemaphoreOptions | undefined, place: string): Promise<Lock> {
    const { permits = 1 } = values.options(options, 'acquire() of a semaphore', 'permits', 'wait', 'signal', 'lease', 'within', 'priority', 'trace');
    values.whole(permits, 'a number of permits', 1, this.isInitial ? undefined : this.limit);
    return this.locks.take({ ...wishOf(options), kind: 'semaphore', keys: [this.key], limit: this.limit, isInitial: this.isInitial, permits }, options, place);
  }

  /** Runs a task while it holds permits: see Locks.using(). */
  using<T>(task: LockTask<T>): Promise<T>;
  using<T>(options: SemaphoreOptions, task: LockTask<T>): Promise<T>;
  async using<T>(first: SemaphoreOptions | LockTask<T>, second?: LockTask<T>): Promise<T> {
    const place = callerOf(this.using);
    const [options, task] = typeof first === 'function' ? [undefined, first] : [first, second!];
    values.task(task, 'using()');
    return during(this.take(options, place), task);
  }

  /** Changes the limit of the semaphore, if there is one: false. Its holders keep what they have. */
  async resize(limit: number): Promise<boolean> {
    const words = ['SEM.RESIZE', this.key, values.whole(limit, 'a limit')];
    return await this.locks.shards.ask(words) === 1;
  }

  /** Its limit, permits, holders and waiters; undefined: no owner holds a permit. */
  async info(): Promise<SemaphoreInfo | undefined> { return semaphoreInfoOf(await this.locks.shards.ask(['SEM.INFO', this.key])); }
}
