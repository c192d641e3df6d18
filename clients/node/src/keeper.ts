// The connection to a shard that is attached to the client's owners. The keeper makes it, makes it anew, asks for locks by it,
// and hears of grants and losses.

import { deferred, Gate, now, rest, Timer } from './clock.js';
import { Blocking } from './blocking.js';
import { Channel } from './channel.js';
import { BrokenError, ClosedError, isReply, isWrongType, NoAnswerError, NotAcquiredError, NotLockserverError, ReplyError, translated, type LossReason } from './errors.js';
import type { Hold } from './hold.js';
import { Log, type Logger } from './log.js';
import type { Observer } from './observer.js';
import type { Push, Word } from './resp.js';
import { addressOf, type Route } from './route.js';
import { pauseOf, type Shards } from './shards.js';
import { keyOf } from './slots.js';
import { tokensOf } from './wish.js';
import { Waits } from './waits.js';
import type { Endpoint, Wire } from './wire.js';

/** The server's own default, for users who may not ask. */
const DEFAULT_LEASE = 30_000;
/** Bounds the losses that are remembered for calls that are about to register. */
const MOST_STRAYS = 1024;
/** Between two attempts to connect. */
const PAUSE = 20;
const LONGEST_PAUSE = 1000;

/** Commands that have to be done, and what is to happen then. They may be sent twice. */
interface Debt {
  commands: Word[][];
  paid: (() => void) | undefined;
  redirections: number;
}

/** A token is that of one shard: two locks may have the same. */
const nameOf = (key: string, token: number): string => `${token} ${key}`;
const namesOf = (hold: Hold): string[] => hold.wish.keys.map((key, i) => nameOf(key, hold.tokens[i]!));

export class Keeper {
  lease = DEFAULT_LEASE; // of a lock that the server renews
  wire: Wire | undefined;
  readonly waits: Waits = new Waits(this);
  readonly channel: Channel;
  readonly blocking: Blocking;
  readonly ready = deferred<void>(); // of the first connection
  readonly log: Log;
  private readonly ended = new Gate();
  private closing = false;
  private readonly holds = new Map<string, Hold>(); // by token and key: two shards may give the same token
  private readonly byKey = new Map<string, Hold>(); // the last one of each key
  private readonly strays = new Map<string, LossReason>(); // losses of locks that a call may be about to register
  private readonly strayAsks = new Map<string, string>(); // questions for such locks, and why
  private readonly timers = new Set<Timer>();
  private unpaid: Debt[] = [];
  private debts = 0; // unpaid and sent
  private free: Array<() => void> = []; // called when there are no debts
  private answered = now(); // when the server has answered for the last time
  private patience: Timer | undefined;
  private lapsed = false; // the server has been silent for longer than leases are sure to last
  private resumed = false; // this process was stopped, and the server has not answered since
  private failure: unknown; // why the last attempt to connect has failed
  private readonly running: Promise<void>;

  constructor(readonly shards: Shards, private readonly route: Route, logger: Logger | false | undefined) {
    this.log = new Log(logger, shards.name);
    this.channel = new Channel(route, shards.limit, () => this.opening, (error) => shards.redirects(error));
    this.blocking = new Blocking(route, shards.limit, () => this.opening);
    this.running = this.run();
  }

  get limit(): number { return this.shards.limit; }

  /** How long a connection may take to be one. */
  private get opening(): number { return Math.min(5000, Math.max(500, this.lease / 6)); }

  get held(): number { return this.holds.size; }
  get owed(): number { return this.debts; }

  /** Until when leases that the server renews last at least. */
  get sureUntil(): number { return this.answered + this.sureFor; }

  /** The age of the oldest hold, in milliseconds. */
  get oldest(): number {
    const [first] = this.holds.values(); // they are in the order of their beginnings
    return first ? now() - first.since : 0;
  }

  /** Returns why a lock was not acquired, with the holder if it is one of this client. */
  refusal(keys: readonly string[]): NotAcquiredError {
    const hold = keys.map((key) => this.byKey.get(key)).find((it) => it !== undefined);
    return hold ? new NotAcquiredError(keys, hold.task.owner, hold.leaseInWords) : new NotAcquiredError(keys);
  }

  observe<K extends keyof Observer>(event: K, ...args: Parameters<NonNullable<Observer[K]>>): void { this.shards.observe(event, ...args); }

