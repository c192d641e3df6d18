// Latches: a count that goes down once.

import { setMaxListeners } from 'node:events';
import { lastWord, PAUSES } from './channel.js';
import { now, rest, Timer } from './clock.js';
import { about, abortedBy, ClosedError, isReply, NoAnswerError, translated } from './errors.js';
import type { Locks } from './locks.js';
import type { Shards } from './shards.js';
import * as values from './values.js';

export class Latch {
  /** @internal */
  constructor(private readonly locks: Locks, private readonly watches: Watches, readonly key: string) {}

  /** Closes the latch with a count. false: there is a latch already, and nothing has changed. */
  async set(count: number): Promise<boolean> {
    return await this.once(['LATCH.SET', this.key, values.whole(count, 'a count')]) === 1;
  }

  /**
   * Takes `n` counts and resolves to what is left; at 0 the latch is open. It is sent once: after a NoAnswerError it may have
   * been done.
   */
  async down(n = 1): Promise<number> {
    return Number(await this.once(['LATCH.DOWN', this.key, values.whole(n, 'a count')]));
  }

  /** What is left; 0: the latch is open. */
  async count(): Promise<number> {
    return this.countWithin();
  }

  private once(words: Array<string | number>) {
    return this.locks.shards.once(words).catch((error: unknown) => { throw translated(error); });
  }

  /**
   * Waits until the latch is open: true; false at the end of `wait` (milliseconds). All calls of a client that wait for
   * one latch share a connection. Errors: DeadlineError or CancelledError (by `signal`), NoAnswerError, ClosedError,
   * ReplyError.
   */
  async wait(options: { wait?: number; signal?: AbortSignal } = {}): Promise<boolean> {
    values.options(options, 'wait()', 'wait', 'signal');
    const [wait, signal] = [values.wait(options.wait), values.signal(options.signal)];
    if (signal?.aborted) throw abortedBy(signal);
    if (wait === 0) return await this.count() === 0;
    if (signal) setMaxListeners(0, signal);
    return new Promise((resolve, reject) => {
      let over = false;
      const end = () => {
        over = true;
        timer?.stop();
        signal?.removeEventListener('abort', aborted);
        this.watches.leave(this.key, waiter);
      };
      const waiter: Waiter = (error) => {
        if (over) return;
        end();
        if (error) reject(error);
        else resolve(true);
      };
      const aborted = () => waiter(about(abortedBy(signal!), [this.key]) as Error);
      const last = wait === undefined ? 0 : lastWord(wait);
      // A server that is silent has not said that the latch is closed: it is asked once more.
      const timer = wait === undefined ? undefined : new Timer(wait - last, () => {
        this.countWithin(last).then((left) => {
          if (over) return;
          end();
          resolve(left === 0);
        }, waiter);
      }, true);
      signal?.addEventListener('abort', aborted, { once: true });
      this.watches.join(this.key, waiter);
    });
  }

  private async countWithin(limit?: number): Promise<number> {
    return Number(await this.locks.shards.ask(['LATCH.GET', this.key], limit));
  }
}

/** Hears that a latch is open, or why it will not. */
type Waiter = (error: Error | undefined) => void;

/** The latches that calls of a client wait for. */
export class Watches {
  private readonly watches = new Map<string, { waiters: Set<Waiter>; stop: AbortController }>();

  constructor(private readonly shards: Shards) {}

  join(key: string, waiter: Waiter): void {
    let watch = this.watches.get(key);
    if (!watch) {
      watch = { waiters: new Set(), stop: new AbortController() };
      this.watches.set(key, watch);
      const { waiters, stop } = watch;
      this.run(key, stop.signal).then(() => undefined, (error: unknown) => error as Error).then((error) => {
        if (this.watches.get(key)?.stop === stop) this.watches.delete(key);
        for (const call of [...waiters]) call(error);
      });
    }
    watch.waiters.add(waiter);
  }

  leave(key: string, waiter: Waiter): void {
    const watch = this.watches.get(key);
    if (!watch?.waiters.delete(waiter) || watch.waiters.size > 0) return;
    this.watches.delete(key);
    watch.stop.abort();
  }

  /** Waits for a latch by one connection after the other, as long as the server is not silent for too long. */
  private async run(key: string, signal: AbortSignal): Promise<void> {
    let silent: number | undefined; // since when
    for (let attempt = 0; ; attempt++) {
      const began = now();
      try {
        if (await this.shards.block(['LATCH.WAIT', key, 'WAIT', 0], key, undefined, signal) === 1) return;
      } catch (error) {
        if (signal.aborted || error instanceof ClosedError || isReply(error)) throw translated(error);
        if (now() - began > 1000) { // it was connected for a while
          silent = undefined;
          attempt = 0;
        }
        silent ??= now();
        if (now() - silent > this.shards.limit) throw error instanceof NoAnswerError ? error : new NoAnswerError(error);
      }
      await rest(PAUSES[Math.min(attempt, PAUSES.length - 1)]!);
    }
  }
}
