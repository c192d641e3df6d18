// What an owner has on the server, and the claims that stand for it: several, if it was acquired again within another
// lock of the same owner.

import { now, Timer } from './clock.js';
import { isReply, LockLostError, LockReleasedError, translated, type LossReason, type LockserverError } from './errors.js';
import type { Keeper } from './keeper.js';
import type { Claim } from './claim.js';
import type { Task } from './task.js';
import { checkWords, releaseWords, type Wish } from './wish.js';

/** Hears that another program asks the holder to let go, and why. */
export type AskedListener = (reason: string) => void;

export class Hold {
  lost: LockLostError | undefined;
  readonly since = now();
  /** What stands for it; undefined: it is lost. */
  claims: Set<Claim> | undefined = new Set();
  /** Hear that another program asks for it. */
  private readonly listeners = new Set<AskedListener>();
  private lastAsk: string | undefined; // why it was asked for
  private over = false; // the task does not have it any more
  private expiry: Timer | undefined; // of a fixed lease
  deadline = Infinity; // the moment at which a fixed lease ends
  redirections = 0; // since its server was last known
  leaving = false; // its server has redirected a check, and another one is asked soon
  private doubt: { until: number; timer: Timer } | undefined; // of a hold that has gone to another shard

  constructor(private shard: Keeper, readonly task: Task, readonly wish: Wish, readonly tokens: readonly number[]) {}

  /** What looks after it: that of its shard. */
  get keeper(): Keeper { return this.shard; }

  /** Goes to another shard, which has not said yet that it has the lock. Until `until` the lease is sure that the former one has seen. */
  goTo(keeper: Keeper, until: number): void {
    this.shard = keeper;
    if (this.wish.lease > 0) return;
    this.doubt?.timer.stop();
    const end = Math.min(until, this.doubt?.until ?? Infinity);
    this.doubt = { until: end, timer: new Timer(end - now(), () => this.lose(this.key, this.token, 'unreachable')) };
  }

  /** The server of its shard has said that it has the lock. */
  confirmed(keeper: Keeper): void {
    if (keeper !== this.shard) return;
    this.redirections = 0;
    this.doubt?.timer.stop();
    this.doubt = undefined;
  }

  /** Another program asks the holder to let go. */
  askedFor(reason: string): void {
    this.lastAsk = reason;
    for (const listener of [...this.listeners]) this.tell(listener, reason);
  }

  /** Has a listener told of each question, and of the last one that has come before. Returns what takes it off. */
  onAsked(listener: AskedListener): () => void {
    this.listeners.add(listener);
    if (this.lastAsk !== undefined) this.tell(listener, this.lastAsk);
    return () => { this.listeners.delete(listener); };
  }

  /** What a listener throws is its own, and ends no lock. */
  private tell(listener: AskedListener, reason: string): void {
    queueMicrotask(() => { if (this.listeners.has(listener) && !this.isOver) listener(reason); });
  }

  /** Whether it is released or lost, as far as is known. */
  get isOver(): boolean { return this.over || this.lost !== undefined; }

  get key(): string { return this.wish.keys[0]!; }
  get token(): number { return this.tokens[0]!; }

  /** A lease of `ms` milliseconds has begun, no earlier than `began`. */
  leaseBegan(began: number, ms: number): void {
    this.expiry?.stop();
    this.deadline = began + ms;
    this.expiry = new Timer(this.deadline - now(), () => this.lose(this.key, this.token, 'expired'));
  }

  /** How long it is held for certain, as far as the client knows without asking, in milliseconds. */
  get remaining(): number {
    if (this.lost || this.over) return 0;
    return Math.max(0, this.wish.lease > 0 ? this.deadline - now() : Math.min(this.keeper.sureUntil, this.doubt?.until ?? Infinity) - now());
  }

  /** What is known of its lease, in words. */
  get leaseInWords(): string {
    return this.wish.lease > 0 ? `with a lease that ends in ${Math.ceil(this.remaining)} ms` : `renewed by the server, held for ${Math.round(now() - this.since)} ms`;
  }

  /** Why a lock is not held any more, as far as is known; undefined: it is held. */
  ended(claim: Claim): LockserverError | undefined {
    if (now() >= this.deadline) this.lose(this.key, this.token, 'expired'); // the timer is late
    if (this.lost) return this.lost;
    return this.claims?.has(claim) ? undefined : new LockReleasedError(this.key);
  }

  /** Notes that the lock at one of the keys is lost, and lets go of the rest. */
  lose(key: string, token: number, reason: LossReason): void {
    if (this.markLost(key, token, reason)) this.abandon();
  }

  /** Notes that the lock at one of the keys is lost, and reports whether it was held until now. */
  markLost(key: string, token: number, reason: LossReason): boolean {
    const releasing = !this.claims || this.claims.size === 0;
    // What is being released may be gone because an UNLOCK was done and its answer was lost: then only what the
    // server tells by itself is a loss.
    if (!this.lost && !(releasing && (reason === 'stale' || reason === 'unreachable' || reason === 'closed'))) {
      this.lost = new LockLostError(key, token, reason, this.task.owner, this.wish.lease);
    }
    const { claims } = this;
    this.claims = undefined;
    if (releasing) return false;
    for (const claim of claims!) claim.end(this.lost!);
    this.keeper.log.lost(this.lost!, now() - this.since);
    this.keeper.observe('lost', this.lost!);
    return true;
  }

  /** Lets go of what is left of a hold that is lost: other keys, or a lock that may still be there. */
  abandon(): void {
    const { reason } = this.lost!;
    if (this.wish.kind === 'all' || reason === 'unreachable' || reason === 'closed') this.keeper.owe([this.releaseWords()]);
    this.end();
  }

  releaseWords() { return releaseWords(this.wish, this.task.owner, this.tokens); }

  checkWords() { return checkWords(this.wish, this.task.owner, this.tokens, this.deadline - now()); }

  /** Releases on the server. Throws what became of the command; it is done later if the server has not answered. */
  async release(): Promise<void> {
    try {
      const reply = await this.keeper.shards.again(this.releaseWords());
      const gone = Array.isArray(reply) ? reply.includes(null) : reply === null;
      if (gone) {
        await this.keeper.sync(); // a loss was told before this reply
        if (this.lost) throw this.lost;
      }
    } catch (error) {
      if (error instanceof LockLostError) throw error;
      if (!isReply(error)) this.keeper.owe([this.releaseWords()]);
      throw translated(error);
    } finally {
      this.end();
    }
    for (const key of this.wish.keys) this.keeper.observe('released', key, now() - this.since);
  }

  /** Takes the hold from its task. */
  end(): void {
    this.expiry?.stop();
    this.doubt?.timer.stop();
    if (this.over) return;
    this.over = true;
    this.listeners.clear();
    this.keeper.forget(this);
    for (const key of this.wish.keys) if (this.task.holds.get(key) === this) this.task.holds.delete(key);
  }

  /** Whether another lock may stand for it. */
  get lasts(): boolean { return this.claims !== undefined && !this.over; }
}
