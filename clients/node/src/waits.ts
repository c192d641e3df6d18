// A request for a lock, by the attached connection. The server answers it at once, or queues it (NOTIFY) and sends the
// outcome later as a push. A grant that came as a push has to be confirmed, and is had when the server has said that
// it was.

import { now, Timer } from './clock.js';
import {
  BrokenError, DeadlockError, isReply, LockLostError, NoAnswerError, NotAcquiredError, ReplyError, translated,
} from './errors.js';
import type { Keeper } from './keeper.js';
import { texts, type Word } from './resp.js';
import type { Task } from './task.js';
import { askWords, confirmWords, releaseWords, tokensOf, undoWords, type Wish } from './wish.js';
import type { Wire } from './wire.js';

/** What came of a wait. */
export interface Outcome {
  /** Of the shard that has answered. */
  keeper: Keeper;
  tokens?: number[];
  /** No later than the lease on the server. */
  began: number;
  error?: unknown;
  /** The server may have given the lock, or may still do so. */
  doubtful?: boolean;
}

/** asked: no reply yet, or no connection. queued: the outcome will be a push. granted: the confirmation is under way. */
type State = 'asked' | 'queued' | 'granted' | 'over';

export class Wait {
  state: State = 'asked';
  by: Wire | undefined; // undefined: it is to be sent by the next connection
  began = now();
  tokens: number[] = [];
  left = 0; // replies to come that confirm a grant
  placed = false; // the server has answered
  first: Timer | undefined; // until it has
  redirections = 0; // since the server has answered otherwise
  leaving = false; // it was redirected, and another server is asked soon

  constructor(
    readonly task: Task,
    readonly wish: Wish,
    readonly end: number | undefined, // of the caller's patience
    readonly number: number,
    readonly done: (outcome: Omit<Outcome, 'keeper'>) => void,
    /** Those of the shard of its key, as far as is known. */
    public home: Waits,
  ) {}

  get place(): string { return placeOf(this.task.owner, this.wish.keys[0]!); }

  /** The command that asks, or asks again: an owner that holds it gets its token, one that is queued keeps its place. */
  words(): Word[] {
    const words = askWords(this.wish, this.task.owner);
    if (this.wish.tries) return words;
    const ms = this.end === undefined ? 0 : Math.max(1, Math.ceil(this.end - now()));
    words.push('WAIT', ms, 'NOTIFY');
    if (this.wish.priority) words.push('PRIORITY', this.wish.priority);
    if (this.wish.kind === 'limiter') words.push(this.task.owner);
    return words;
  }
}

const byNumber = (a: Wait, b: Wait): number => a.number - b.number;

/** Identifies a wait: an owner has one call for a key at a time. */
export function placeOf(owner: string, key: string): string { return `${owner} ${key}`; }

export class Waits {
  private readonly waits = new Map<string, Wait>();

  constructor(private readonly keeper: Keeper) {}

  get size(): number { return this.waits.size; }

  has(owner: string, key: string): boolean { return this.waits.has(placeOf(owner, key)); }

  /** Asks for a lock until the server has given or refused it, or `limited` ends. */
  request(task: Task, wish: Wish, end: number | undefined, limited: AbortSignal): Promise<Outcome> {
    return new Promise((resolve) => {
      const gone = () => wait.home.withdraw(wait, limited.reason);
      const wait = new Wait(task, wish, end, this.keeper.shards.next(), (outcome) => {
        limited.removeEventListener('abort', gone);
        wait.first?.stop();
        resolve({ ...outcome, keeper: wait.home.keeper });
      }, this);
      this.waits.set(wait.place, wait);
      limited.addEventListener('abort', gone, { once: true });
      wait.first = new Timer(this.keeper.limit, () => {
        if (!wait.placed) wait.home.withdraw(wait, wait.home.keeper.silence());
      }, true);
      if (limited.aborted) gone();
      else if (this.keeper.wire) this.ask(wait, this.keeper.wire);
    });
  }

