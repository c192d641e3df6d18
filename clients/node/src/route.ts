// The way to the server that leads: the server itself, the leader of a shard or of a raft group, or the master of Sentinels.

import { now, Timer } from './clock.js';
import { isElsewhere, isReply, NoAnswerError, ReplyError } from './errors.js';
import type { Push, Reply } from './resp.js';
import { slotOf, type Range } from './slots.js';
import type { Target } from './target.js';
import { Wire, type Endpoint } from './wire.js';

export const addressOf = ({ host, port, path }: Endpoint): string => path ?? `${host}:${port}`;

/** Returns the address that a MOVED names; undefined: the error is no such answer, or `target` is no cluster. */
export function movedTo(error: unknown, target: Target, own = ''): Endpoint | undefined {
  if (!(error instanceof ReplyError) || error.word !== 'MOVED' || target.kind !== 'cluster') return undefined;
  const address = error.message.split(' ')[2] ?? '';
  const colon = address.lastIndexOf(':');
  const [host, port] = [address.slice(0, colon) || own, Number(address.slice(colon + 1))];
  if (colon < 0 || !host || !(port > 0)) return undefined;
  return target.translate?.(`${host}:${port}`) ?? { host, port };
}

/** What a client does with what its connections say about the shards. */
export interface Learner {
  /** Takes the reply of CLUSTER SLOTS by a new connection; undefined: the user may not ask, or the server is no cluster. */
  learn(reply: Reply | undefined, wire: Wire): void;
}

export class Route {
  /** Servers of the shard that are known, by address. */
  private readonly known = new Map<string, Endpoint>();
  private own: readonly Range[] = [];
  /** The ids of the servers. */
  ids: ReadonlySet<string> = new Set();
  /** A key of the shard, which does not exist. */
  private probe: string;

  constructor(private readonly target: Target, private readonly name: string, private readonly learner: Learner, endpoints: readonly Endpoint[]) {
    this.probe = name;
    for (const endpoint of endpoints) this.known.set(addressOf(endpoint), endpoint);
  }

  /** The servers that are known. */
  get endpoints(): readonly Endpoint[] { return [...this.known.values()]; }

  /** The slots of the shard, as far as the last reply of CLUSTER SLOTS says. */
  get ranges(): readonly Range[] { return this.own; }

  has(endpoint: Endpoint): boolean { return this.known.has(addressOf(endpoint)); }

  /** Replaces what is known. Servers that are gone have had other addresses. */
  become(endpoints: readonly Endpoint[], ranges: readonly Range[], ids: ReadonlySet<string>): void {
    this.known.clear();
    for (const endpoint of endpoints) this.note(endpoint);
    this.own = ranges;
    this.ids = ids;
    this.probe = this.name;
    const has = (slot: number) => ranges.some(([first, last]) => first <= slot && slot <= last);
    for (let n = 0; ranges.length > 0 && !has(slotOf(this.probe)); n++) this.probe = `${this.name}:${n}`;
  }

  note(endpoint: Endpoint): void { this.known.set(addressOf(endpoint), endpoint); }

  /**
   * Opens a connection to the server that leads. `begin` is what is asked first: its error ends the connection. All
   * of it is bounded by `limit` milliseconds. Errors: those of Wire.open and of begin.
   */
  async connect(limit: number, begin: (wire: Wire) => Promise<void>, told?: (wire: Wire, push: Push) => void): Promise<Wire> {
    const { kind } = this.target;
    if (kind === 'server') return this.open(this.target.endpoints[0]!, limit, begin, told);
    const candidates = kind === 'cluster' ? [...this.known.values()] : await this.masters(limit);
    try {
      return await this.firstOf(candidates, limit, begin, told);
    } catch (error) {
      const elsewhere = movedTo(error, this.target);
      if (!elsewhere || candidates.some((it) => addressOf(it) === addressOf(elsewhere))) throw error;
      return this.open(elsewhere, limit, begin, told);
    }
  }

