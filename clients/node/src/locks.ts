// The client.

import { randomBytes } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { asyncDispose } from './dispose.js';
import { now, Timer } from './clock.js';
import { callerOf, Claim } from './claim.js';
import { campaign } from './campaign.js';
import { Delayed } from './delay.js';
import { about, abortedBy, ClosedError, HeldOtherwiseError, isReply, LockLostError, NotAcquiredError, translated } from './errors.js';
import { inside, ownerOf } from './flow.js';
import { Hold } from './hold.js';
import { lockInfoOf, type LockInfo } from './info.js';
import type { Keeper } from './keeper.js';
import { Latch, Watches } from './latch.js';
import { Limiter, takeLimits, type LimitsTaken, type Rate, type TakeOptions } from './limiter.js';
import { Lock } from './lock.js';
import type { Logger } from './log.js';
import type { Observer, Stats } from './observer.js';
import type { Word } from './resp.js';
import { buyCart, Sale, type CartOutcome, type CartPart } from './sale.js';
import { Semaphore } from './semaphore.js';
import { Shards } from './shards.js';
import { targetOf, type Source } from './target.js';
import { Task } from './task.js';
import { currentTrace } from './trace.js';
import * as values from './values.js';
import type { Key } from './values.js';
import type { Outcome } from './waits.js';
import { undoWords, type Wish } from './wish.js';
import { Worker, type EntryHandler, type WorkerOptions } from './worker.js';

/** How a client is. */
export interface LocksOptions {
  /** Begins the names of the owners and is the name of the connections, which operators see: "locks" by default. */
  name?: string;
  /**
   * Bounds how long a call waits for answers of the server, all attempts together, in milliseconds: 5000 by default.
   * The time that a call waits for another holder does not count.
   */
  timeout?: number;
  /** Replaces the random part of the owners' names. No two clients of one server may have the same. */
  id?: string;
  /** Hear what becomes of locks: metrics, logs. */
  observers?: readonly Observer[];
  /**
   * Hears of lost locks, lost connections and forgotten locks, such as console or a logger of pino. Without it warnings go to
   * stderr. false: nothing is written. The channels of node:diagnostics_channel are told in any case.
   */
  logger?: Logger | false;
  /**
   * A call inside of the function of using() or campaign() takes a lock again that the function holds. Functions that run side by
   * side in there are inside of it together. Without it such a call is refused with a DeadlockError at once.
   */
  reentrant?: boolean;
  /**
   * The server is a Redis Cluster: each key has its shard. That is so by itself for several URLs, and for a client of a cluster;
   * here it is said for a single URL. The client has two connections for each shard that it has used.
   */
  cluster?: boolean;
}

/** How a lock is acquired. */
export interface LockOptions {
  /**
   * The longest wait for other holders, in milliseconds. The server keeps the queue, first come first served. 0: do not
   * wait. Without it the call waits as long as there is another holder.
   */
  wait?: number;
  /** Ends the wait, and aborts the signal of the lock as well. */
  signal?: AbortSignal;
  /** Has the lease end after so many milliseconds, instead of being renewed by the server. */
  lease?: number;
  /** Other owners may hold the lock shared at the same time. */
  shared?: boolean;
  /**
   * Acquires it for the owner of another lock. So the server finds cycles of owners that wait for each other, and what
   * the owner holds already is held once more. Inside of the function of using() and campaign() calls have the owner of that
   * lock by themselves, and `within` is needed only to hold its key once more.
   */
  within?: Lock;
  /**
   * From 0 (the default) to 9. Of the calls that wait, the server serves those with the highest priority first, and those with the
   * same priority in the order of arrival. A call that waits rises with time, so none waits for ever. It has no effect on a call
   * that does not wait.
   */
  priority?: number;
  /**
   * The trace that the call belongs to, as a `traceparent` of W3C Trace Context. The server shows it with the waiter and the
   * holder, and exports the wait as a span of it. Without it, it is that of OpenTelemetry's current span, if the program has
   * @opentelemetry/api. An empty text: none.
   */
  trace?: string;
}

