// A lock that is held, or several that were acquired together, or permits of a semaphore.

import { asyncDispose } from './dispose.js';
import { unwatch, watch, type Claim } from './claim.js';
import { now } from './clock.js';
import { about, isReply, isStale, isWrongType, LockLostError, LockReleasedError, translated } from './errors.js';
import { raiseFence, raiseFenceSync, type Database, type FenceRow, type SqliteDatabase } from './fence.js';
import type { Hold } from './hold.js';
import { exactBytes, texts, type Raw, type Reply, type Word } from './resp.js';
import * as values from './values.js';
import { renewWords } from './wish.js';

const FENCE = ['table', 'id', 'idColumn', 'column'];

export class Lock {
  /** The keys, in order. */
  readonly keys: readonly string[];
  /** The keys as bytes. In `keys`, bytes that are no UTF-8 are halves of surrogate pairs, U+DC80 to U+DCFF. */
  get binaryKeys(): readonly Buffer[] { return this.keys.map(exactBytes); }

  private told = false; // the holder has seen that the lock is lost
  private watched = false;

  /** @internal */
  constructor(private readonly claim: Claim) {
    this.keys = claim.keys;
    watch(this, claim);
  }

  /**
   * Aborted when the lock is lost (the reason is a LockLostError), when it is released (a LockReleasedError), and when
   * the signal is aborted that it was acquired with (that one's reason; the lock is held until it is released).
   */
  get signal(): AbortSignal {
    const { signal } = this.claim.controller;
    if (!this.watched) {
      this.watched = true;
      const tell = () => { this.told ||= this.its.lost !== undefined; };
      const reason = Object.getOwnPropertyDescriptor(AbortSignal.prototype, 'reason')!.get!;
      Object.defineProperty(signal, 'reason', { configurable: true, get: () => { tell(); return reason.call(signal) as unknown; } });
      Object.defineProperty(signal, 'throwIfAborted', { configurable: true, value: () => { tell(); AbortSignal.prototype.throwIfAborted.call(signal); } });
    }
    return signal;
  }

  /** The fencing token, an integer below 2^53: a later holder's is higher. Of several keys it is that of the first. */
  get token(): number { return this.tokenOf(this.keys[0]!); }

  /** The fencing tokens by key. */
  get tokens(): ReadonlyMap<string, number> { return new Map(this.keys.map((key) => [key, this.tokenOf(key)])); }

  /** The name that the server knows the holder by. */
  get owner(): string { return this.hold.task.owner; }

  /**
   * For how many milliseconds it is held for certain, as far as the client knows without asking the server; 0: it is not. Of a
   * fixed lease it is the rest. A lock that the server renews has this long until it is lost as "unreachable", if the server
   * is silent from now on.
   */
  get remaining(): number { return this.claim.ended ? 0 : this.hold.remaining; }

  /** Where it was acquired: file, line and column. */
  get acquiredAt(): string { return this.claim.place; }

  /**
   * Has a listener told when another program asks the holder to let go (Locks.ask, LOCK.ASK), and why; also if it was asked before.
   * The lock stays as it is: the listener may end the work, and release it. Returns a function that takes the listener off.
   */
  onAsked(listener: (reason: string) => void): () => void {
    if (typeof listener !== 'function') throw new TypeError('onAsked() needs a function');
    this.throwIfEnded();
    return this.hold.onAsked((reason) => { if (this.isHeld) listener(reason); });
  }

  /** Why the lock is not held any more; undefined: it is held, as far as is known. */
  get ended(): LockLostError | LockReleasedError | undefined {
    const ended = this.claim.ended as LockLostError | LockReleasedError | undefined;
    if (ended instanceof LockLostError) this.told = true;
    return ended;
  }

  /** @internal Whether it is held, as far as is known. A loss does not count as seen by that. */
  get isHeld(): boolean { return this.claim.ended === undefined; }

  private tokenOf(key: string): number { return this.hold.tokens[this.hold.wish.keys.indexOf(key)]!; }

  /** @internal */
  get its(): Hold { return this.claim.hold; }

  private get hold(): Hold { return this.claim.hold; }

  /**
   * Runs a command only if the lock is still held at that moment, and resolves to its reply, with bytes as text. It is
   * sent once: after a NoAnswerError the command may have been done. Errors: LockLostError, LockReleasedError,
   * NoAnswerError, ReplyError. The lock must be one of one key.
   */
  async guard(command: string, ...args: Word[]): Promise<Reply> {
    return texts(await this.guardRaw(command, ...args));
  }