  private async run(): Promise<void> {
    let pause = PAUSE;
    while (!this.ended.open) {
      const began = now();
      try {
        const wire = await this.connect();
        this.log.attached(addressOf(wire.endpoint));
        this.observe('connected', undefined);
        this.ready.resolve();
        pause = PAUSE;
        await this.watch(wire);
        if (this.wire === wire) this.wire = undefined;
        // A server that is silent, by one connection, does not answer by the other either.
        if (wire.error instanceof NoAnswerError) this.channel.drop(wire.error);
        if (!this.ended.open) this.log.detached(addressOf(wire.endpoint), wire.error);
        this.observe('connected', wire.error);
        if (now() - began > LONGEST_PAUSE) continue;
      } catch (error) {
        this.failed(error);
        if (this.ended.open) return;
        await this.shards.trouble(error, this.ended);
      }
      await rest(pause, this.ended);
      pause = Math.min(2 * pause, LONGEST_PAUSE, this.lease / 10);
    }
  }

  /** Notes why an attempt to connect has failed. Calls end at once if another attempt would not change it. */
  private failed(error: unknown): void {
    const said = translated(error);
    this.failure = said;
    if (!this.ended.open) this.log.detached('the server', said);
    if (!(said instanceof NotLockserverError) && !(said instanceof ReplyError && isReply(said))) return;
    this.ready.reject(said);
    this.waits.endAll(said);
  }

  private async connect(): Promise<Wire> {
    const prefix = `${this.shards.name}:`;
    const wire = await this.route.connect(this.opening, async (w) => {
      await w.call(['LOCK.ATTACH', 'PREFIX', prefix], this.opening);
      await this.route.leads(w);
    }, (w, push) => this.told(w, push));
    if (this.ended.open) {
      wire.close(new ClosedError());
      throw new ClosedError();
    }
    try {
      await this.takeUp(wire);
    } catch (error) {
      if (this.wire === wire) this.wire = undefined;
      wire.close(error as Error);
      throw error;
    }
    this.failure = undefined;
    this.channel.follow(wire.endpoint);
    return wire;
  }

  /** Tells a new connection of what was there before. What the server no longer has is lost. */
  private async takeUp(wire: Wire): Promise<void> {
    const setting = await wire.call(['CONFIG', 'GET', 'lock-watchdog-timeout'], this.opening).catch((error: unknown) => {
      if (!isReply(error)) throw error;
      return undefined; // it may not be asked for
    });
    const lease = Array.isArray(setting) ? Number(setting[1]) : NaN;
    if (lease > 0) this.lease = lease;
    this.hear();
    this.wire = wire; // from here on calls send by this connection
    const { unpaid } = this;
    this.unpaid = [];
    for (const debt of unpaid) this.send(debt);
    const checks = [...new Set(this.holds.values())].map((hold) => this.check(hold, wire));
    this.waits.askAll(wire); // behind the checks: very many replies may take longer than the checks have time
    await Promise.all(checks);
  }

  /** Asks whether the server has a hold still, and notes it if not. Rejects with the error of the connection. */
  private async check(hold: Hold, wire: Wire): Promise<void> {
    await Promise.all(hold.checkWords().map(async (words, i) => {
      const [key, token] = [hold.wish.keys[i]!, hold.tokens[i]!];
      try {
        if (await wire.call(words, this.opening) === 0) hold.lose(key, token, 'stale');
        else hold.confirmed(this);
      } catch (error) {
        if (this.shards.redirects(error)) {
          if (i === 0 && hold.keeper === this && !hold.leaving) this.sendOn(hold, error);
        } else if (!isReply(error)) throw error;
        else if (isWrongType(error)) hold.lose(key, token, 'stale');
      }
    }));
  }

  /** Has a hold asked for where an answer redirects it. Until then no new map moves it. */
  private sendOn(hold: Hold, error: ReplyError): void {
    hold.leaving = true;
    this.redirect(error, ++hold.redirections, () => {
      hold.leaving = false;
      this.shards.rehome(hold);
    });
  }

  /** Calls back when the map has the shard that an answer names. */
  redirect(error: ReplyError, redirections: number, call: () => void): void {
    void this.shards.moved(error, this.wire?.endpoint).then(() => rest(pauseOf(redirections), this.ended)).then(call);
  }

  /** Gives away what is of another shard, by the map that has just come. */
  sortOut(): void {
    this.waits.sortOut();
    for (const hold of new Set(this.holds.values())) if (!hold.leaving && this.shards.now(hold.key) !== this) this.shards.rehome(hold);
    const { unpaid } = this;
    this.unpaid = [];
    for (const debt of unpaid) this.passOrSend(debt);
  }

  /** Takes a hold from another shard, which had its slot before. Until this server has said that it has it, the other one's lease counts. */
  adopt(hold: Hold): void {
    if (hold.isOver) return;
    const { keeper } = hold;
    if (keeper !== this) {
      keeper.forget(hold);
      hold.goTo(this, keeper.sureUntil);
      this.register(hold);
    }
    const { wire } = this;
    if (wire) this.check(hold, wire).catch((error: unknown) => this.leave(wire, error as Error)); // the next connection asks again
  }

