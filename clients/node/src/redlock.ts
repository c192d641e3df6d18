// The interface of redlock (node-redlock 5, @sesamecare-oss/redlock 1) on locks of a lockserver. A program changes its
// import, and nothing else. With one client a call waits in the server's queue instead of asking again. With several a
// majority decides, as there.

import { randomBytes } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { callerOf } from './claim.js';
import { rest } from './clock.js';
import { isWrongType, LockLostError, LockReleasedError, NotAcquiredError } from './errors.js';
import type { Lock as Held } from './lock.js';
import { Locks } from './locks.js';
import type { Word } from './resp.js';
import * as values from './values.js';
import { targetOf, type IoredisClient, type NodeRedisClient } from './target.js';

/** A client of ioredis or node-redis. */
export type Client = IoredisClient | NodeRedisClient;

export type ClientExecutionResult =
  | { client: Client; vote: 'for'; value: number }
  | { client: Client; vote: 'against'; error: Error };

/** The votes of an attempt. */
export type ExecutionStats = {
  readonly membershipSize: number;
  readonly quorumSize: number;
  readonly votesFor: Set<Client>;
  readonly votesAgainst: Map<Client, Error>;
};

export type ExecutionResult = {
  attempts: ReadonlyArray<Promise<ExecutionStats>>;
  start: number;
};

export interface Settings {
  readonly driftFactor?: number;
  /** A call waits for at most retryCount times retryDelay; -1: without limit. */
  readonly retryCount?: number;
  readonly retryDelay?: number;
  readonly retryJitter?: number;
  readonly automaticExtensionThreshold?: number;
  readonly db?: number;
}

const DEFAULTS: Readonly<Required<Settings>> = Object.freeze({
  driftFactor: 0.01, retryCount: 10, retryDelay: 200, retryJitter: 100, automaticExtensionThreshold: 500, db: 0,
});

/** Another owner holds one of the resources, or the lock is lost. */
export class ResourceLockedError extends Error {
  constructor(public override readonly message: string) {
    super();
    this.name = 'ResourceLockedError';
  }
}

/** No majority was in favour, in all attempts. */
export class ExecutionError extends Error {
  constructor(public override readonly message: string, public readonly attempts: ReadonlyArray<Promise<ExecutionStats>>) {
    super();
    this.name = 'ExecutionError';
  }
}

export class Lock {
  /** @internal The locks by client. */
  held: Map<Client, Held> = new Map();

  constructor(
    public readonly redlock: Redlock,
    public readonly resources: string[],
    public readonly value: string,
    public readonly attempts: ReadonlyArray<Promise<ExecutionStats>>,
    public expiration: number,
    public readonly settings?: Partial<Settings>,
  ) {}

  /** The fencing token of the first resource, at the first of the clients. redlock has none. */
  get token(): number {
    const [first] = this.held.values();
    if (!first) throw new ExecutionError('The lock is not held.', []);
    return first.token;
  }

  async release(): Promise<ExecutionResult> {
    return this.redlock.release(this);
  }

  async extend(duration: number): Promise<Lock> {
    return this.redlock.extend(this, duration, this.settings);
  }
}

export type RedlockAbortSignal = AbortSignal & { error?: Error };

export interface RedlockUsingContext {
  lock: Lock;
  extensions: number;
}

type Routine<T> = (signal: RedlockAbortSignal, context: RedlockUsingContext) => Promise<T>;

const numberOr = (value: unknown, fallback: number): number => (typeof value === 'number' ? value : fallback);

function whole(duration: number): void {
  if (Math.floor(duration) !== duration) throw new Error('Duration must be an integer value in milliseconds.');
  values.time(duration, 'a duration');
}

export class Redlock extends EventEmitter {
  public readonly clients: Set<Client>;
  public readonly settings: Required<Settings>;
  private readonly id = randomBytes(10).toString('hex');
  private readonly members = new Map<Client, Locks>();
  private made = 0;

