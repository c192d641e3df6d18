// Entries that are added to a stream later.

import { randomUUID } from 'node:crypto';
import { fieldsOf } from './info.js';
import type { Locks } from './locks.js';
import type { Reply, Word } from './resp.js';
import * as values from './values.js';

/** When an entry is due: so many milliseconds from now, or at a time (milliseconds since 1970, or a Date). */
export type Due = { delay: number } | { at: number | Date };

/** The value of a field. */
export type FieldValue = string | number | bigint | Uint8Array;

/** An entry that is pending. */
export interface Pending {
  id: string;
  /** Milliseconds since 1970. */
  at: number;
  fields: Record<string, string>;
}

function dueWords(due: Due): Word[] {
  const { delay, at } = values.options(due as { delay?: number; at?: number | Date }, 'a time', 'delay', 'at');
  if ((delay === undefined) === (at === undefined)) throw new TypeError('a time is either { delay } or { at }');
  return at === undefined ? ['PX', values.time(delay, 'a delay', 0)] : ['AT', values.time(at instanceof Date ? at.getTime() : at, 'a time', 0)];
}

const textsOf = (reply: Reply): Record<string, string> => Object.fromEntries(Object.entries(fieldsOf(reply)).map(([name, it]) => [name, String(it)]));

export class Delayed {
  /** @internal */
  constructor(private readonly locks: Locks, readonly stream: string) {}

  private again(words: Word[]): Promise<Reply> { return this.locks.shards.ask(words); }

  /**
   * Has an entry be added when it is due, and resolves to its id. With an `id` that is pending already nothing changes:
   * undefined. Like cancel() and move() it is sent again while the server does not answer: the server knows a repetition,
   * also if the entry has been added meanwhile. After a NoAnswerError it may be pending, or have been added.
   */
  async add(fields: Record<string, FieldValue>, due: Due, id: string = randomUUID()): Promise<string | undefined> {
    const words: Word[] = ['DELAY.ADD', this.stream, ...dueWords(due), 'ID', values.name(id, 'an id'), 'ONCE', randomUUID()];
    const reply = await this.again([...words, ...values.fields(fields)]);
    return reply === null ? undefined : String(reply);
  }

  /** true: it was pending, and is not any more. */
  async cancel(id: string): Promise<boolean> { return this.change('DELAY.CANCEL', id); }

  /** Has it be due at another time. false: no such entry is pending. */
  async move(id: string, due: Due): Promise<boolean> { return this.change('DELAY.MOVE', id, ...dueWords(due)); }

  private async change(command: string, id: string, ...words: Word[]): Promise<boolean> {
    return await this.again([command, this.stream, values.name(id, 'an id'), ...words, 'ONCE', randomUUID()]) === 1;
  }

  async get(id: string): Promise<Pending | undefined> {
    const reply = await this.again(['DELAY.GET', this.stream, values.name(id, 'an id')]);
    return Array.isArray(reply) ? { id, at: Number(reply[0]), fields: textsOf(reply[1]!) } : undefined;
  }

  /** Entries in the order in which they are due, from a time on (milliseconds since 1970): 100, or `count`. */
  async list(options: { from?: number; count?: number } = {}): Promise<Pending[]> {
    const { from, count } = values.options(options, 'list()', 'from', 'count');
    const words: Word[] = ['DELAY.LIST', this.stream];
    if (from !== undefined) words.push('FROM', values.time(from, 'a time', 0));
    if (count !== undefined) words.push('COUNT', values.whole(count, 'a count'));
    const reply = await this.again(words);
    return (Array.isArray(reply) ? reply : []).map((it) => {
      const [id, at, fields] = it as [Reply, Reply, Reply];
      return { id: String(id), at: Number(at), fields: textsOf(fields) };
    });
  }

  /** How many are pending. */
  async count(): Promise<number> { return Number(await this.again(['DELAY.COUNT', this.stream])); }
}
