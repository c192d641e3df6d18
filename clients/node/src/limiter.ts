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

/** What came of a call for several limiters. Times are milliseconds. */
export interface LimitsTaken {
  /** The units are taken from all of them. If not, nothing has changed. */
  allowed: boolean;
  /** The place of the first limiter that refuses, from 1; 0: none does. */
  refusedBy: number;
  /** How many units all could give now: the least of them. */
  remaining: number;
  /** If refused, after how long all could give the cost. */
  retryAfter: number;
  /** After how long all are full again. */
  resetAfter: number;
}

/** How units are taken. */
export interface TakeOptions {
  /** How many units: 1 by default; 0 only looks. */
  cost?: number;
  /** The longest wait for the units, in milliseconds. Without it the call does not wait. */
  wait?: number;
  /** Ends the call. */
  signal?: AbortSignal;
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
  async take(options: TakeOptions = {}): Promise<Taken> {
    const { wait, signal } = optionsOf(options, 'take()');
    return takenOf(await ask(this.locks, [this.key], this.words('LIMIT.TAKE', options.cost), wait, signal));
  }

  /**
   * Gives units back: 1, or `cost`, for a call that was not made. The limiter is never more than full, and calls that wait get
   * them, first come first served. It is sent once: after a NoAnswerError the units may have been given back. Errors: as take().
   */
  async give(cost = 1, options: { signal?: AbortSignal } = {}): Promise<Taken> {
    const signal = values.signal(values.options(options, 'give()', 'signal').signal);
    return takenOf(await ask(this.locks, [this.key], this.words('LIMIT.GIVE', cost), 0, signal));
  }

  private words(command: string, cost: number | undefined): Word[] { return [command, ...this.terms, 'COST', this.costOf(cost)]; }

  /** @internal The key and the rate in the words of the server. */
  get terms(): Word[] { return [this.key, this.rate.burst, this.rate.count, this.rate.period]; }

  /** @internal Checks a cost. */
  costOf(cost: number | undefined = 1): number { return values.whole(cost, 'a cost', 0, this.rate.burst); }

  /** @internal */
  isOf(locks: Locks): boolean { return this.locks === locks; }
}

/** See Locks.takeLimits. */
export async function takeLimits(locks: Locks, limiters: readonly Limiter[], options: TakeOptions = {}): Promise<LimitsTaken> {
  const { wait, signal } = optionsOf(options, 'takeLimits()');
  if (!Array.isArray(limiters)) throw new TypeError('limiters are an array');
  if (limiters.length === 0 || limiters.length > MOST_LIMITERS) throw new RangeError(`${limiters.length} limiters, and not 1 to ${MOST_LIMITERS}`);
  for (const it of limiters as unknown[]) {
    if (!(it instanceof Limiter && it.isOf(locks))) throw new TypeError('limiters are those of locks.limiter(), of the same client');
  }
  const keys = limiters.map((it) => it.key);
  if (new Set(keys).size < keys.length) throw new RangeError('a limiter is named twice');
  const costs = limiters.map((it) => it.costOf(options.cost));
  const words: Word[] = ['LIMIT.MTAKE', limiters.length, ...limiters.flatMap((it) => it.terms), 'COST', costs[0]!];
  const [allowed, refusedBy, remaining, retryAfter, resetAfter] = await ask(locks, keys, words, wait, signal);
  return { allowed: allowed === 1, refusedBy, remaining, retryAfter, resetAfter };
}

/** How many limiters a call may name on the server. */
const MOST_LIMITERS = 64;

function optionsOf(options: TakeOptions, call: string): { wait: number; signal: AbortSignal | undefined } {
  values.options(options, call, 'cost', 'wait', 'signal');
  return { wait: options.wait === undefined ? 0 : values.wait(options.wait) ?? Infinity, signal: values.signal(options.signal) };
}

/** The five numbers of a reply. */
type Numbers = [number, number, number, number, number];

/** Sends a command of limiters, and waits for the units if it is to wait. */
async function ask(locks: Locks, keys: readonly string[], words: readonly Word[], wait: number, signal: AbortSignal | undefined): Promise<Numbers> {
  const { shards } = locks;
  shards.together(keys);
  let limit = shards.limit;
  if (wait > 0) {
    const end = now() + wait;
    const numbers = await locks.units(keys, words, wait - lastWord(wait), signal);
    if (numbers) return numbersOf(words, numbers);
    limit = Math.min(limit, Math.max(1, end - now()));
  }
  // At the end of a wait this says what the limiters have now, and takes the units if they have just come.
  return numbersOf(words, await shards.once(words, limit, signal).catch((error: unknown) => { throw translated(error); }));
}

function numbersOf([command]: readonly Word[], reply: Reply): Numbers {
  if (!Array.isArray(reply) || reply.length < 5) throw new ReplyError(`ERR the reply of ${String(command)} is none`);
  return reply.map(Number) as Numbers;
}

function takenOf([allowed, limit, remaining, retryAfter, resetAfter]: Numbers): Taken {
  return { allowed: allowed === 1, limit, remaining, retryAfter, resetAfter };
}