  /** `scripts` of redlock has no meaning here. */
  public constructor(clients: Iterable<Client>, settings: Settings = {}, _scripts: object = {}) {
    super();
    this.on('error', () => {}); // redlock does not end the program either
    this.clients = new Set(clients);
    if (this.clients.size === 0) throw new Error('Redlock must be instantiated with at least one redis client.');
    const { db } = settings;
    this.settings = {
      driftFactor: numberOr(settings.driftFactor, DEFAULTS.driftFactor),
      retryCount: numberOr(settings.retryCount, DEFAULTS.retryCount),
      retryDelay: numberOr(settings.retryDelay, DEFAULTS.retryDelay),
      retryJitter: numberOr(settings.retryJitter, DEFAULTS.retryJitter),
      automaticExtensionThreshold: numberOr(settings.automaticExtensionThreshold, DEFAULTS.automaticExtensionThreshold),
      db: typeof db === 'number' && Number.isInteger(db) && db >= 0 && db <= 15 ? db : DEFAULTS.db,
    };
  }

  /** The client of the package for a client of the library: it ends with that one. */
  private locksOf(client: Client): Locks {
    let locks = this.members.get(client);
    if (locks) return locks;
    const target = targetOf(client);
    locks = new Locks({ ...target, database: this.settings.db || target.database }, { name: 'redlock', id: this.id });
    this.members.set(client, locks);
    const end = () => {
      if (this.members.get(client) === locks) this.members.delete(client);
      void locks!.close();
    };
    whenEnded(client, end);
    return locks;
  }

  /** Ends the clients, and what this object has opened. */
  public async quit(): Promise<void> {
    await Promise.all([...this.members.values()].map((locks) => locks.close()));
    this.members.clear();
    await Promise.all([...this.clients].map((client) => (client as unknown as { quit(): Promise<unknown> }).quit()));
  }

  /** Acquires all of the resources for `duration` milliseconds, or rejects with an ExecutionError. */
  public async acquire(resources: string[], duration: number, settings?: Partial<Settings>): Promise<Lock> {
    whole(duration);
    values.keys(resources);
    const place = callerOf(this.acquire);
    const own = { ...this.settings, ...settings };
    const value = `redlock:${this.id}:${++this.made}`;
    const held = new Map<Client, Held>();
    const alone = this.clients.size === 1; // then the server's queue is the retry
    const window = own.retryCount === -1 ? undefined : own.retryCount * own.retryDelay;
    const run = async (client: Client) => {
      held.set(client, await this.locksOf(client).acquireAs(value, prefixed(client, resources), alone ? window : 0, duration, place));
    };
    const undo = async () => { // a minority that is kept would keep all others from a majority
      await Promise.all([...held.values()].map((lock) => lock.release().catch(() => {})));
      held.clear();
    };
    const { attempts } = await this.execute(resources.length, own, alone, run, undo);
    const start = Math.min(...[...held.values()].map((lock) => Date.now() + lock.remaining - duration));
    const lock = new Lock(this, resources, value, attempts, start + duration - driftOf(own, duration), settings);
    lock.held = held;
    return lock;
  }

  /** Releases a lock at all clients. Rejects with an ExecutionError unless a majority had it. */
  public async release(lock: Lock, settings?: Partial<Settings>): Promise<ExecutionResult> {
    lock.expiration = 0;
    return this.execute(lock.resources.length, { ...this.settings, ...settings }, false, async (client) => {
      const held = lock.held.get(client);
      if (held) return held.release();
      // The lock of another process, which has passed its value on.
      await this.done(client, lock, ['MUNLOCK', lock.resources.length, ...prefixed(client, lock.resources), lock.value]);
    });
  }

  /** Has a command for a lock of another process done. The owner's name is the lock's value, which no other lock has. */
  private async done(client: Client, lock: Lock, words: Word[]): Promise<void> {
    if (lock.held.size > 0) throw new NotAcquiredError(lock.resources); // this client was not in favour
    const reply = await this.locksOf(client).shards.ask(words);
    if (reply === 0 || (Array.isArray(reply) && reply.includes(null))) throw new NotAcquiredError(lock.resources);
  }

