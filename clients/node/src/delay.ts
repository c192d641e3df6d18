// Entries that are added to a stream later.

import { randomUUID } from 'node:crypto';
import { fieldsOf } from './info.js';
import type { Locks } from './locks.js';
import type { Reply, Word } from './resp.js';
import * as values from './values.js';

/** When an entry is due: so many milliseconds from now, or at a time (milliseconds since 1970, or a Date). */
export type Due = { delay: number } | { at: number | Date };

/** What becomes of times that pass while the server cannot add entries. */
export type Missed = 'once' | 'skip' | 'all';

/** The options of a rule. Times are milliseconds. */
export interface RuleOptions {
  /** The earliest time of the first entry: so many milliseconds from now. Without `delay` and `at` it is one interval from now, or now with `cron`. */
  delay?: number;
  /** The earliest time of the first entry: milliseconds since 1970, or a Date. */
  at?: number | Date;
  /** The rule ends with so many entries. */
  times?: number;
  /** No entry is due after this time: milliseconds since 1970, or a Date. */
  until?: number | Date;
  /**
   * "once" (the default): an entry is added late for the first of the times that pass while the server cannot add entries. "skip":
   * for none of them. "all": for each, 1,000 in a row at most.
   */
  missed?: Missed;
}

/**
 * When a recurring entry is due: each `every` milliseconds, or at the times of a cron expression of five fields, or of six with
 * seconds first. `zone` is the time zone of the expression, such as "Asia/Shanghai": UTC by default.
 */
export type Rule = RuleOptions & ({ every: number; cron?: undefined; zone?: undefined } | { cron: string; zone?: string; every?: undefined });

/** The rule of an entry that is pending. */
export interface PendingRule {
  every?: number;
  cron?: string;
  zone?: string;
  /** How many entries are left. */
  times?: number;
  /** Milliseconds since 1970. */
  until?: number;
  missed: Missed;
}

/**
 * The field of a recurring entry in its stream that has the time at which the entry was due, in milliseconds since 1970. The
 * server adds it behind the entry's own fields. See also Entry.due.
 */
export const DUE_FIELD = 'delay.due';

/** The value of a field. */
export type FieldValue = string | number | bigint | Uint8Array;

/** An entry that is pending. */
export interface Pending {
  id: string;
  /** Milliseconds since 1970. Of a recurring entry: the next time. */
  at: number;
  fields: Record<string, string>;
  /** Of a recurring entry. */
  rule?: PendingRule;
}

function dueWords(due: Due): Word[] {
  const { delay, at } = values.options(due as { delay?: number; at?: number | Date }, 'a time', 'delay', 'at');
  if ((delay === undefined) === (at === undefined)) throw new TypeError('a time is either { delay } or { at }');
  return at === undefined ? ['PX', values.time(delay, 'a delay', 0)] : ['AT', moment(at, 'a time', 0)];
}

const moment = (it: number | Date, what: string, least: number): number => values.time(it instanceof Date ? it.getTime() : it, what, least);

const MISSED: readonly unknown[] = ['once', 'skip', 'all'];

/** The words of a time, or of a rule. */
function whenWords(when: Due | Rule): Word[] {
  const { delay, at, every, cron, zone, times, until, missed } =
    values.options(when as Partial<Rule>, 'a time', 'delay', 'at', 'every', 'cron', 'zone', 'times', 'until', 'missed');
  const start: { delay?: number; at?: number | Date } = { ...(delay === undefined ? {} : { delay }), ...(at === undefined ? {} : { at }) };
  if (every === undefined && cron === undefined) {
    for (const [name, it] of Object.entries({ zone, times, until, missed })) {
      if (it !== undefined) throw new TypeError(`${name} is for entries that recur: give every or cron, too`);
    }
    return dueWords(start as Due);
  }
  if (every !== undefined && cron !== undefined) throw new TypeError('a rule is either { every } or { cron }');
  if (cron === undefined && zone !== undefined) throw new TypeError('zone is the time zone of a cron expression');
  if (missed !== undefined && !MISSED.includes(missed)) throw new RangeError(`missed is one of ${MISSED.join(', ')}, and not ${values.show(missed)}`);
  const words = delay === undefined && at === undefined ? [] : dueWords(start as Due);
  if (cron === undefined) words.push('EVERY', values.time(every, 'an interval'));
  else words.push('CRON', values.name(cron, 'a cron expression'), ...(zone === undefined ? [] : ['TZ', values.name(zone, 'a zone')]));
  if (times !== undefined) words.push('TIMES', values.whole(times, 'a number of times'));
  if (until !== undefined) words.push('UNTIL', moment(until, 'an end', 1));
  if (missed !== undefined) words.push('MISSED', missed.toUpperCase());
  return words;
}