  /** Takes a wait, from another shard or anew, and asks for its lock. */
  adopt(wait: Wait): void {
    wait.home.leave(wait);
    wait.home = this;
    this.waits.set(wait.place, wait);
    wait.state = 'asked';
    wait.by = undefined;
    if (this.keeper.wire) this.ask(wait, this.keeper.wire);
  }

  private leave(wait: Wait): void { if (this.waits.get(wait.place) === wait) this.waits.delete(wait.place); }

  /** Gives away what is of another shard. */
  sortOut(): void {
    const { shards } = this.keeper;
    for (const wait of [...this.waits.values()].sort(byNumber)) if (!wait.leaving && shards.now(wait.wish.keys[0]!) !== this.keeper) shards.place(wait);
  }

  /** Has a wait asked for where an answer redirects it. Until then no new map moves it. */
  private redirect(wait: Wait, error: ReplyError): void {
    wait.state = 'asked';
    wait.by = undefined;
    wait.leaving = true;
    this.keeper.redirect(error, ++wait.redirections, () => {
      wait.leaving = false;
      if (wait.home === this && wait.by === undefined) this.keeper.shards.place(wait);
    });
  }

  /** Ends a wait because its caller goes. */
  private withdraw(wait: Wait, error: unknown): void {
    // The wait of the call is over: without an answer the server has not said that there is another holder.
    const unknown = error instanceof NotAcquiredError && !wait.placed;
    this.finish(wait, { error: unknown ? this.keeper.silence() : error, doubtful: true, began: wait.began });
  }

  private finish(wait: Wait, outcome: Omit<Outcome, 'keeper'>): void {
    if (wait.state === 'over') return;
    wait.state = 'over';
    this.leave(wait);
    wait.done(outcome);
  }

  private ask(wait: Wait, wire: Wire): void {
    wait.by = wire;
    wait.state = 'asked';
    wait.began = now();
    wire.send(wait.words(), (error, reply) => this.replied(wait, wire, error, texts(reply)));
  }

  /** Sends all requests by a new connection, in the order of the calls. */
  askAll(wire: Wire): void {
    const waits = [...this.waits.values()].sort(byNumber);
    for (const wait of waits) this.ask(wait, wire);
  }

  private replied(wait: Wait, wire: Wire, error: Error | undefined, reply: unknown): void {
    if (this.keeper.shards.redirects(error)) {
      if (wait.by === wire && wait.state === 'asked') this.redirect(wait, error);
      return;
    }
    if (error && !(error instanceof ReplyError)) this.mayComeLate(wait);
    if (!isReply(error)) { // the next connection asks again
      void this.keeper.shards.misdirected(error!, wire).then((wrong) => {
        if (wrong) this.finish(wait, { error: wrong, began: wait.began });
        else this.keeper.leave(wire, error!);
      });
      return;
    }
    if (wait.by !== wire || wait.state !== 'asked') return;
    wait.redirections = 0;
    const { began } = wait;
    const tokens = tokensOf(reply);
    if (error) this.finish(wait, { error: translated(error), began });
    else if (tokens) this.finish(wait, { tokens, began });
    else if (reply === null) this.finish(wait, { error: this.keeper.refusal(wait.wish.keys), began });
    else { // QUEUED
      wait.state = 'queued';
      wait.placed = true;
      wait.first?.stop();
    }
  }

  /** Takes the push that a lock was granted, and confirms it. */
  granted(wire: Wire, keys: string[], many: boolean, tokens: number[], owner: string): void {
    if (this.keeper.wire !== wire) return; // the next connection asks again
    const wait = this.waits.get(placeOf(owner, keys[0]!));
    if (!wait) {
      if (!this.keeper.shards.knows(owner, keys[0]!, tokens[0]!)) { // a request that has arrived after its call has ended
        const kind = many ? 'all' as const : 'lock' as const;
        const wish: Wish = { kind, keys, shared: false, lease: 0, tries: false };
        const commands = [releaseWords(wish, owner, tokens)];
        if (!many) commands.push(releaseWords({ ...wish, kind: 'semaphore' }, owner, tokens)); // one of both does nothing
        this.keeper.owe(commands);
      }
      return;
    }
    if (wait.by !== wire || wait.state !== 'queued') return;
    wait.state = 'granted';
    wait.tokens = tokens;
    wait.began = now();
    const commands = confirmWords(wait.wish, owner, tokens);
    wait.left = commands.length;
    commands.forEach((words, i) => wire.send(words, (error, reply) => this.confirmed(wait, wire, i, error, reply)));
  }

