// Entries that are added to a stream later.

import { randomUUID } from 'node:crypto';
import { now, rest } from './clock.js';
import { isReply, NoAnswerError, translated } from './errors.js';
import type { Locks } from './locks.js';
import type { Reply, Word } from './resp.js';
import { PAUSES } from './channel.js';

/** When an entry is due: so many milliseconds from now, or at a time (milliseconds since 1970, or a Date). */
export type Due = { delay: number } | { at: number | Date };

/** An entry that is pending. */
export interface Pending {
  id: string;
  /** Milliseconds since 1970. */
  at: number;
  fields: Record<string, string>;
}

function dueWords(due: Due): Word[] {
  const ms = 'delay' in due ? due.delay : Number(due.at);
  if (!Number.isSafeInteger(ms) || ms < 0) throw new RangeError(`a delay of ${ms} ms is not a whole number of milliseconds`);
  return ['delay' in due ? 'PX' : 'AT', ms];
}

function fieldsOf(list: Reply): Record<string, string> {
  const fields: Record<string, string> = {};
  const items = Array.isArray(list) ? list : [];
  for (let i = 0; i + 1 < items.length; i += 2) fields[String(items[i])] = String(items[i + 1]);
  return fields;
}

export class Delayed {
  /** @internal */
  constructor(private readonly locks: Locks, readonly stream: string) {}

  private again(words: Word[]): Promise<Reply> {
    return this.locks.keeper.channel.again(words).catch((error: unknown) => { throw translated(error); });
  }

  /**
   * Has an entry be added when it is due, and resolves to its id. With an `id` that is pending already nothing changes:
   * undefined. It is sent again while the server does not answer, but not once it may have been due. After a
   * NoAnswerError it may
   * be pending, or have been added.
   */
  async add(fields: Record<string, string | number>, due: Due, id?: string): Promise<string | undefined> {
    const name = id ?? randomUUID();
    const words: Word[] = ['DELAY.ADD', this.stream, ...dueWords(due), 'ID', name, ...Object.entries(fields).flat()];
    const { channel } = this.locks.keeper;
    const began = now();
    const mayBeSent = 'delay' in due ? due.delay : Math.max(0, Number(due.at) - Date.now());
    const end = began + Math.min(channel.limit, mayBeSent / 2); // the clocks may differ in speed
    for (let attempt = 0; ; attempt++) {
      try {
        const reply = await channel.once(words, Math.max(1, began + channel.limit - now()));
        if (reply === null && attempt > 0 && id === undefined) return name; // an attempt that was not answered has added it
        return reply === null ? undefined : String(reply);
      } catch (error) {
        if (isReply(error)) throw translated(error);
        const pause = PAUSES[Math.min(attempt, PAUSES.length - 1)]!;
        if (now() + pause >= end) throw error instanceof NoAnswerError ? error : new NoAnswerError(error);
        await rest(pause);
      }
    }
  }

  /** true: it was pending, and is not any more. It may be sent again: false may mean that an earlier attempt has done it. */
  async cancel(id: string): Promise<boolean> { return await this.again(['DELAY.CANCEL', this.stream, id]) === 1; }

  /** Has it be due at another time. false: no such entry is pending. */
  async move(id: string, due: Due): Promise<boolean> { return await this.again(['DELAY.MOVE', this.stream, id, ...dueWords(due)]) === 1; }

  async get(id: string): Promise<Pending | undefined> {
    const reply = await this.again(['DELAY.GET', this.stream, id]);
    return Array.isArray(reply) ? { id, at: Number(reply[0]), fields: fieldsOf(reply[1]!) } : undefined;
  }

  /** Entries in the order in which they are due, from a time on (milliseconds since 1970): 100, or `count`. */
  async list(options: { from?: number; count?: number } = {}): Promise<Pending[]> {
    const words: Word[] = ['DELAY.LIST', this.stream];
    if (options.from !== undefined) words.push('FROM', options.from);
    if (options.count !== undefined) words.push('COUNT', options.count);
    const reply = await this.again(words);
    return (Array.isArray(reply) ? reply : []).map((it) => {
      const [id, at, fields] = it as [Reply, Reply, Reply];
      return { id: String(id), at: Number(at), fields: fieldsOf(fields) };
    });
  }

  /** How many are pending. */
  async count(): Promise<number> { return Number(await this.again(['DELAY.COUNT', this.stream])); }
}