/** Returns the rule of an entry; undefined: it does not recur. */
function ruleOf(reply: Reply | undefined): PendingRule | undefined {
  if (!Array.isArray(reply)) return undefined;
  const { EVERY, CRON, TZ, TIMES, UNTIL, MISSED: missed } = fieldsOf(reply);
  return {
    ...(EVERY === undefined ? {} : { every: Number(EVERY) }), ...(CRON === undefined ? {} : { cron: String(CRON), zone: String(TZ) }),
    ...(TIMES === undefined ? {} : { times: Number(TIMES) }), ...(UNTIL === undefined ? {} : { until: Number(UNTIL) }),
    missed: String(missed).toLowerCase() as Missed,
  };
}

/** Returns a pending entry of its time, its fields and, if it recurs, the words of its rule. */
function pendingOf(id: string, [at, fields, words]: Reply[]): Pending {
  const rule = ruleOf(words);
  return { id, at: Number(at), fields: textsOf(fields!), ...(rule && { rule }) };
}

const textsOf = (reply: Reply): Record<string, string> => Object.fromEntries(Object.entries(fieldsOf(reply)).map(([name, it]) => [name, String(it)]));

export class Delayed {
  /** @internal */
  constructor(private readonly locks: Locks, readonly stream: string) {}

  private again(words: Word[]): Promise<Reply> { return this.locks.shards.ask(words); }

  /**
   * Has an entry be added when it is due, and resolves to its id. With a rule (`every` or `cron`) it is added again and again, until
   * cancel(). With an `id` that is pending already nothing changes: undefined. A rule that the server does not understand, or that
   * has no time before its end, is refused with a ReplyError. Like cancel() and move() it is sent again while the server does not answer: the server knows a repetition,
   * also if the entry has been added meanwhile. After a NoAnswerError it may be pending, or have been added.
   */
  async add(fields: Record<string, FieldValue>, due: Due | Rule, id: string = randomUUID()): Promise<string | undefined> {
    const words: Word[] = ['DELAY.ADD', this.stream, ...whenWords(due), 'ID', values.name(id, 'an id'), 'ONCE', randomUUID()];
    const reply = await this.again([...words, ...values.fields(fields)]);
    return reply === null ? undefined : String(reply);
  }

  /** true: it was pending, and is not any more. */
  async cancel(id: string): Promise<boolean> { return this.change('DELAY.CANCEL', id); }

  /** Has it be due at another time; of a recurring entry the next one alone. false: no such entry is pending. */
  async move(id: string, due: Due): Promise<boolean> { return this.change('DELAY.MOVE', id, ...dueWords(due)); }

  private async change(command: string, id: string, ...words: Word[]): Promise<boolean> {
    return await this.again([command, this.stream, values.name(id, 'an id'), ...words, 'ONCE', randomUUID()]) === 1;
  }

  async get(id: string): Promise<Pending | undefined> {
    const reply = await this.again(['DELAY.GET', this.stream, values.name(id, 'an id')]);
    return Array.isArray(reply) ? pendingOf(id, reply) : undefined;
  }

  /** Entries in the order in which they are due, from a time on (milliseconds since 1970): 100, or `count`. */
  async list(options: { from?: number; count?: number } = {}): Promise<Pending[]> {
    const { from, count } = values.options(options, 'list()', 'from', 'count');
    const words: Word[] = ['DELAY.LIST', this.stream];
    if (from !== undefined) words.push('FROM', values.time(from, 'a time', 0));
    if (count !== undefined) words.push('COUNT', values.whole(count, 'a count'));
    const reply = await this.again(words);
    return (Array.isArray(reply) ? reply : []).map((it) => {
      const [id, ...parts] = it as Reply[];
      return pendingOf(String(id), parts);
    });
  }

  /** How many are pending. */
  async count(): Promise<number> { return Number(await this.again(['DELAY.COUNT', this.stream])); }
}