  /** Has a lock last for `duration` milliseconds from now. The lock that was given is of no use then. */
  public async extend(existing: Lock, duration: number, settings?: Partial<Settings>): Promise<Lock> {
    whole(duration);
    if (existing.expiration < Date.now()) throw new ExecutionError('Cannot extend an already-expired lock.', []);
    const own = { ...this.settings, ...settings };
    const { attempts, start } = await this.execute(existing.resources.length, own, false, async (client) => {
      const held = existing.held.get(client);
      if (held) return held.renew(duration);
      for (const key of prefixed(client, existing.resources)) await this.done(client, existing, ['RENEW', key, existing.value, 'PX', duration]);
    });
    existing.expiration = 0;
    const lock = new Lock(this, existing.resources, existing.value, attempts, start + duration - driftOf(own, duration), settings);
    lock.held = existing.held;
    return lock;
  }

  /**
   * Does something at each client until a majority is in favour. once: if `run` has waited for as long as all attempts
   * would have taken, its failure counts as that of all.
   */
  private async execute(n: number, own: Required<Settings>, once: boolean, run: (client: Client) => Promise<void>, undo?: () => Promise<void>): Promise<ExecutionResult> {
    const most = own.retryCount === -1 ? Infinity : own.retryCount + 1;
    const attempts: Array<Promise<ExecutionStats>> = [];
    for (let attempt = 1; ; attempt++) {
      const start = Date.now();
      const { stats, passed, hopeless, waited } = await this.attempt(n, run);
      if (most !== Infinity || passed) attempts.push(stats);
      if (passed) return { attempts, start };
      if (undo) {
        await stats; // a client may still be about to acquire
        await undo();
      }
      if (once && waited && most !== Infinity) while (attempts.length < most) attempts.push(stats);
      if (hopeless || attempt >= most || attempts.length >= most) {
        throw new ExecutionError('The operation was unable to achieve a quorum during its retry window.', attempts);
      }
      await rest(Math.max(0, own.retryDelay + Math.floor((Math.random() * 2 - 1) * own.retryJitter)));
    }
  }

  /**
   * hopeless: the lock is lost or released, which another attempt would not change. waited: no client has found a string
   * at a key, which is a lock of redlock itself, as of a program that has not moved yet. No queue tells when that ends.
   */
  private attempt(n: number, run: (client: Client) => Promise<void>) {
    const size = this.clients.size;
    const votes: ExecutionStats = {
      membershipSize: size, quorumSize: Math.floor(size / 2) + 1, votesFor: new Set(), votesAgainst: new Map(),
    };
    let gone = 0;
    let waited = true;
    return new Promise<{ stats: Promise<ExecutionStats>; passed: boolean; hopeless: boolean; waited: boolean }>((resolve) => {
      const all = Promise.all([...this.clients].map(async (client) => {
        try {
          await run(client);
          votes.votesFor.add(client);
        } catch (error) {
          if (error instanceof LockLostError || error instanceof LockReleasedError) gone++;
          if (isWrongType(error)) waited = false;
          const said = wordsOf(error, n);
          votes.votesAgainst.set(client, said);
          this.emit('error', said);
        }
        const passed = votes.votesFor.size === votes.quorumSize;
        if (passed || votes.votesAgainst.size === votes.quorumSize) resolve({ stats, passed, hopeless: gone >= votes.quorumSize, waited });
      }));
      const stats = all.then(() => votes);
    });
  }

  /**
   * Runs a routine under a lock that is extended as long as it takes. The signal is aborted, and has `error`, when the
   * lock is lost.
   */
  public async using<T>(resources: string[], duration: number, settings: Partial<Settings>, routine?: Routine<T>): Promise<T>;
  public async using<T>(resources: string[], duration: number, routine: Routine<T>): Promise<T>;
  public async using<T>(resources: string[], duration: number, second: undefined | Partial<Settings> | Routine<T>, third?: Routine<T>): Promise<T> {
    whole(duration);
    const own = { ...this.settings, ...(typeof second === 'function' ? {} : second) };
    const routine = third ?? second;
    if (typeof routine !== 'function') throw new Error('INVARIANT: routine is not a function.');
    if (own.automaticExtensionThreshold > duration - 100) {
      throw new Error('A lock `duration` must be at least 100ms greater than the `automaticExtensionThreshold` setting.');
    }
    const extending = new Extending(await this.acquire(resources, duration, own), duration, own);
    try {
      return await routine(extending.signal, extending.context);
    } finally {
      await extending.end();
    }
  }
}

