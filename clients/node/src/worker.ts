// A worker: it reads a stream for a consumer group, and calls a handler for each entry.

import { randomUUID } from 'node:crypto';
import { Gate, now, rest } from './clock.js';
import { about, ClosedError, CrossSlotError, isReply, NoAnswerError, ReplyError, translated } from './errors.js';
import { recordOnce, recordOnceSync, type Database, type SqliteDatabase } from './fence.js';
import { DUE_FIELD } from './delay.js';
import type { Locks } from './locks.js';
import { exactBytes, type Reply, type Word } from './resp.js';
import * as values from './values.js';
import type { Key } from './values.js';

/** How a worker is. */
export interface WorkerOptions {
  /** After so many failures an entry goes to the dead letter stream: 5 by default. The server counts them. */
  attempts?: number;
  /** Entries of a worker that has given no sign of life for so many milliseconds go to another one: 30,000 by default. */
  claimAfter?: number;
  /** How many handlers run at a time: 1 by default. */
  parallel?: number;
  /** The dead letter stream: the stream's name and ":dead" by default. */
  dead?: Key;
  /** The name of the consumer, which is unique: a random one by default. */
  name?: string;
}

export type EntryHandler = (entry: Entry) => unknown;

/** How long one reading waits for new entries, in milliseconds. */
const BLOCK = 1000;
/** Between two looks for entries that other workers have left, in milliseconds. */
const LOOK = 200;
/** Between two attempts while no server answers, in milliseconds. */
const PAUSE = 200;

// Each script acts only on entries that the consumer still has: another worker may have taken them over meanwhile.
const MINE = "local function mine(id) return #redis.call('XPENDING', KEYS[1], ARGV[1], id, id, 1, ARGV[2]) == 1 end\n";
/** A sign of life for the entries in hand. */
const KEEP = `${MINE}
for n = 3, #ARGV do
  if mine(ARGV[n]) then redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[n], 'JUSTID') end
end
return 1`;
/** Has an entry come again: to a worker that claims what is idle for ARGV[4] ms less than now, with so many deliveries. */
const AGAIN = `${MINE}
if not mine(ARGV[3]) then return 0 end
redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[3], 'IDLE', ARGV[4], 'RETRYCOUNT', ARGV[5], 'JUSTID')
return 1`;
/** Moves an entry to the dead letter stream. */
const BURY = `${MINE}
if not mine(ARGV[3]) or redis.call('XACK', KEYS[1], ARGV[1], ARGV[3]) == 0 then return 0 end
redis.call('XADD', KEYS[2], '*', unpack(ARGV, 4))
return 1`;
/** Takes over what no worker has given a sign of life for, and says how often it was delivered. */
const CLAIM = `
local found = redis.call('XAUTOCLAIM', KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4], 'COUNT', ARGV[5])
local entries = {}
for _, entry in ipairs(found[2]) do
  local pending = redis.call('XPENDING', KEYS[1], ARGV[1], entry[1], entry[1], 1)
  entries[#entries + 1] = {entry[1], entry[2], pending[1] and pending[1][4] or 1}
end
return {found[1], entries}`;
/** Removes a consumer that has nothing in hand. */
const LEAVE = `
if #redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, ARGV[2]) == 0 then redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2]) end
return 1`;

/** An entry of a stream that a worker has in hand. */
export class Entry {
  /** By field, as text. */
  readonly fields: Readonly<Record<string, string>>;

  /** @internal */
  constructor(
    readonly stream: string,
    readonly group: string,
    /** By which the stream knows it. */
    readonly id: string,
    /** @internal */
    readonly words: readonly string[],
    /** 1 for the first one. */
    readonly attempt: number,
  ) {
    const fields: Record<string, string> = {};
    for (let i = 0; i + 1 < words.length; i += 2) fields[words[i]!] = exactBytes(words[i + 1]!).toString();
    this.fields = fields;
  }

  /**
   * When a recurring entry was due, however late it was added: milliseconds since 1970. undefined: the entry is not of a rule. The id
   * of the delayed entry and this time name one run of a job.
   */
  get due(): number | undefined {
    const [field, value] = this.words.slice(-2);
    return field === DUE_FIELD && /^\d+$/.test(value!) ? Number(value) : undefined;
  }

  /** The bytes of a field. */
  bytes(field: string): Buffer | undefined {
    for (let i = 0; i + 1 < this.words.length; i += 2) if (this.words[i] === field) return exactBytes(this.words[i + 1]!);
    return undefined;
  }