export type LockTask<T> = (lock: Lock) => T | Promise<T>;

/** The options of calls that acquire. */
const ACQUIRE = ['wait', 'signal', 'lease', 'shared', 'within', 'priority', 'trace'];

export class Locks {
  /** Begins the names of this client's owners. It is unlike that of any other client. */
  readonly name: string;
  /** @internal */
  readonly shards: Shards;
  private readonly reentrant: boolean;
  private readonly watches: Watches;
  private readonly calls = new Set<AbortController>();
  private idle: Array<() => void> = [];
  private closed: Promise<void> | undefined;

  /**
   * Connects in the background. `source` says where the server is: the application's client of ioredis or node-redis
   * (which stays its own, and is never used), the options of createSentinel, or a URL.
   */
  constructor(source: Source, options: LocksOptions = {}) {
    const { name = 'locks', id = randomBytes(10).toString('hex'), timeout = 5000, observers = [], logger, reentrant = false, cluster } =
      values.options(options, 'Locks', 'name', 'timeout', 'id', 'observers', 'logger', 'reentrant', 'cluster');
    values.time(timeout, 'a timeout');
    for (const it of [values.name(name, 'a name'), values.name(id, 'an id')]) {
      if (!/^[!-~]+$/.test(it)) throw new TypeError(`the name ${JSON.stringify(it)} has blanks, or letters beyond ASCII, which a connection's name may not`);
    }
    if (!Array.isArray(observers)) throw new TypeError('observers are an array');
    if (logger !== undefined && logger !== false && typeof (logger as Logger | null)?.warn !== 'function') throw new TypeError('a logger has a method warn');
    if (typeof reentrant !== 'boolean') throw new TypeError('reentrant is true or false');
    if (cluster !== undefined && typeof cluster !== 'boolean') throw new TypeError('cluster is true or false');
    this.reentrant = reentrant;
    this.name = `${name}:${id}`;
    this.shards = new Shards(targetOf(source, cluster), this.name, timeout, observers, logger);
    this.watches = new Watches(this.shards);
  }

  /** Returns a client that is connected. Errors: those of ready(). */
  static async connect(source: Source, options?: LocksOptions): Promise<Locks> {
    const locks = new Locks(source, options);
    try {
      await locks.ready();
      return locks;
    } catch (error) {
      await locks.close();
      throw error;
    }
  }

