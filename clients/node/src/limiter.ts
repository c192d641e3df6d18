// Rates: at most so many calls in a time, on any number of machines.

import { lastWord } from './channel.js';
import { now } from './clock.js';
import { ReplyError, translated } from './errors.js';
import type { Locks } from './locks.js';
import type { Reply, Word } from './resp.js';
import * as values from './values.js';

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
  readonly rate: Readonly<Required<Rate>>;

  /** @internal */
  constructor(private readonly locks: Locks, readonly key: string, rate: Rate) {
    const { count, period, burst = count } = values.options(rate, 'a rate', 'count', 'period', 'burst');
    values.whole(count, 'a count');
    values.time(period, 'a period');
    values.whole(burst, 'a burst');
    this.rate = { count, period, burst };
  }

  /**
   * Takes units: 1, or `cost`; 0 only looks. With `wait` (milliseconds) the server answers when the units are there,
   * first come first served for each key. Any number of calls wait over the one connection of the client. Without `wait`
   * it is sent once: after a NoAnswerError the units may have been taken. A call that waits asks again when the connection
   * has broken, with its place in the queue kept; where the answer was lost it takes the cost once more. Errors:
   * DeadlineError or CancelledError (by `signal`), NoAnswerError, ReplyError.
   */
  async take(options: { cost?: number; wait?: number; signal?: AbortSignal } = {}): Promise<Taken> {
    const { cost = 1 } = values.options(options, 'take()', 'cost', 'wait', 'signal');
    const wait = options.wait === undefined ? 0 : values.wait(options.wait) ?? Infinity;
    const signal = values.signal(options.signal);
    const { count, period, burst } = this.rate;
    const rate: Word[] = [burst, count, period, 'COST', values.whole(cost, 'a cost', 0, burst)];
    const { channel } = this.locks.keeper;
    let limit = channel.limit;
    if (wait > 0) {
      const end = now() + wait;
      const numbers = await this.locks.units(this.key, rate, wait - lastWord(wait), signal);
      if (numbers) return takenOf(numbers);
      limit = Math.min(limit, Math.max(1, end - now()));
    }
    // At the end of a wait this says what the limiter has now, and takes the units if they have just come.
    const reply = await channel.once(['LIMIT.TAKE', this.key, ...rate], limit, signal).catch((error: unknown) => { throw translated(error); });
    return takenOf(reply);
  }
}

function takenOf(reply: Reply): Taken {
  if (!Array.isArray(reply) || reply.length < 5) throw new ReplyError('ERR the reply of LIMIT.TAKE is none');
  const [allowed, limit, remaining, retryAfter, resetAfter] = reply.map(Number) as [number, number, number, number, number];
  return { allowed: allowed === 1, limit, remaining, retryAfter, resetAfter };
}