  private async open(endpoint: Endpoint, limit: number, begin: (wire: Wire) => Promise<void>, told?: (wire: Wire, push: Push) => void): Promise<Wire> {
    const { tls, socket, database } = this.target;
    const { username, password } = (await this.target.credentials?.()) ?? {};
    const end = now() + limit;
    const wire = await Wire.open({ endpoint, tls, socket, database, username, password, name: this.name, told }, limit);
    // A server may log a client in, and answer nothing else.
    const timer = new Timer(Math.max(1, end - now()), () => wire.close(new NoAnswerError()), true);
    try {
      // The answer comes before that to begin: what is asked by this connection knows the shards.
      if (this.target.kind === 'cluster') {
        wire.call(['CLUSTER', 'SLOTS']).then((reply) => this.learner.learn(reply, wire), (error: unknown) => {
          if (isReply(error)) this.learner.learn(undefined, wire);
        });
      }
      await begin(wire);
      return wire;
    } catch (error) {
      wire.close(error as Error);
      throw error;
    } finally {
      timer.stop();
    }
  }

  /** Tries all of the candidates at the same time: one that is paused holds up no other. */
  private firstOf(candidates: Endpoint[], limit: number, begin: (wire: Wire) => Promise<void>, told?: (wire: Wire, push: Push) => void): Promise<Wire> {
    return new Promise((resolve, reject) => {
      let left = candidates.length;
      let done = false;
      let worst: unknown = new NoAnswerError();
      for (const endpoint of candidates) {
        this.open(endpoint, limit, begin, (wire, push) => told?.(wire, push)).then((wire) => {
          if (done) wire.close(new NoAnswerError());
          done = true;
          resolve(wire);
        }, (error: unknown) => {
          left--;
          if (weight(error) >= weight(worst)) worst = error;
          if (left === 0) reject(worst as Error);
        });
      }
      if (left === 0) reject(new NoAnswerError());
    });
  }

  /** Asks all Sentinels at the same time, and returns the master that most of them name. */
  private async masters(limit: number): Promise<Endpoint[]> {
    const { endpoints, master = 'mymaster', translate } = this.target;
    const votes = new Map<string, number>();
    let refused: unknown = new NoAnswerError(new Error(`no Sentinel knows ${master}`));
    const agreed = new Promise<void>((resolve) => {
      let left = endpoints.length;
      for (const endpoint of endpoints) {
        this.askSentinel(endpoint, master, limit / 2).then((address) => {
          const n = (votes.get(address) ?? 0) + 1;
          votes.set(address, n);
          if (n * 2 > endpoints.length) resolve();
        }, (error: unknown) => { refused = error; }).finally(() => {
          if (--left === 0) resolve();
        });
      }
    });
    await agreed;
    const [best] = [...votes].sort((a, b) => b[1] - a[1]);
    if (!best) throw refused;
    const colon = best[0].lastIndexOf(':');
    return [translate?.(best[0]) ?? { host: best[0].slice(0, colon), port: Number(best[0].slice(colon + 1)) }];
  }

  private async askSentinel(endpoint: Endpoint, master: string, limit: number): Promise<string> {
    const { sentinelTls, sentinelCredentials, socket } = this.target;
    const wire = await Wire.open({ endpoint, tls: sentinelTls, socket, ...sentinelCredentials }, limit);
    try {
      const reply = await wire.call(['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', master], limit);
      if (!Array.isArray(reply)) throw new ReplyError(`ERR the Sentinel does not know ${master}`);
      return `${String(reply[0])}:${String(reply[1])}`;
    } finally {
      wire.close(new NoAnswerError());
    }
  }

  /** Fails unless the server leads: begin of a connection for commands. */
  async leads(wire: Wire): Promise<void> {
    if (this.target.kind === 'cluster') {
      await wire.call(['EXISTS', this.probe]).catch((error: unknown) => {
        if (isElsewhere(error) || !(error instanceof ReplyError)) throw error;
      });
    } else if (this.target.kind === 'sentinel') {
      const role = await wire.call(['ROLE']).catch((error: unknown) => {
        if (isElsewhere(error) || !(error instanceof ReplyError)) throw error;
        return undefined; // it may not be asked for
      });
      if (Array.isArray(role) && role[0] !== 'master') throw new ReplyError('READONLY the server is no master');
    }
  }
}

/** Says which of several errors is worth to be shown: a MOVED leads on, another reply says more than silence. */
function weight(error: unknown): number {
  if (error instanceof ReplyError && error.word === 'MOVED') return 3;
  if (error instanceof ReplyError) return 2;
  return error instanceof NoAnswerError ? 0 : 1;
}