  /**
   * Resolves when the client is connected. Errors: NotLockserverError, NoAnswerError (not within the timeout),
   * ReplyError (the login was refused), ClosedError.
   */
  async ready(): Promise<void> {
    let timer: Timer | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = new Timer(this.shards.limit, () => reject(this.shards.silence()));
    });
    try {
      await Promise.race([this.shards.ready.promise, late]);
    } finally {
      timer?.stop();
    }
  }

  /** Figures of this moment, for gauges. */
  stats(): Stats { return this.shards.stats(); }

  /**
   * Acquires a lock, or rejects with why not: NotAcquiredError (another owner holds it, also at the end of `wait`),
   * DeadlineError or CancelledError (by `signal`), DeadlockError, NoAnswerError, ClosedError, HeldOtherwiseError,
   * ReplyError. Without `wait` it ends with NoAnswerError if the server has not answered at all for about two thirds
   * of the lease of a renewed lock (18.5 s by default), or has not taken the request within the timeout.
   */
  async acquire(key: Key, options?: LockOptions): Promise<Lock> {
    return this.one(key, options, ACQUIRE, 'acquire()', callerOf(this.acquire));
  }

  /** acquire() without waiting, and undefined instead of a NotAcquiredError. */
  async tryAcquire(key: Key, options?: Omit<LockOptions, 'wait'>): Promise<Lock | undefined> {
    const known = values.options(options, 'tryAcquire()', ...ACQUIRE.slice(1));
    try {
      return await this.one(key, { ...known, wait: 0 }, ACQUIRE, 'tryAcquire()', callerOf(this.tryAcquire));
    } catch (error) {
      if (error instanceof NotAcquiredError) return undefined;
      throw error;
    }
  }

  /** Acquires the locks at all of the keys, or none. Errors: those of acquire(). */
  async acquireAll(keys: readonly Key[], options?: LockOptions): Promise<Lock> {
    return this.all(keys, options, 'acquireAll()', callerOf(this.acquireAll));
  }

  private async one(key: Key, options: LockOptions | undefined, known: string[], call: string, place: string): Promise<Lock> {
    values.options(options, call, ...known);
    return this.take({ ...wishOf(options), kind: 'lock', keys: [values.key(key)] }, options, place);
  }

  private async all(keys: readonly Key[], options: LockOptions | undefined, call: string, place: string): Promise<Lock> {
    values.options(options, call, ...ACQUIRE);
    return this.take({ ...wishOf(options), kind: 'all', keys: values.keys(keys) }, options, place);
  }

  /** @internal Acquires by an owner with this name, for redlock. */
  acquireAs(owner: string, keys: readonly string[], wait: number | undefined, lease: number, place: string): Promise<Lock> {
    const wish: Wish = { kind: 'all', keys: values.keys(keys), shared: false, lease, tries: false };
    return this.take(wish, wait === undefined ? { lease } : { wait, lease }, place, owner);
  }

  /**
   * Runs a task while it holds a lock, and resolves to what the task returns. Rejects with the task's error; or with
   * why the lock was not acquired; or with a LockLostError if the lock was lost meanwhile. The task is given the lock:
   * `lock.signal` tells it of a loss.
   */
  using<T>(key: Key | readonly Key[], task: LockTask<T>): Promise<T>;
  using<T>(key: Key | readonly Key[], options: LockOptions, task: LockTask<T>): Promise<T>;
  async using<T>(key: Key | readonly Key[], second: LockOptions | LockTask<T>, third?: LockTask<T>): Promise<T> {
    const [options, task] = typeof second === 'function' ? [{}, second] : [second, third];
    values.task(task, 'using()');
    const place = callerOf(this.using);
    return during(Array.isArray(key) ? this.all(key as Key[], options, 'using()', place) : this.one(key as Key, options, ACQUIRE, 'using()', place), task!);
  }

  /** Whether any owner holds a key, exclusively or shared, or permits of it. */
  async locked(key: Key): Promise<boolean> {
    const found = lockInfoOf(await this.shards.ask(['LOCK.INFO', values.key(key), 'COUNT', 1]));
    return found !== undefined && found.holders.length > 0;
  }

  /** The holders and the waiters of a key; undefined: it is free. */
  async info(key: Key): Promise<LockInfo | undefined> { return lockInfoOf(await this.shards.ask(['LOCK.INFO', values.key(key)])); }

  /**
   * Releases a key for any owner, as operators do: the holder hears of the loss as "forced". false: it was free. It names the
   * owners that it has seen, so that a repetition takes nothing from a later one.
   */
  async forceUnlock(key: Key): Promise<boolean> {
    const holders = (await this.info(key))?.holders ?? [];
    for (const { owner } of holders) await this.shards.ask(['LOCK.FORCE', values.key(key), 'OWNER', owner]);
    return holders.length > 0;
  }

  /**
   * A semaphore with so many permits. The first acquisition makes it. Without a limit it is one that exists, or has the limit
   * of Semaphore.initial().
   */
  semaphore(key: Key, limit?: number): Semaphore { return new Semaphore(this, values.key(key), limit); }

  /** A count that goes down once, and the wait for that. */
  latch(key: Key): Latch { return new Latch(this, this.watches, values.key(key)); }

  /** At most `count` calls a `period` (milliseconds), with bursts of `burst`. */
  limiter(key: Key, rate: Rate): Limiter { return new Limiter(this, values.key(key), rate); }

  /**
   * Takes units of several limiters in one step: 1 of each, or `cost`, from all of them or from none. So a call that one of them
   * refuses costs nothing at the others. The limiters are of this client, 64 at most, each once. With `wait` the call has a place
   * in the queue of each, and takes from none before all allow it. What is sent again, and the errors, are those of Limiter.take().
   */
  takeLimits(limiters: readonly Limiter[], options?: TakeOptions): Promise<LimitsTaken> { return takeLimits(this, limiters, options); }

  /** Entries that are added to a stream later. */
  delayed(stream: Key): Delayed { return new Delayed(this, values.key(stream, 'a stream')); }

  /**
   * Works off a stream for a consumer group: `worker.run()` calls the handler for each entry, and acknowledges it when that
   * has returned. A handler that fails gets the entry again after a pause. After its last attempt, and after the death of the
   * worker in the last one, the entry is in the dead letter stream. What a dead worker had in hand goes to another one.
   * Entries may come more than once, so what they do in SQL is done by `entry.once(db)`. The group is made if it is not there.
   */
  worker(stream: Key, group: string, handler: EntryHandler, options?: WorkerOptions): Worker {
    return new Worker(this, values.key(stream, 'a stream'), group, handler, options);
  }

  /** A flash sale. */
  sale(voucher: Key): Sale { return new Sale(this, values.key(voucher, 'a voucher')); }

  /**
   * Buys pieces of several sales in one step, under one order id and one hold: all parts, or none. The same cart gets the same
   * answer, however often it is asked, so it is sent again while the server does not answer. Confirm, cancel and extend each part
   * by its sale. In a cluster the vouchers have the same hash tag.
   */
  cart(user: string, order: string, parts: readonly CartPart[]): Promise<CartOutcome> { return buyCart(this, user, order, parts); }

  /**
   * Asks the holders of a key to let go: their onAsked() is told, with `reason`. The lock stays as it is. Resolves to how many
   * heard it; 0: the key is free, or no holder listens. It is sent once: after a NoAnswerError they may have been asked.
   */
  async ask(key: Key, reason?: string): Promise<number> {
    const words = ['LOCK.ASK', values.key(key), ...(reason === undefined ? [] : ['REASON', values.text(reason, 'a reason')])];
    return Number(await this.shards.once(words).catch((error: unknown) => { throw translated(error); }));
  }

  /**
   * Runs `lead` while this process is the only one that holds the lock: the leader. It waits until it is, however long
   * that takes, and campaigns again when the lead was lost, which aborts the lock's signal; lead() must return then.
   * Resolves to what lead() returns while it leads. Rejects with lead()'s error, with the abort of `signal`, or with
   * ClosedError. A server that does not answer is asked again until then.
   */
  campaign<T>(key: Key, lead: LockTask<T>): Promise<T>;
  campaign<T>(key: Key, options: { signal?: AbortSignal }, lead: LockTask<T>): Promise<T>;
  async campaign<T>(key: Key, second: { signal?: AbortSignal } | LockTask<T>, third?: LockTask<T>): Promise<T> {
    if (typeof second === 'function') return campaign(this, key, {}, second);
    return campaign(this, key, values.options(second, 'campaign()', 'signal'), values.task(third!, 'campaign()'));
  }

  /**
   * Releases what is held and ends the connections. Calls that wait for a lock reject with ClosedError, as every later
   * call does. The signals of held locks are aborted with the reason "closed". Bounded by the timeout: what the server
   * has not answered for by then ends with its lease.
   */
  close(): Promise<void> {
    this.closed ??= this.shards.close(async () => {
      for (const call of [...this.calls]) call.abort(new ClosedError());
      if (this.calls.size > 0) await new Promise<void>((resolve) => this.idle.push(resolve));
    });
    return this.closed;
  }

  async [asyncDispose](): Promise<void> { await this.close(); }

  /** @internal */
  async take(wish: Wish, options: LockOptions | undefined, place: string, owner?: string): Promise<Lock> {
    const { within, trace = currentTrace() } = options ?? {};
    const [wait, signal] = [values.wait(options?.wait), values.signal(options?.signal)];
    values.text(trace, 'a trace');
    if (within !== undefined && !(within instanceof Lock && within.its.keeper.shards === this.shards)) throw new TypeError('within is a lock of the same client');
    const began = now();
    try {
      const lock = await this.call(signal, (limited) => {
        const full: Wish = { ...wish, tries: wait === 0, trace };
        const task = within ? within.its.task : owner === undefined ? ownerOf(this.shards, full, this.reentrant) : new Task(owner);
        return this.takeFor(task, full, wait, signal, limited, place);
      });
      for (const key of wish.keys) this.shards.observe('acquired', key, now() - began);
      return lock;
    } catch (failure) {
      const error = about(failure, wish.keys);
      for (const key of wish.keys) this.shards.observe('refused', key, now() - began, error as Error);
      throw error;
    }
  }

  /** Runs a call that ends with `signal` and with close(). */
  private async call<T>(signal: AbortSignal | undefined, run: (limited: AbortController) => Promise<T>): Promise<T> {
    if (this.shards.isClosing) throw new ClosedError();
    if (this.shards.hopeless) throw this.shards.hopeless;
    if (signal?.aborted) throw abortedBy(signal);
    const limited = new AbortController();
    setMaxListeners(0, limited.signal);
    const ended = () => limited.abort(abortedBy(signal!));
    if (signal) {
      setMaxListeners(0, signal); // any number of calls may wait by one signal
      signal.addEventListener('abort', ended, { once: true });
    }
    this.calls.add(limited);
    this.shards.callBegins();
    try {
      return await run(limited);
    } finally {
      signal?.removeEventListener('abort', ended);
      this.calls.delete(limited);
      this.shards.callEnds();
      if (this.calls.size === 0) for (const call of this.idle.splice(0)) call();
    }
  }

  /** @internal Waits for units of limiters, and resolves to the numbers of the reply; undefined: not within `wait`. */
  units(keys: readonly string[], rate: readonly Word[], wait: number, signal: AbortSignal | undefined): Promise<number[] | undefined> {
    const task = new Task(this.shards.newOwner());
    const wish: Wish = { kind: 'limiter', keys, shared: false, lease: 0, tries: false, rate };
    return this.call(signal, async (limited) => {
      this.shards.together(keys);
      const end = wait === Infinity ? undefined : now() + wait;
      const timer = end === undefined ? undefined : new Timer(wait, () => limited.abort(new NotAcquiredError(keys)), true);
      const { tokens, error, doubtful } = await this.request(task, wish, end, limited.signal).finally(() => timer?.stop());
      if (tokens) return tokens;
      if (doubtful) this.shards.owe(undoWords(wish, task.owner));
      if (error instanceof NotAcquiredError) return undefined;
      throw error;
    }).catch((error: unknown) => { throw about(error, wish.keys); });
  }

  /** Asks the shard of the keys, when it is known. */
  private async request(task: Task, wish: Wish, end: number | undefined, limited: AbortSignal): Promise<Outcome> {
    const key = wish.keys[0]!;
    const keeper = this.shards.now(key) ?? await this.shards.at(key, this.shards.limit, limited);
    this.shards.together(wish.keys);
    if (keeper.hopeless) throw keeper.hopeless;
    return keeper.waits.request(task, wish, end, limited);
  }

  private async takeFor(task: Task, wish: Wish, wait: number | undefined, signal: AbortSignal | undefined, limited: AbortController, place: string): Promise<Lock> {
    const end = wait === undefined || wait === 0 ? undefined : now() + wait;
    const timer = end === undefined ? undefined : new Timer(wait!, () => limited.abort(this.refusal(wish.keys)), true);
    try {
      await task.enter(wish.keys, limited.signal);
      const again = this.again(task, wish, signal, place);
      if (again) {
        task.exit(wish.keys);
        return again;
      }
    } catch (error) {
      timer?.stop();
      throw error;
    }
    let outcome: Outcome;
    try {
      outcome = await this.request(task, wish, end, limited.signal);
    } catch (error) {
      task.exit(wish.keys);
      throw error;
    } finally {
      timer?.stop();
    }
    if (outcome.tokens) {
      try {
        return this.hold(outcome.keeper, task, wish, outcome.tokens, outcome.began, signal, place);
      } finally {
        task.exit(wish.keys);
      }
    }
    // Until a doubtful one is released the owner does not ask again: that release would end the new lock.
    if (outcome.doubtful) this.shards.owe(undoWords(wish, task.owner), () => task.exit(wish.keys));
    else task.exit(wish.keys);
    throw outcome.error;
  }

  private refusal(keys: readonly string[]): NotAcquiredError { return this.shards.now(keys[0]!)?.refusal(keys) ?? new NotAcquiredError(keys); }

  /** Returns a lock for what the owner holds already; undefined: it holds none of the keys. */
  private again(task: Task, wish: Wish, signal: AbortSignal | undefined, place: string): Lock | undefined {
    const hold = task.holds.get(wish.keys[0]!);
    const other = wish.keys.some((key) => task.holds.get(key) !== hold);
    if (other || (hold && (wish.kind === 'semaphore' || hold.wish.kind === 'semaphore' || (hold.wish.shared && !wish.shared)))) {
      task.exit(wish.keys);
      throw new HeldOtherwiseError(wish.keys);
    }
    if (!hold?.lasts) return undefined;
    return new Lock(new Claim(hold, wish.keys, signal, place));
  }

  /** Notes what the server has given. */
  private hold(keeper: Keeper, task: Task, wish: Wish, tokens: number[], began: number, signal: AbortSignal | undefined, place: string): Lock {
    const hold = new Hold(keeper, task, wish, tokens);
    const lock = new Lock(new Claim(hold, wish.keys, signal, place));
    for (const key of wish.keys) task.holds.set(key, hold);
    const lost = keeper.keep(hold);
    if (lost) {
      hold.lose(wish.keys[0]!, tokens[0]!, lost);
      throw lost === 'closed' ? new ClosedError() : hold.lost!;
    }
    if (wish.lease > 0) hold.leaseBegan(began, wish.lease);
    return lock;
  }
}

/** The highest priority of a call that waits. */
const MAX_PRIORITY = 9;

/** What the options of a call ask for. Their values are checked. */
export function wishOf(options: LockOptions | undefined): Omit<Wish, 'kind' | 'keys'> {
  const { lease, shared = false, priority = 0 } = options ?? {};
  if (typeof shared !== 'boolean') throw new TypeError('shared is true or false');
  values.whole(priority, 'a priority', 0, MAX_PRIORITY);
  return { shared, lease: lease === undefined ? 0 : values.time(lease, 'a lease'), tries: false, priority };
}

/** Runs a task while a lock is held. */
export async function during<T>(acquired: Promise<Lock>, task: LockTask<T>): Promise<T> {
  const lock = await acquired;
  let result: T;
  try {
    result = values.finished(await inside(lock, () => task(lock)));
  } catch (error) {
    await lock.release().catch(() => {}); // the task's error says more
    throw error;
  }
  try {
    await lock.release();
  } catch (error) {
    if (error instanceof LockLostError || isReply(error)) throw error;
    // The server has not answered: it is released as soon as it can be reached. The task was done under the lock.
  }
  return result;
}