/** A lock that is extended until end(). */
class Extending {
  readonly context: RedlockUsingContext;
  private readonly controller = new AbortController();
  readonly signal = this.controller.signal as RedlockAbortSignal;
  private timer: NodeJS.Timeout | undefined;
  private extension: Promise<void> | undefined;
  private over = false;

  constructor(lock: Lock, private readonly duration: number, private readonly own: Required<Settings>) {
    this.context = { lock, extensions: 0 };
    if (lock.held.size === 1) { // of several a majority may still have it
      const [held] = lock.held.values();
      held!.signal.addEventListener('abort', () => this.lose(held!.signal.reason as Error), { once: true });
    }
    this.queue();
  }

  private lose(error: Error): void {
    if (this.over || this.signal.aborted) return;
    this.signal.error = error;
    this.controller.abort();
  }

  private queue(): void {
    if (this.over) return;
    const left = this.context.lock.expiration - Date.now() - this.own.automaticExtensionThreshold;
    this.timer = setTimeout(() => { this.extension = this.extend(); }, Math.min(Math.max(0, left), 2 ** 31 - 1));
  }

  private async extend(): Promise<void> {
    while (!this.over && !this.signal.aborted) {
      try {
        this.context.lock = await this.context.lock.extend(this.duration);
        this.context.extensions++;
        this.queue();
        return;
      } catch (error) {
        if (this.context.lock.expiration > Date.now()) continue;
        this.lose(error as Error);
      }
    }
  }

  async end(): Promise<void> {
    this.over = true;
    clearTimeout(this.timer);
    await this.extension;
    await this.context.lock.release();
  }
}

/** Between two looks at a client that waits to connect again, in milliseconds. */
const LOOK = 200;

/**
 * Calls back when a client has ended for good. ioredis has an event for that, but none if disconnect() comes while it waits to
 * connect again: its status stays, and only a field says that it does not wait any more.
 */
function whenEnded(client: Client, call: () => void): void {
  const it = client as Client & Partial<EventEmitter> & { status?: string; manuallyClosing?: boolean };
  let over = false;
  const end = () => {
    if (!over) call();
    over = true;
  };
  const look = () => {
    setTimeout(() => {
      if (over || it.status !== 'reconnecting') return;
      if (it.manuallyClosing) end();
      else look();
    }, LOOK).unref();
  };
  if (it.status === 'end') setImmediate(end);
  if (it.status === 'reconnecting') look();
  it.once?.('end', end);
  it.on?.('reconnecting', look);
}

/** Returns keys as the client of ioredis sends them: with its keyPrefix. */
function prefixed(client: Client, keys: readonly string[]): string[] {
  const { keyPrefix } = ((client as { options?: object }).options ?? {}) as { keyPrefix?: unknown };
  return typeof keyPrefix === 'string' ? keys.map((key) => keyPrefix + key) : [...keys];
}

function driftOf(own: Required<Settings>, duration: number): number {
  return Math.round(own.driftFactor * duration) + 2;
}

/** Returns an error as redlock would say it. Another value at a key is a lock of redlock itself: it keeps strings. */
function wordsOf(error: unknown, n: number): Error {
  if (error instanceof NotAcquiredError || error instanceof LockLostError || error instanceof LockReleasedError || isWrongType(error)) {
    return new ResourceLockedError(`The operation was applied to: 0 of the ${n} requested resources.`);
  }
  const code = (error as { code?: string } | undefined)?.code;
  if (code === 'ERR_LOCK_NO_ANSWER' || code === 'ERR_LOCK_CLOSED') return new Error('Connection is closed.', { cause: error });
  return error instanceof Error ? error : new Error(String(error));
}

export default Redlock;