  /** Ends the connections: the shard has no slots any more, and nothing is left here. */
  retire(): void {
    this.ended.fire();
    this.patience?.stop();
    const why = new BrokenError(new Error('the shard is gone'));
    this.channel.drop(why);
    this.blocking.drop(why);
    this.wire?.close(why);
    this.wire = undefined;
  }

  /** Asks the server for a sign of life now and then, until it gives none. */
  private async watch(wire: Wire): Promise<void> {
    this.hear();
    while (!wire.error) {
      await rest(this.lease / 6, wire.broke, this.ended);
      if (this.ended.open) wire.close(new ClosedError());
      if (wire.error) return;
      await wire.call(['PING'], this.lease / 6).then(() => this.hear(), () => {}); // the limit closes it
    }
  }

  /** How long leases that the server renews last at least behind its last answer: it renews at a third. */
  private get sureFor(): number { return (this.lease * 2) / 3 - this.lease / 20; }

  private hear(): void {
    this.answered = now();
    this.resumed = false;
    this.lapsed = false;
    if (this.patience === undefined && !this.ended.open) this.watchSilence(this.sureFor);
  }

  private watchSilence(ms: number): void {
    this.patience = new Timer(ms, () => this.giveUp());
  }

  /** Counts what the server renews as lost if it has been silent for too long: leases may have ended. */
  private giveUp(): void {
    this.patience = undefined;
    if (this.ended.open) return;
    let left = this.answered + this.sureFor - now();
    if (-left > this.lease / 6 && this.wire && !this.resumed) {
      // The timer is late, so this process was stopped. The connection may live: the server is asked first.
      this.resumed = true;
      left = this.lease / 6;
    }
    if (left > 0) {
      this.watchSilence(left);
      return;
    }
    this.lapsed = true;
    this.waits.endQueued();
    for (const hold of new Set(this.holds.values())) {
      if (hold.wish.lease === 0) hold.lose(hold.key, hold.token, 'unreachable');
    }
  }

  /** A connection is of no use any more: it leads to a server that does not lead, or is broken. */
  leave(wire: Wire, why: Error): void {
    if (this.wire === wire) this.wire = undefined;
    if (why instanceof ReplyError && why.word === 'MOVED') void this.shards.moved(why, wire.endpoint);
    this.channel.drop(new BrokenError(why));
    wire.close(why);
  }

  /** The server has said that another one leads the shard: nothing goes to it any more. */
  leaveFor(leader: Endpoint): void {
    const { wire } = this;
    if (wire && addressOf(wire.endpoint) !== addressOf(leader)) {
      this.wire = undefined;
      wire.close(new BrokenError(new Error('another server leads')));
    }
    this.channel.leaveFor(leader);
  }

  private told(wire: Wire, push: Push): void {
    const [kind, what, third, fourth] = push.items;
    if (push.items.length < 4 || what === undefined) return;
    const many = Array.isArray(what);
    const keys = (many ? what : [what]).map(String);
    if (keys.length === 0) return;
    if (kind === 'lock-lost') this.wasLost(keys[0]!, Number(third), String(fourth) as LossReason);
    else if (kind === 'lock-asked') this.wasAsked(keys[0]!, Number(third), String(fourth));
    else if (kind === 'lock-granted') {
      const tokens = tokensOf(third);
      if (tokens?.length === keys.length) this.waits.granted(wire, keys, many, tokens, String(fourth));
    } else if (kind === 'limit-granted') this.waits.taken(wire, keys[0]!, tokensOf(third) ?? [], String(fourth));
    else if (kind === 'lock-refused' || kind === 'limit-refused') this.waits.refused(wire, keys[0]!, String(third), String(fourth));
  }

  private wasLost(key: string, token: number, reason: LossReason): void {
    const hold = this.holdOf(key, token);
    if (hold) {
      hold.lose(key, token, reason);
      return;
    }
    if (this.shards.calls === 0) return;
    if (this.strays.size >= MOST_STRAYS) this.strays.clear();
    this.strays.set(nameOf(key, token), reason);
  }

  private wasAsked(key: string, token: number, reason: string): void {
    const hold = this.holdOf(key, token);
    if (hold) hold.askedFor(reason);
    else if (this.shards.calls > 0 && this.strayAsks.size < MOST_STRAYS) this.strayAsks.set(nameOf(key, token), reason);
  }

  /** No call for a lock is under way. */
  forgetStrays(): void {
    this.strays.clear();
    this.strayAsks.clear();
  }

  holdOf(key: string, token: number): Hold | undefined { return this.holds.get(nameOf(key, token)); }

  /** Registers a hold. Returns the reason if it is lost already. */
  keep(hold: Hold): LossReason | undefined {
    if (this.closing) return 'closed';
    if (this.lapsed && hold.wish.lease === 0) return 'unreachable';
    for (const name of namesOf(hold)) {
      const reason = this.strays.get(name);
      if (reason) return reason;
    }
    this.register(hold);
    for (const name of namesOf(hold)) {
      const reason = this.strayAsks.get(name);
      if (reason !== undefined) hold.askedFor(reason);
    }
    return undefined;
  }

