// The shards of a client: which one has a key, and the connections to those that are in use. A plain server, a raft group
// and the master of Sentinels are one shard, which has all keys.
//
// The map of the slots comes from CLUSTER SLOTS, by each new connection and after each MOVED. It may be old: a server that
// does not have a slot answers MOVED, and what it was asked goes to the shard that the answer names.

import { Gate, now, rest, Timer, deferred } from './clock.js';
import { PAUSES } from './channel.js';
import {
  abortedBy, ClosedError, CrossSlotError, isReply, NoAnswerError, NotAcquiredError, ReplyError, ShardedError, translated,
} from './errors.js';
import type { Hold } from './hold.js';
import { Keeper } from './keeper.js';
import { Log, type Logger } from './log.js';
import type { Observer, Stats } from './observer.js';
import { exactTexts, type Raw, type Reply, type Word } from './resp.js';
import { addressOf, movedTo, Route, type Learner } from './route.js';
import { keyOf, placesOf, slotOf, SLOTS, type Place } from './slots.js';
import type { Target } from './target.js';
import type { Wait } from './waits.js';
import type { Endpoint, Wire } from './wire.js';

/** Between two attempts to learn the map, in milliseconds; it doubles up to the longest. */
const PAUSE = 20;
const LONGEST_PAUSE = 1000;
/** How long a connection may take to be one, in milliseconds. */
const OPENING = 5000;
/** How often something is redirected without a pause. Then its slot is between two shards. */
const QUICK_REDIRECTIONS = 2;
/** The pause after that, in milliseconds; it doubles up to the longest. */
const REDIRECTION_PAUSE = 5;
const LONGEST_REDIRECTION_PAUSE = 100;

/** How long to wait before something is asked again that was redirected so often. Half of it is chance: clients do not come together. */
export function pauseOf(redirections: number): number {
  if (redirections <= QUICK_REDIRECTIONS) return 0;
  const pause = Math.min(REDIRECTION_PAUSE * 2 ** (redirections - QUICK_REDIRECTIONS - 1), LONGEST_REDIRECTION_PAUSE);
  return (pause * (1 + Math.random())) / 2;
}

export class Shards implements Learner {
  readonly ready = deferred<void>(); // of the first connection
  /** Calls for locks that may register a hold. */
  private callsNow = 0;
  private readonly keepers = new Map<Route, Keeper>();
  private routes: Route[] = [];
  /** The shard that has all keys. */
  private only: Keeper | undefined;
  private bySlot: Array<Route | undefined> = [];
  private map = ''; // the last reply that has changed something
  private refused = false; // the user may not ask for the map
  private known = new Gate(); // opens when there is a map
  private attempted = new Gate(); // opens at the end of an attempt to learn it
  private failure: unknown; // why the last attempt has failed
  private refreshing: Promise<void> | undefined;
  private readonly ended = new Gate();
  private closing = false;
  private made = 0;
  readonly log: Log; // of what is of no shard

  constructor(
    private readonly target: Target,
    readonly name: string,
    readonly limit: number,
    private readonly observers: readonly Observer[],
    private readonly logger: Logger | false | undefined,
  ) {
    this.log = new Log(logger, name);
    if (target.kind === 'cluster') void this.discover();
    else this.settle(new Route(target, name, this, target.endpoints));
  }

  newOwner(): string { return `${this.name}:${++this.made}`; }

  /** A number that is higher than any before. */
  next(): number { return ++this.made; }

  get isClosing(): boolean { return this.closing; }

  /** Whether there are several shards, as far as is known. */
  get isSharded(): boolean { return this.routes.length > 1; }

  /** Begins with one shard that has all keys. */
  private settle(route: Route): void {
    this.routes = [route];
    this.only = this.keeperOf(route);
    this.only.ready.promise.then(() => this.ready.resolve(), (error: unknown) => this.ready.reject(error));
    this.known.fire();
  }

  /** Asks the servers that the program has named for the map, until one has said it. */
  private async discover(): Promise<void> {
    const seeds = new Route(this.target, this.name, this, this.target.endpoints);
    for (let pause = PAUSE; !this.ended.open; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
      let id: Reply = null;
      try {
        const wire = await seeds.connect(OPENING, async (w) => {
          id = await w.call(['CLUSTER', 'MYID'], OPENING).catch((error: unknown) => {
            if (!isReply(error)) throw error;
            return null;
          });
        });
        wire.close(new ClosedError());
        if (this.ended.open) return;
        if (this.routes.length === 0 && this.refused) this.settle(new Route(this.target, this.name, this, this.target.endpoints));
        if (this.routes.length > 0) {
          this.begin(String(id));
          return;
        }
        throw new NoAnswerError(new Error('no server has slots'));
      } catch (error) {
        this.failure = translated(error);
        if (!this.ended.open) this.log.detached(addressOf(this.target.endpoints[0]!), this.failure);
        if (this.hopeless) this.ready.reject(this.hopeless);
      }
      const { attempted } = this;
      this.attempted = new Gate();
      attempted.fire();
      await rest(pause, this.ended);
    }
  }

