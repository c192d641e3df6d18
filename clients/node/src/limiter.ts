// Rates: at most so many calls in a time, on any number of machines.

import { ReplyError, translated } from './errors.js';
import type { Locks } from './locks.js';
import type { Reply, Word } from './resp.js';

/** At most `count` units in each `period` (milliseconds), and `burst` at once. */
export interface Rate {
  count: number;
  period: number;
  /** `count` by default. */
  burst?: number;
}

/** What came of a call. Times are milliseconds. */
export interface Taken {
  /** The units are taken. If not, nothing has changed. */
  allowed: boolean;
  /** The burst. */
  limit: number;
  /** How many units could be taken now. */
  remaining: number;
  /** If refused, after how long the cost could be taken. */
  retryAfter: number;
  /** After how long the limiter is full again. */
  resetAfter: number;
}

export class Limiter {
  /** @internal */
  constructor(private readonly locks: Locks, readonly key: string, readonly rate: Rate) {}

  /**
   * Takes units: 1, or `cost`; 0 only looks. With `wait` (milliseconds) the server answers when the units are there,
   * first come first served for each key. Any number of calls wait over the one connection of the client. Without `wait`
   * it is sent once: after a NoAnswerError the units may have been taken. A call that waits asks again when the connection
   * has broken, with its place in the queue kept; where the answer was lost it takes the cost once more. Errors:
   * DeadlineError or CancelledError (by `signal`), NoAnswerError, ReplyError.
   */
  async take(options: { cost?: number; wait?: number; signal?: AbortSignal } = {}): Promise<Taken> {
    const { cost = 1, wait = 0, signal } = options;
    const rate: Word[] = [this.rate.burst ?? this.rate.count, this.rate.count, this.rate.period, 'COST', cost];
    const fail = (error: unknown): never => { throw translated(error); };
    if (wait > 0) {
      const numbers = await this.locks.units(this.key, rate, wait, signal);
      if (numbers) return takenOf(numbers);
    }
    // At the end of a wait this says what the limiter has now, and takes the units if they have just come.
    return takenOf(await this.locks.keeper.channel.once(['LIMIT.TAKE', this.key, ...rate]).catch(fail));
  }
}

function takenOf(reply: Reply): Taken {
  if (!Array.isArray(reply) || reply.length < 5) throw new ReplyError('ERR the reply of LIMIT.TAKE is none');
  const [allowed, limit, remaining, retryAfter, resetAfter] = reply.map(Number) as [number, number, number, number, number];
  return { allowed: allowed === 1, limit, remaining, retryAfter, resetAfter };
}