  /** guard() with bytes as Buffers. */
  async guardRaw(command: string, ...args: Word[]): Promise<Raw> {
    const words = values.command([command, ...args]);
    if (this.keys.length > 1) throw new TypeError(`a lock of ${this.keys.length} keys cannot guard a command: acquire one within it`);
    this.throwIfEnded();
    try {
      return await this.hold.keeper.shards.raw(['GUARD', this.keys[0]!, this.token, ...words]);
    } catch (error) {
      if (!isStale(error)) throw about(translated(error), [this.keys[0]!]);
      this.hold.lose(this.keys[0]!, this.token, 'stale');
      throw this.ended!;
    }
  }

  /** Throws a LockLostError or LockReleasedError unless the lock is held, as far as is known. */
  throwIfEnded(): void {
    const { ended } = this;
    if (ended) throw ended;
  }

  /** Asks the server whether the lock is held. Errors: LockLostError, LockReleasedError, NoAnswerError. */
  async check(): Promise<void> {
    this.throwIfEnded();
    await this.renewAll(this.hold.checkWords());
  }

  /** Sends a command for each key that answers 1 if the lock is held. */
  private async renewAll(commands: Word[][]): Promise<void> {
    const { hold } = this;
    for (const [i, words] of commands.entries()) {
      const reply = await hold.keeper.shards.again(words).catch((error: unknown) => {
        if (isWrongType(error)) return 0;
        throw translated(error);
      });
      if (reply === 1) continue;
      hold.lose(hold.wish.keys[i]!, hold.tokens[i]!, 'stale');
      throw this.ended!;
    }
  }

  /**
   * Has a fixed lease end `ms` milliseconds from now. Errors: LockLostError, LockReleasedError, NoAnswerError, and a
   * TypeError for a lock that the server renews.
   */
  async renew(ms: number): Promise<void> {
    const { hold } = this;
    if (hold.wish.lease === 0) throw new TypeError('the server renews this lock');
    values.time(ms, 'a lease');
    this.throwIfEnded();
    const began = now();
    await this.renewAll(renewWords(hold.wish, hold.task.owner, hold.tokens, ms));
    hold.leaseBegan(began, ms);
  }

  /**
   * Raises the fence of a row to the lock's token, in a transaction and before the holder reads the row. Throws a FenceError if a
   * later holder has raised it, or there is no such row. See fence().
   */
  async fence(db: Database, row: FenceRow): Promise<void> {
    this.throwIfEnded();
    await raiseFence(db, { ...values.options(row, 'fence()', ...FENCE), token: this.token });
  }

  /** fence() for better-sqlite3 and node:sqlite, at once: for `db.transaction(() => { ... })`, where no promise is awaited. */
  fenceSync(db: SqliteDatabase, row: FenceRow): void {
    this.throwIfEnded();
    raiseFenceSync(db, { ...values.options(row, 'fenceSync()', ...FENCE), token: this.token });
  }

  /**
   * Releases the lock, once for each time that it was acquired. Errors: LockLostError (it was lost before),
   * LockReleasedError (it was released before), NoAnswerError (it is released as soon as the server can be reached).
   */
  async release(): Promise<void> {
    const { hold } = this;
    const { task, wish } = hold;
    await task.enter(wish.keys);
    try {
      const { ended } = this;
      if (ended) throw ended;
      hold.claims!.delete(this.claim);
      unwatch(this.claim);
      this.claim.end(new LockReleasedError(this.keys[0]!));
      if (hold.claims!.size === 0) await hold.release();
    } finally {
      task.exit(wish.keys);
    }
  }

  /**
   * Releases the lock at the end of its block: await using. A lock that was released by hand is left alone. A loss is thrown
   * unless the block has seen it: its own error would be hidden in a SuppressedError.
   */
  async [asyncDispose](): Promise<void> {
    const { ended } = this.claim;
    if (ended instanceof LockReleasedError || (ended && this.told)) return;
    await this.release();
  }

  toString(): string { return `lock ${this.keys.join(', ')} of ${this.owner} (token ${this.token})`; }
}

/** Reports whether release() failed only because the server has not answered. */
export function isUnanswered(error: unknown): boolean {
  return !isReply(error);
}
