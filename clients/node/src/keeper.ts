// The connection that is attached to the client's owners. The keeper makes it, makes it anew, asks for locks by it, and
// hears of grants and losses.

import { deferred, Gate, now, rest, Timer } from './clock.js';
import { Channel } from './channel.js';
import { ClosedError, isReply, isWrongType, NoAnswerError, NotAcquiredError, NotLockserverError, ReplyError, translated, type LossReason } from './errors.js';
import type { Hold } from './hold.js';
import { Log, type Logger } from './log.js';
import type { Observer } from './observer.js';
import type { Push, Reply, Word } from './resp.js';
import { addressOf, type Route } from './route.js';
import { tokensOf } from './wish.js';
import { Waits } from './waits.js';
import type { Wire } from './wire.js';

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
}

export class Keeper {
  lease = DEFAULT_LEASE; // of a lock that the server renews
  wire: Wire | undefined;
  readonly waits: Waits = new Waits(this);
  readonly channel: Channel;
  readonly ready = deferred<void>(); // of the first connection
  readonly log: Log;
  private readonly ended = new Gate();
  private closing = false;
  private readonly holds = new Map<number, Hold>();
  private readonly byKey = new Map<string, Hold>(); // the last one of each key
  private readonly strays = new Map<number, LossReason>(); // losses of locks that a call may be about to register
  private calls = 0; // that may register a hold
  private readonly timers = new Set<Timer>();
  private unpaid: Debt[] = [];
  private debts = 0; // unpaid and sent
  private free: Array<() => void> = []; // called when there are no debts
  private made = 0;
  private answered = now(); // when the server has answered for the last time
  private patience: Timer | undefined;
  private lapsed = false; // the server has been silent for longer than leases are sure to last
  private resumed = false; // this process was stopped, and the server has not answered since
  private failure: unknown; // why the last attempt to connect has failed
  private readonly running: Promise<void>;

  constructor(private readonly route: Route, readonly name: string, readonly limit: number, private readonly observers: readonly Observer[], logger: Logger | false | undefined) {
    this.log = new Log(logger, name);
    this.channel = new Channel(route, limit, () => this.opening);
    this.running = this.run();
  }

  /** How long a connection may take to be one. */
  private get opening(): number { return Math.min(5000, Math.max(500, this.lease / 6)); }

  get isClosing(): boolean { return this.closing; }
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

  newOwner(): string { return `${this.name}:${++this.made}`; }

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
    const prefix = `${this.name}:`;
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
    const checks: Array<Promise<void>> = [];
    for (const hold of new Set(this.holds.values())) {
      hold.checkWords().forEach((words, i) => {
        checks.push(wire.call(words, this.opening).then((reply) => {
          if (reply === 0) hold.lose(hold.wish.keys[i]!, hold.tokens[i]!, 'stale');
        }, (error: unknown) => {
          if (!isReply(error)) throw error;
          if (isWrongType(error)) hold.lose(hold.wish.keys[i]!, hold.tokens[i]!, 'stale');
        }));
      });
    }
    this.waits.askAll(wire); // behind the checks: very many replies may take longer than the checks have time
    await Promise.all(checks);
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
    this.route.movedTo(why);
    this.channel.drop(why);
    wire.close(why);
  }

  private told(wire: Wire, push: Push): void {
    const [kind, what, third, fourth] = push.items;
    if (push.items.length < 4 || what === undefined) return;
    const many = Array.isArray(what);
    const keys = (many ? what : [what]).map(String);
    if (keys.length === 0) return;
    if (kind === 'lock-lost') this.wasLost(keys[0]!, Number(third), String(fourth) as LossReason);
    else if (kind === 'lock-granted') {
      const tokens = tokensOf(third);
      if (tokens?.length === keys.length) this.waits.granted(wire, keys, many, tokens, String(fourth));
    } else if (kind === 'limit-granted') this.waits.taken(wire, keys[0]!, tokensOf(third) ?? [], String(fourth));
    else if (kind === 'lock-refused' || kind === 'limit-refused') this.waits.refused(wire, keys[0]!, String(third), String(fourth));
  }

  private wasLost(key: string, token: number, reason: LossReason): void {
    const hold = this.holds.get(token);
    if (hold) {
      hold.lose(key, token, reason);
      return;
    }
    if (this.calls === 0) return;
    if (this.strays.size >= MOST_STRAYS) this.strays.clear();
    this.strays.set(token, reason);
  }

  /** A call for a lock begins. */
  callBegins(): void { this.calls++; }

  callEnds(): void {
    if (--this.calls === 0) this.strays.clear();
  }

  holdOf(token: number): Hold | undefined { return this.holds.get(token); }

  /** Registers a hold. Returns the reason if it is lost already. */
  keep(hold: Hold): LossReason | undefined {
    if (this.closing) return 'closed';
    if (this.lapsed && hold.wish.lease === 0) return 'unreachable';
    for (const token of hold.tokens) {
      const reason = this.strays.get(token);
      if (reason) return reason;
    }
    for (const token of hold.tokens) this.holds.set(token, hold);
    for (const key of hold.wish.keys) this.byKey.set(key, hold);
    return undefined;
  }

  forget(hold: Hold): void {
    for (const token of hold.tokens) if (this.holds.get(token) === hold) this.holds.delete(token);
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
    this.debts++;
    this.send({ commands, paid });
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
    for (const words of debt.commands) {
      await this.channel.again(words, Math.max(1, end - now())).catch((): Reply => null);
    }
    this.done(debt);
  }

  private done(debt: Debt): void {
    this.debts--;
    if (this.debts === 0) for (const call of this.free.splice(0)) call();
    debt.paid?.();
  }

  private noDebts(): Promise<void> {
    if (this.debts === 0) return Promise.resolve();
    return new Promise((resolve) => this.free.push(resolve));
  }

  /**
   * Releases what is held, as far as the server answers within the limit, and ends the connections. `calls` resolves
   * when no call for a lock is under way.
   */
  async close(leave: () => Promise<unknown>): Promise<void> {
    this.closing = true; // from here on keep() refuses
    this.ready.reject(new ClosedError());
    for (const hold of new Set(this.holds.values())) {
      if (hold.markLost(hold.key, hold.token, 'closed')) hold.abandon();
      else this.owe([hold.releaseWords()]); // a release() is under way
    }
    const limit = rest(this.limit, this.ended);
    await Promise.race([leave(), limit]);
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