  /**
   * Records in the caller's transaction that this entry is applied. false: it was applied before, so do nothing. The table is
   * `lockserver_entries`, with the columns stream, worker and entry, which are its key (docs/CLIENTS.md; VARBINARY in MySQL
   * and MariaDB). Throws a TypeError if the driver says that there is no transaction, or is a pool. Throws a RangeError if the
   * stream or the group is longer than 255 bytes, and an Error if MySQL or MariaDB did not record the entry whole. Roll back then.
   */
  once(db: Database): Promise<boolean> { return recordOnce(db, this.stream, this.group, this.id); }

  /** once() for better-sqlite3 and node:sqlite, at once: for `db.transaction(() => { ... })`, where no promise is awaited. */
  onceSync(db: SqliteDatabase): boolean { return recordOnceSync(db, this.stream, this.group, this.id); }
}

const entriesOf = (reply: Reply | undefined): Array<[string, string[], number]> =>
  (Array.isArray(reply) ? reply : []).map((it) => {
    const [id, words, count = 1] = it as [Reply, Reply[], Reply?];
    return [String(id), (words ?? []).map(String), Number(count)];
  });

/** Works off a stream for a consumer group: see Locks.worker(). */
export class Worker {
  private readonly attempts: number;
  private readonly claimAfter: number;
  private readonly parallel: number;
  private readonly dead: string;
  /** The name of the consumer. */
  readonly name: string;
  private readonly hand = new Map<string, Entry>();
  private readonly stopped = new Gate();
  private cursor = '0-0';
  private looked = -Infinity; // when it has looked for what others have left
  private running: Promise<void> | undefined;

  /** @internal */
  constructor(
    private readonly locks: Locks,
    readonly stream: string,
    readonly group: string,
    private readonly handler: EntryHandler,
    options: WorkerOptions | undefined,
  ) {
    const { attempts = 5, claimAfter = 30_000, parallel = 1, dead = `${stream}:dead`, name = randomUUID() } =
      values.options(options, 'worker()', 'attempts', 'claimAfter', 'parallel', 'dead', 'name');
    values.name(group, 'a group');
    values.task(handler, 'worker()');
    this.attempts = values.whole(attempts, 'a number of attempts');
    this.claimAfter = values.time(claimAfter, 'claimAfter');
    this.parallel = values.whole(parallel, 'a number of handlers');
    this.dead = dead === `${stream}:dead` ? dead : values.key(dead, 'a dead letter stream');
    if (this.dead === stream) throw new RangeError('the dead letter stream is the stream itself');
    this.name = values.name(name, 'the name of a consumer');
  }

  /**
   * Works until stop(). It goes on when the server could not be reached meanwhile. Errors: ClosedError, NotLockserverError,
   * ReplyError, and in a cluster CrossSlotError, if the dead letter stream has another slot than the stream.
   */
  run(): Promise<void> {
    this.running ??= this.work();
    return this.running;
  }

  /** Has run() end: handlers that run may end, and what is not begun is given back. Resolves when that is done. */
  async stop(): Promise<void> {
    this.stopped.fire();
    await this.running?.catch(() => {}); // run() has told
  }

  private async work(): Promise<void> {
    await this.untilAnswered(() => this.locks.ready());
    await this.untilAnswered(() => this.ask(['XGROUP', 'CREATE', this.stream, this.group, 0, 'MKSTREAM']).catch((error: unknown) => {
      if (!(error instanceof ReplyError && error.word === 'BUSYGROUP')) throw error;
    }));
    // In a cluster the dead letter stream needs the slot of its stream: that is said now, and not with the first dead letter.
    await this.untilAnswered(() => this.ask(['EXISTS', this.stream, this.dead]).catch((error: unknown) => {
      if (error instanceof CrossSlotError) throw about(error, [this.stream, this.dead]);
      if (!isReply(error)) throw error; // the user may not ask
    }));
    const ended = new Gate();
    const alive = this.keepAlive(ended);
    const handlers = new Set<Promise<void>>();
    try {
      while (!this.stopped.open) {
        const free = this.parallel - handlers.size;
        if (free === 0) {
          await Promise.race(handlers);
          continue;
        }
        for (const entry of await this.next(free)) {
          const handled: Promise<void> = (this.stopped.open ? this.giveBack(entry) : this.handle(entry)).finally(() => handlers.delete(handled));
          handlers.add(handled);
        }
      }
    } finally {
      this.stopped.fire();
      await Promise.all(handlers);
      ended.fire();
      await alive;
      await this.script(LEAVE, []).catch(() => {}); // a consumer without entries is left then
    }
  }