  /** Connects to the first shard: that of the server that has said the map. */
  private begin(id: string): void {
    const home = this.routes.find((route) => route.ids.has(id)) ?? this.routes[0]!;
    this.failure = undefined;
    this.keeperOf(home).ready.promise.then(() => this.ready.resolve(), (error: unknown) => this.ready.reject(error));
    this.known.fire();
  }

  private keeperOf(route: Route): Keeper {
    let keeper = this.keepers.get(route);
    if (!keeper) {
      if (this.closing) throw new ClosedError();
      keeper = new Keeper(this, route, this.logger);
      this.keepers.set(route, keeper);
    }
    return keeper;
  }

  /** The shard of a key; undefined: the map is not known yet. */
  now(key: string): Keeper | undefined {
    if (this.only) return this.only;
    if (this.routes.length === 0) return undefined;
    return this.keeperOf(this.bySlot[slotOf(key)] ?? this.routes[0]!); // a slot that no shard has: any server says so
  }

  /** Returns the shard of a key when the map is known. Errors: NoAnswerError (not within `limit` milliseconds), `signal`'s, ClosedError. */
  async at(key: string, limit: number, signal?: AbortSignal): Promise<Keeper> {
    const end = now() + limit;
    const aborted = new Gate();
    const fire = () => aborted.fire();
    signal?.addEventListener('abort', fire, { once: true });
    try {
      for (;;) {
        if (this.closing) throw new ClosedError();
        if (signal?.aborted) throw signal.reason instanceof NotAcquiredError ? this.silence() : abortedBy(signal);
        const keeper = this.now(key);
        if (keeper) return keeper;
        if (this.hopeless) throw this.hopeless;
        if (now() >= end) throw this.silence();
        await rest(end - now(), this.known, this.attempted, this.ended, aborted);
      }
    } finally {
      signal?.removeEventListener('abort', fire);
    }
  }

  /** Fails unless the keys are of one shard. */
  together(keys: readonly string[]): void {
    if (keys.length < 2 || this.only || this.routes.length === 0) return;
    const slot = slotOf(keys[0]!);
    const other = keys.find((key) => slotOf(key) !== slot);
    if (other !== undefined) throw new CrossSlotError([keys[0]!, other]);
  }

  /** NoAnswerError, with why there is no connection. */
  silence(): NoAnswerError { return this.failure instanceof NoAnswerError ? this.failure : new NoAnswerError(this.failure); }

  /** The error that another attempt to connect would not change; undefined: there is none. */
  get hopeless(): Error | undefined {
    const { failure } = this;
    if (this.only) return this.only.hopeless;
    return failure instanceof ReplyError && isReply(failure) ? failure : undefined;
  }

  // The map.

  learn(reply: Reply | undefined, wire: Wire): void {
    if (this.target.kind !== 'cluster' || this.closing) return;
    if (reply === undefined) {
      this.refused = true;
      return;
    }
    const named = (host: string, port: number): Endpoint => this.target.translate?.(`${host}:${port}`) ?? { host, port };
    const places = placesOf(reply, wire.endpoint.host ?? '', named, addressOf);
    if (places.length === 0) return;
    const map = JSON.stringify(places.map(({ endpoints, ranges }) => [endpoints.map(addressOf), ranges]));
    if (places.length === 1) { // the addresses of the program lead there as well, and are those that it can reach
      const { endpoints } = places[0]!;
      endpoints.push(...[...this.target.endpoints, wire.endpoint].filter((it) => !endpoints.some((other) => addressOf(other) === addressOf(it))));
    } else if (map === this.map) return;
    this.map = map;
    this.apply(places);
  }

  /** Takes a map. A shard is the one that it was if it has one of its servers still. */
  private apply(places: Place[]): void {
    const gone = new Set(this.routes);
    const known = this.routes.length > 0;
    this.routes = places.map(({ endpoints, ranges, ids }) => {
      const route = [...gone].find((it) => endpoints.some((endpoint) => it.has(endpoint))) ?? new Route(this.target, this.name, this, []);
      gone.delete(route);
      route.become(endpoints, ranges, ids);
      return route;
    });
    this.bySlot = new Array<Route | undefined>(SLOTS);
    for (const route of this.routes) for (const [first, last] of route.ranges) this.bySlot.fill(route, first, last + 1);
    this.only = places.length === 1 ? this.keeperOf(this.routes[0]!) : undefined;
    if (!known) return;
    for (const keeper of this.keepers.values()) keeper.sortOut();
    for (const route of gone) {
      this.keepers.get(route)?.retire();
      this.keepers.delete(route);
    }
  }