  private register(hold: Hold): void {
    for (const name of namesOf(hold)) this.holds.set(name, hold);
    for (const key of hold.wish.keys) this.byKey.set(key, hold);
  }

  forget(hold: Hold): void {
    for (const name of namesOf(hold)) if (this.holds.get(name) === hold) this.holds.delete(name);
    for (const key of hold.wish.keys) if (this.byKey.get(key) === hold) this.byKey.delete(key);
  }

  /** NoAnswerError, with why there is no connection. */
  silence(): NoAnswerError {
    return this.failure instanceof NoAnswerError ? this.failure : new NoAnswerError(this.failure);
  }

  /** The error that another attempt to connect would not change; undefined: there is none. */
  get hopeless(): Error | undefined {
    const { failure } = this;
    return failure instanceof NotLockserverError || (failure instanceof ReplyError && isReply(failure)) ? failure : undefined;
  }

  /** Calls back later, unless the keeper ends. */
  later(ms: number, call: () => void): void {
    if (this.ended.open) return;
    const timer: Timer = new Timer(ms, () => {
      this.timers.delete(timer);
      call();
    });
    this.timers.add(timer);
  }

  /** Resolves when everything has been heard that the server had told by now, if that is soon. */
  async sync(): Promise<void> {
    await this.wire?.call(['PING'], this.limit).catch(() => {});
  }

  /** Has commands done, now or as soon as there is a connection, until they were answered. */
  owe(commands: Word[][], paid?: () => void): void {
    this.take({ commands, paid, redirections: 0 });
  }

  private take(debt: Debt): void {
    this.debts++;
    this.send(debt);
  }

  /** Has a debt paid where its key is. */
  private passOrSend(debt: Debt): void {
    const shard = this.ended.open ? this : this.shards.now(keyOf(debt.commands[0]!))!;
    if (shard === this) {
      this.send(debt);
      return;
    }
    shard.take(debt);
    this.settle();
  }

  private send(debt: Debt): void {
    const { wire } = this;
    if (this.ended.open) {
      void this.payLate(debt);
      return;
    }
    if (!wire || wire.error) {
      this.unpaid.push(debt);
      return;
    }
    let left = debt.commands.length;
    let failed = false;
    const collect = (error: Error | undefined) => {
      if (this.shards.redirects(error)) {
        if (left > 0) this.redirect(error, ++debt.redirections, () => this.passOrSend(debt));
        left = 0; // the others have the same key
        return;
      }
      if (left === 0) return;
      if (!isReply(error)) {
        failed = true;
        this.leave(wire, error!);
      }
      if (--left > 0) return;
      if (failed) this.send(debt);
      else this.done(debt);
    };
    for (const words of debt.commands) wire.send(words, collect);
  }

  /** Sends what is owed when the attached connection has ended for good. */
  private async payLate(debt: Debt): Promise<void> {
    const end = now() + this.limit;
    for (const words of debt.commands) await this.shards.again(words, Math.max(1, end - now())).catch(() => {});
    this.done(debt);
  }

  private done(debt: Debt): void {
    this.settle();
    debt.paid?.();
  }

  /** There is a debt less. */
  private settle(): void {
    this.debts--;
    if (this.debts === 0) for (const call of this.free.splice(0)) call();
  }

  private noDebts(): Promise<void> {
    if (this.debts === 0) return Promise.resolve();
    return new Promise((resolve) => this.free.push(resolve));
  }

  /** Begins to close: what is held is released. */
  letGo(): void {
    this.closing = true; // from here on keep() refuses
    this.ready.reject(new ClosedError());
    for (const hold of new Set(this.holds.values())) {
      if (hold.markLost(hold.key, hold.token, 'closed')) hold.abandon();
      else this.owe([hold.releaseWords()]); // a release() is under way
    }
  }

  /**
   * Ends the connections when what is owed is done, as far as the server answers within the limit. `left` resolves when no call
   * for a lock is under way.
   */
  async close(left: Promise<unknown>): Promise<void> {
    const limit = rest(this.limit, this.ended);
    this.blocking.close();
    await Promise.race([left, limit]);
    await Promise.race([this.noDebts(), limit]);
    this.ended.fire();
    this.patience?.stop();
    for (const timer of this.timers) timer.stop();
    this.wire?.close(new ClosedError());
    this.wire = undefined;
    await Promise.race([this.running, rest(100)]);
    const { unpaid } = this;
    this.unpaid = [];
    for (const debt of unpaid) this.done(debt); // the server was silent for the whole limit
    this.channel.close();
  }
}
