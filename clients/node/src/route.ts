// The way to the server that leads: the server itself, a member of a raft group, or the master of Sentinels.

import { isElsewhere, NoAnswerError, ReplyError } from './errors.js';
import type { Push } from './resp.js';
import type { Target } from './target.js';
import { Wire, type Endpoint } from './wire.js';

export const addressOf = ({ host, port, path }: Endpoint): string => path ?? `${host}:${port}`;

export class Route {
  /** Members of a group that are known, by address. */
  private readonly known = new Map<string, Endpoint>();

  constructor(private readonly target: Target, private readonly name: string) {
    for (const endpoint of target.endpoints) this.known.set(addressOf(endpoint), endpoint);
  }

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
      const elsewhere = this.movedTo(error);
      if (!elsewhere || candidates.some((it) => addressOf(it) === addressOf(elsewhere))) throw error;
      return this.open(elsewhere, limit, begin, told);
    }
  }

  /** Notes the address that a MOVED names, and returns it. */
  movedTo(error: unknown): Endpoint | undefined {
    if (!(error instanceof ReplyError) || error.word !== 'MOVED' || this.target.kind !== 'cluster') return undefined;
    const address = error.message.split(' ')[2] ?? '';
    const colon = address.lastIndexOf(':');
    if (colon <= 0) return undefined;
    return this.note(address.slice(0, colon), Number(address.slice(colon + 1)));
  }

  private note(host: string, port: number): Endpoint {
    const endpoint = this.target.translate?.(`${host}:${port}`) ?? { host, port };
    this.known.set(addressOf(endpoint), endpoint);
    return endpoint;
  }

  private async open(endpoint: Endpoint, limit: number, begin: (wire: Wire) => Promise<void>, told?: (wire: Wire, push: Push) => void): Promise<Wire> {
    const { tls, socket, database } = this.target;
    const { username, password } = (await this.target.credentials?.()) ?? {};
    const wire = await Wire.open({ endpoint, tls, socket, database, username, password, name: this.name, told }, limit);
    try {
      if (this.target.kind === 'cluster') this.learn(wire);
      await begin(wire);
      return wire;
    } catch (error) {
      wire.close(error as Error);
      throw error;
    }
  }

  /** Takes the members of the group from one of them. */
  private learn(wire: Wire): void {
    wire.call(['CLUSTER', 'SLOTS']).then((reply) => {
      if (!Array.isArray(reply) || reply.length === 0) return;
      // Members that are gone have had other addresses: only those of the program stay.
      this.known.clear();
      for (const endpoint of [...this.target.endpoints, wire.endpoint]) this.known.set(addressOf(endpoint), endpoint);
      for (const range of reply) {
        for (const node of Array.isArray(range) ? range.slice(2) : []) {
          if (!Array.isArray(node)) continue;
          this.note(String(node[0] || wire.endpoint.host), Number(node[1]));
        }
      }
    }, () => {});
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
      await wire.call(['EXISTS', this.name]).catch((error: unknown) => {
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