  private async untilAnswered(call: () => Promise<unknown>): Promise<void> {
    while (!this.stopped.open) {
      try {
        await call();
        return;
      } catch (error) {
        if (!(error instanceof NoAnswerError)) throw error;
        await rest(PAUSE, this.stopped);
      }
    }
  }

  private ask(words: readonly Word[]): Promise<Reply> { return this.locks.shards.ask(words); }

  private script(text: string, args: readonly Word[], ...keys: Word[]): Promise<Reply> {
    return this.ask(['EVAL', text, 1 + keys.length, this.stream, ...keys, this.group, this.name, ...args]);
  }

  /** Takes over entries, or waits for new ones. */
  private async next(count: number): Promise<Entry[]> {
    try {
      const left = await this.claim(count);
      if (left.length > 0) return left;
      const words: Word[] = ['XREADGROUP', 'GROUP', this.group, this.name, 'COUNT', count, 'BLOCK', BLOCK, 'STREAMS', this.stream, '>'];
      const reply = await this.locks.shards.block(words, this.stream, BLOCK, undefined);
      const [first] = Array.isArray(reply) ? reply : [];
      return this.take(entriesOf(Array.isArray(first) ? first[1] : (reply as Reply[] | null)?.[1]));
    } catch (error) {
      if (error instanceof ClosedError || isReply(error)) throw translated(error);
      await rest(PAUSE, this.stopped);
      return [];
    }
  }

  /** Takes over entries that no worker has given a sign of life for, and those that are to come again. */
  private async claim(count: number): Promise<Entry[]> {
    if (this.cursor === '0-0' && now() - this.looked < LOOK) return [];
    this.looked = now();
    do {
      const reply = await this.script(CLAIM, [this.claimAfter, this.cursor, count]);
      const [cursor, found] = reply as [Reply, Reply];
      this.cursor = String(cursor);
      const entries = this.take(entriesOf(found));
      if (entries.length > 0) return entries;
    } while (this.cursor !== '0-0');
    return [];
  }

  /** An entry that is in hand still is not begun a second time. */
  private take(found: Array<[string, string[], number]>): Entry[] {
    const entries = found.filter(([id]) => !this.hand.has(id)).map(([id, words, count]) => new Entry(this.stream, this.group, id, words, count));
    for (const entry of entries) this.hand.set(entry.id, entry);
    return entries;
  }

  private async handle(entry: Entry): Promise<void> {
    let error = 'the worker has ended abnormally';
    if (entry.attempt <= this.attempts) {
      try {
        values.finished(await this.handler(entry));
        await this.settle(entry.id, () => this.ask(['XACK', this.stream, this.group, entry.id]));
        this.hand.delete(entry.id);
        return;
      } catch (thrown) {
        error = thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
        this.locks.shards.log.failed(this.stream, entry.id, entry.attempt, error);
      }
    }
    if (entry.attempt >= this.attempts) {
      const words = [...entry.words, 'entry-id', entry.id, 'entry-error', Buffer.from(error), 'entry-attempts', entry.attempt];
      const done = await this.settle(entry.id, () => this.script(BURY, [entry.id, ...words], this.dead));
      if (done === 1) this.locks.shards.log.buried(this.stream, entry.id, this.dead, error);
    } else {
      const pause = Math.min(this.claimAfter, 1000 * 2 ** Math.min(entry.attempt - 1, 30));
      await this.settle(entry.id, () => this.script(AGAIN, [entry.id, this.claimAfter - pause, entry.attempt]));
    }
    this.hand.delete(entry.id);
  }

  /** Another worker may have an entry at once, which was not begun. */
  private async giveBack(entry: Entry): Promise<void> {
    await this.settle(entry.id, () => this.script(AGAIN, [entry.id, this.claimAfter, entry.attempt - 1]));
    this.hand.delete(entry.id);
  }

  /** Does what is lost if no server answers: the entry comes again after a while then. */
  private async settle(what: string, call: () => Promise<Reply>): Promise<Reply> {
    try {
      return await call();
    } catch (error) {
      this.locks.shards.log.unsettled(this.stream, what, error);
      return null;
    }
  }

  /** Gives a sign of life for the entries in hand, each third of the time after which others take them over. */
  private async keepAlive(ended: Gate): Promise<void> {
    for (;;) {
      await rest(this.claimAfter / 3, ended);
      if (ended.open) return;
      if (this.hand.size > 0) await this.script(KEEP, [...this.hand.keys()]).catch(() => {}); // the next one comes soon
    }
  }
}