  /** Returns what is wrong if a server, which the client was told of alone, is one of several shards. */
  async misdirected(error: Error, wire: Wire | undefined): Promise<ShardedError | undefined> {
    if (!(error instanceof ReplyError && error.word === 'MOVED') || this.target.kind !== 'server' || !wire) return undefined;
    const reply = await wire.call(['CLUSTER', 'SLOTS'], OPENING).catch((): Reply => null);
    const named = (host: string, port: number): Endpoint => ({ host, port });
    return placesOf(reply, '', named, addressOf).length > 1 ? new ShardedError(error) : undefined;
  }

  /** Whether an answer redirects one key: there are several shards, and another one has its slot, or none has. */
  redirects(error: unknown): error is ReplyError {
    return this.isSharded && error instanceof ReplyError && (error.word === 'MOVED' || error.word === 'CLUSTERDOWN');
  }

  /** Takes an answer in that `by` has given: the map has the shard that it names when this resolves. Never rejects. */
  async moved(error: ReplyError, by: Endpoint | undefined): Promise<void> {
    const to = movedTo(error, this.target, by?.host);
    if (!to) return this.refresh();
    const slot = Number(error.message.split(' ')[1]);
    const find = () => this.routes.find((route) => route.has(to));
    if (!this.isSharded && this.routes.length > 0) { // a group has another leader
      this.routes[0]!.note(to);
      return;
    }
    if (!find()) await this.refresh(to);
    if (!this.isSharded || this.closing) return;
    let route = find();
    if (!route) {
      route = new Route(this.target, this.name, this, [to]);
      this.routes.push(route);
    }
    if (this.bySlot[slot] === route) {
      this.keepers.get(route)?.leaveFor(to);
      return;
    }
    this.bySlot[slot] = route;
    this.map = '';
    for (const keeper of this.keepers.values()) keeper.sortOut();
  }

  /** A connection could not be made: the shard may be elsewhere. Never rejects. */
  async trouble(error: unknown, ended: Gate): Promise<void> {
    if (this.target.kind !== 'cluster') return;
    const over = new Promise<void>((resolve) => ended.listen(resolve));
    if (error instanceof ReplyError && error.word === 'MOVED') await Promise.race([this.moved(error, undefined), over]);
    else if (this.isSharded) await Promise.race([this.refresh(), over]);
  }

  /** Asks for the map: the server at `first`, one with a connection, or any. Never rejects. */
  refresh(first?: Endpoint): Promise<void> {
    if (this.target.kind !== 'cluster' || this.routes.length === 0) return Promise.resolve();
    this.refreshing ??= this.fetch(first).catch(() => {}).finally(() => { this.refreshing = undefined; });
    return this.refreshing;
  }

  private async fetch(first: Endpoint | undefined): Promise<void> {
    const from = async (endpoints: readonly Endpoint[]) => {
      const wire = await new Route(this.target, this.name, this, endpoints).connect(OPENING, async (w) => { await w.call(['PING'], OPENING); });
      wire.close(new ClosedError());
    };
    if (first && await from([first]).then(() => true, () => false)) return;
    for (const { wire } of this.keepers.values()) {
      if (!wire || wire.error) continue;
      const reply = await wire.call(['CLUSTER', 'SLOTS']).catch(() => undefined);
      if (reply === undefined) continue;
      this.learn(reply, wire);
      return;
    }
    await from([...this.target.endpoints, ...this.routes.map((route) => route.endpoints[0]!)]);
  }

  // What is sent to the shard of its key.

  /** Sends a command once, and again only where it was redirected, which has done nothing. Errors: those of Channel.raw. */
  async raw(words: readonly Word[], limit = this.limit, signal?: AbortSignal): Promise<Raw> {
    const end = now() + limit;
    const key = keyOf(words);
    for (let redirections = 1; ; redirections++) {
      const keeper = this.now(key) ?? await this.at(key, end - now(), signal);
      try {
        return await keeper.channel.raw(words, Math.max(1, Math.min(limit, end - now())), signal);
      } catch (error) {
        if (!(error instanceof ReplyError) || (error.word !== 'MOVED' && !this.redirects(error))) throw error;
        await this.elsewhere(keeper, error, redirections, end);
        if (signal?.aborted) throw abortedBy(signal);
      }
    }
  }

  /** Follows a MOVED, until `end` at most. */
  private async elsewhere(keeper: Keeper, error: ReplyError, redirections: number, end: number): Promise<void> {
    const wrong = await this.misdirected(error, keeper.wire);
    if (wrong) throw wrong;
    const late = new Gate();
    const timer = new Timer(Math.max(0, end - now()), () => late.fire());
    await Promise.race([this.moved(error, keeper.wire?.endpoint).then(() => rest(pauseOf(redirections), late, this.ended)), new Promise<void>((done) => late.listen(done))]);
    timer.stop();
    if (this.ended.open) throw new ClosedError();
    if (late.open) throw new NoAnswerError(error);
  }