  /** Takes the push that a limiter has given units, with the numbers of the reply. There is nothing to confirm. */
  taken(wire: Wire, key: string, numbers: number[], owner: string): void {
    const wait = this.waits.get(placeOf(owner, key));
    if (wait?.by === wire && wait.state === 'queued') this.finish(wait, { tokens: numbers, began: wait.began });
  }

  private confirmed(wait: Wait, wire: Wire, i: number, error: Error | undefined, reply: unknown): void {
    if (this.keeper.shards.redirects(error)) {
      if (wait.by === wire && wait.state === 'granted') this.redirect(wait, error);
      return;
    }
    if (!isReply(error)) { // the next connection asks again, which says whether the lock is held
      this.keeper.leave(wire, error!);
      return;
    }
    if (wait.by !== wire || wait.state !== 'granted') return;
    const { began, tokens, wish } = wait;
    if (error) this.finish(wait, { error: translated(error), doubtful: true, began });
    else if (reply === 1) {
      if (--wait.left === 0) this.finish(wait, { tokens, began });
    } else if (wish.lease === 0 && wish.kind !== 'all') this.ask(wait, wire); // too late, or an operator has released it
    else this.finish(wait, { error: new LockLostError(wish.keys[i]!, tokens[i]!, 'expired', wait.task.owner, wish.lease), doubtful: true, began });
  }

  /** Takes the push that a wait has ended without the lock. */
  refused(wire: Wire, key: string, reason: string, owner: string): void {
    const wait = this.waits.get(placeOf(owner, key));
    if (!wait || wait.by !== wire || wait.state !== 'queued') return;
    const fail = (error: Error) => this.finish(wait, { error, began: wait.began });
    switch (reason) {
      case 'unconfirmed':
      case 'failover':
      case 'moved':
        this.ask(wait, wire);
        break;
      case 'timeout':
      case 'cancelled': // or by an operator
        fail(this.keeper.refusal(wait.wish.keys));
        break;
      case 'deadlock':
        fail(new DeadlockError(key));
        break;
      case 'wrongtype':
        fail(new ReplyError('WRONGTYPE Operation against a key holding the wrong kind of value'));
        break;
      case 'denied':
        fail(new ReplyError('NOPERM the user may not write to the key any more'));
        break;
      default:
        fail(new ReplyError(`ERR the server has ended the wait: ${reason}`));
    }
  }

  /** Ends the calls that the server has queued: it is silent. The others have a limit of their own. */
  endQueued(): void {
    for (const wait of [...this.waits.values()]) {
      if (wait.placed) this.finish(wait, { error: this.keeper.silence(), doubtful: true, began: wait.began });
    }
  }

  /** Ends the calls with an error that asking again would not change. */
  endAll(error: Error): void {
    for (const wait of [...this.waits.values()]) this.finish(wait, { error, began: wait.began });
  }

  /**
   * A connection has ended before a request was answered. The server may read it later than what comes by the next
   * connection, and give a lock that no caller waits for. So it is released a lease later, unless the owner has the
   * lock, or asks for it, by then.
   */
  private mayComeLate(wait: Wait): void {
    const { keeper } = this;
    const { task, wish } = wait;
    keeper.later(keeper.lease, () => {
      if (task.enterIdle(wish.keys)) keeper.owe(undoWords(wish, task.owner), () => task.exit(wish.keys));
    });
  }
}

/** Reports whether an error is that of a connection. */
export function isBroken(error: unknown): boolean {
  return error instanceof BrokenError || error instanceof NoAnswerError;
}