  /** raw() with bytes as exactText. */
  async once(words: readonly Word[], limit?: number, signal?: AbortSignal): Promise<Reply> { return exactTexts(await this.raw(words, limit, signal)); }

  /**
   * Sends a command that may be sent twice until the server has answered. Errors: ReplyError, or NoAnswerError when
   * the limit (milliseconds) is over.
   */
  async again(words: readonly Word[], limit = this.limit): Promise<Reply> {
    const end = now() + limit;
    for (let attempt = 0; ; attempt++) {
      let failed: unknown;
      try {
        return await this.once(words, Math.max(1, end - now()));
      } catch (error) {
        if (isReply(error)) throw error;
        failed = error;
      }
      if (this.ended.open) throw new ClosedError();
      const pause = PAUSES[Math.min(attempt, PAUSES.length - 1)]!;
      if (now() + pause >= end) throw failed instanceof NoAnswerError ? failed : new NoAnswerError(failed);
      await rest(pause);
    }
  }

  /** again(), with errors as this package has them. */
  async ask(words: readonly Word[], limit?: number): Promise<Reply> {
    try {
      return await this.again(words, limit);
    } catch (error) {
      throw translated(error);
    }
  }

  /** Sends a command once that may block its connection: see Blocking.call. */
  async block(words: readonly Word[], key: string, wait: number | undefined, signal: AbortSignal | undefined): Promise<Reply> {
    const keeper = this.now(key) ?? await this.at(key, this.limit, signal);
    try {
      return await keeper.blocking.call(words, wait, signal);
    } catch (error) {
      if (error instanceof ReplyError && error.word === 'MOVED') await this.elsewhere(keeper, error, 1, now() + this.limit);
      throw error;
    }
  }

  // What goes from one shard to another.

  /** Has a call for a lock wait at the shard of its key. */
  place(wait: Wait): void {
    if (this.closing || wait.state === 'over') return;
    this.now(wait.wish.keys[0]!)!.waits.adopt(wait);
  }

  /** Gives a hold to the shard of its key. */
  rehome(hold: Hold): void {
    if (!this.closing) this.now(hold.key)!.adopt(hold);
  }

  /** Has commands done by the shard of their key, as soon as it can be reached, until they were answered. */
  owe(commands: Word[][], paid?: () => void): void { (this.only ?? this.now(keyOf(commands[0]!)))!.owe(commands, paid); }

  // What all shards have together.

  /**
   * Whether a call waits for a lock, or has it, at any shard. Two connections may lead to one server, as when the map is old and
   * another server leads. Both hear of each grant.
   */
  knows(owner: string, key: string, token: number): boolean {
    for (const keeper of this.keepers.values()) if (keeper.waits.has(owner, key) || keeper.holdOf(key, token)) return true;
    return false;
  }

  callBegins(): void { this.callsNow++; }

  callEnds(): void {
    if (--this.callsNow === 0) for (const keeper of this.keepers.values()) keeper.forgetStrays();
  }

  get calls(): number { return this.callsNow; }

  /** Tells the observers. What they throw is theirs. */
  observe<K extends keyof Observer>(event: K, ...args: Parameters<NonNullable<Observer[K]>>): void {
    for (const observer of this.observers) {
      try {
        (observer[event] as ((...args: unknown[]) => void) | undefined)?.(...args);
      } catch {
        // a metric that fails ends no lock
      }
    }
  }

  /** Figures of this moment. */
  stats(): Stats {
    const all = [...this.keepers.values()];
    const sum = (of: (keeper: Keeper) => number) => all.reduce((n, keeper) => n + of(keeper), 0);
    return {
      held: sum((it) => it.held), waiting: sum((it) => it.waits.size), owed: sum((it) => it.owed), oldest: Math.max(0, ...all.map((it) => it.oldest)),
      attached: all.length > 0 && all.every((it) => it.wire !== undefined),
    };
  }

  /**
   * Releases what is held, as far as the servers answer within the limit, and ends the connections. `leave` ends the calls
   * for locks, and resolves when none is under way.
   */
  async close(leave: () => Promise<unknown>): Promise<void> {
    this.closing = true; // from here on keep() refuses
    this.ready.reject(new ClosedError());
    const keepers = [...this.keepers.values()];
    for (const keeper of keepers) keeper.letGo();
    const left = leave();
    if (keepers.length === 0) await Promise.race([left, rest(this.limit)]);
    await Promise.all(keepers.map((keeper) => keeper.close(left)));
    this.ended.fire();
  }
}
