// A lockserver in test mode for the tests of a program: its time and its faults are the test's.

import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { ReplyError } from './errors.js';
import { Locks, type LocksOptions } from './locks.js';
import type { Reply, Word } from './resp.js';
import { slotOf, type Range } from './slots.js';
import * as values from './values.js';
import type { Key } from './values.js';
import { Wire } from './wire.js';

export interface TestServerOptions {
  /** The program: the environment variable LOCKSERVER, or "lockserver" in PATH. */
  program?: string;
  /** Further arguments, such as "--test-topology", "cluster". */
  args?: readonly string[];
}

const LIMIT = 30_000;

/** A server in test mode. It ends with close(), or with this process. */
export class TestServer {
  private readonly opened: Locks[] = [];

  private constructor(
    readonly host: string,
    readonly port: number,
    private readonly control: Wire,
    private readonly end: () => Promise<void>,
  ) {}

  /** Starts the program. */
  static async start(options: TestServerOptions = {}): Promise<TestServer> {
    const program = options.program ?? process.env['LOCKSERVER'] ?? 'lockserver';
    const args = ['--test-mode', 'yes', '--port', '0', '--exit-with-parent', 'yes', ...(options.args ?? [])];
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'ignore'] });
    const address = await readyLine(child, program);
    return TestServer.at(address, async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.stdin!.end();
      await ended;
    });
  }

  private static async at(address: string, end: () => Promise<void>): Promise<TestServer> {
    const colon = address.lastIndexOf(':');
    const [host, port] = [address.slice(0, colon), Number(address.slice(colon + 1))];
    const control = await Wire.open({ endpoint: { host, port } }, LIMIT);
    return new TestServer(host, port, control, end);
  }

  /** @internal Connects to a server that runs, and which close() does not end. */
  static open(address: string): Promise<TestServer> { return TestServer.at(address, async () => {}); }

  get url(): string { return `redis://${this.host}:${this.port}`; }

  /** Runs a command. */
  async call(...words: Word[]): Promise<Reply> { return this.control.call(values.command(words), LIMIT); }

  /** Starts a further server in the same process, with data, time and faults of its own. It takes a millisecond. */
  async another(): Promise<TestServer> {
    const address = String(await this.call('TEST.SERVER', 'NEW'));
    return TestServer.at(address, async () => { await this.call('TEST.SERVER', 'END', address); });
  }

  /** A client that close() closes. */
  async locks(options?: LocksOptions): Promise<Locks> {
    const locks = await Locks.connect(this.url, options);
    this.opened.push(locks);
    return locks;
  }

  /** The clock stands still, where it is or there (milliseconds since 1970). Resolves to what it shows. */
  async freeze(at?: number): Promise<number> { return Number(await this.call('TEST.CLOCK', 'FREEZE', ...(at === undefined ? [] : [at]))); }

  /** The clock goes forwards, and what falls due has happened when this resolves. */
  async advance(ms: number): Promise<number> { return Number(await this.call('TEST.CLOCK', 'ADVANCE', ms)); }

  /** The clock runs again. */
  async resume(): Promise<number> { return Number(await this.call('TEST.CLOCK', 'RESUME')); }

  /** As when the server had just started. */
  async reset(): Promise<void> { await this.call('TEST.RESET'); }

  /**
   * Something goes wrong while `run` does: fault('DROPAFTER MATCH LOCK TIMES 1', run). A fault that never strikes has
   * shown nothing: that is an error.
   */
  async fault<T>(words: string, run: () => Promise<T>): Promise<T> { return during([this], words, run); }

  /** Ends the server, and the clients of locks(). */
  async close(): Promise<void> {
    await Promise.all(this.opened.map((locks) => locks.close()));
    this.control.close(new Error('the server was closed'));
    await this.end();
  }

  async [Symbol.asyncDispose](): Promise<void> { await this.close(); }
}

/** Runs a function while something goes wrong at servers. It has to strike at one of them at least. */
async function during<T>(servers: readonly TestServer[], words: string, run: () => Promise<T>): Promise<T> {
  const ids = await Promise.all(servers.map((server) => server.call('TEST.FAULT', 'ADD', ...words.split(' '))));
  try {
    const result = await run();
    const struck = await Promise.all(servers.map(async (server, i) => {
      const list = (await server.call('TEST.FAULT', 'LIST')) as Reply[][];
      const fault = list.find((fields) => fields[fields.indexOf('id') + 1] === ids[i]);
      return Number(fault?.[fault.indexOf('struck') + 1]) > 0;
    }));
    if (!struck.includes(true)) throw new Error(`the fault never struck: ${words}`);
    return result;
  } finally {
    await Promise.all(servers.map((server, i) => server.call('TEST.FAULT', 'DEL', ids[i] as Word)));
  }
}

/** A Redis Cluster in test mode: several shards in one process. It ends with close(), or with this process. */
export class TestCluster {
  private readonly opened: Locks[] = [];

  private constructor(readonly shards: readonly TestServer[], private readonly ranges: readonly Range[]) {}

  /** Starts the program with so many shards. */
  static async start(shards = 3, options: TestServerOptions = {}): Promise<TestCluster> {
    values.whole(shards, 'a number of shards', 2, 64);
    const first = await TestServer.start({ ...options, args: ['--shards', String(shards), ...(options.args ?? [])] });
    const map = (await first.call('CLUSTER', 'SLOTS')) as Reply[][];
    const ports = map.map((range) => Number((range[2] as Reply[])[1]));
    const servers = await Promise.all(ports.map((port) => (port === first.port ? first : TestServer.open(`${first.host}:${port}`))));
    return new TestCluster(servers, map.map(([from, to]) => [Number(from), Number(to)]));
  }

  /** What Locks.connect() takes. */
  get urls(): string[] { return this.shards.map(({ url }) => url); }

  /** A client that close() closes. */
  async locks(options?: LocksOptions): Promise<Locks> {
    const locks = await Locks.connect(this.urls, options);
    this.opened.push(locks);
    return locks;
  }

  /** The shard of a key: its faults are its own. */
  shardOf(key: Key): TestServer {
    const slot = slotOf(values.key(key));
    return this.shards[this.ranges.findIndex(([first, last]) => first <= slot && slot <= last)]!;
  }

  /**
   * Runs a command at the shard of its keys. Without a key it is run at all shards: their arrays are joined, their numbers added,
   * and of others it is the reply of the first shard.
   */
  async call(...words: Word[]): Promise<Reply> {
    const asked = await this.all((shard) => shard.call(...words).then((reply) => ({ reply, error: undefined }), (error: unknown) => ({ reply: null, error })));
    const answers = asked.filter(({ error }) => !(error instanceof ReplyError && error.word === 'MOVED'));
    const failed = answers.find(({ error }) => error !== undefined);
    if (failed) throw failed.error;
    const replies = answers.map(({ reply }) => reply);
    if (replies.length > 1 && replies.every(Array.isArray)) return replies.flat();
    if (replies.every((it) => typeof it === 'number')) return replies.reduce((sum, n) => sum + n, 0);
    return replies[0]!;
  }

  private all<T>(run: (shard: TestServer) => Promise<T>): Promise<T[]> { return Promise.all(this.shards.map(run)); }

  /** Asks one shard for what counts for all of them. A shard that was killed is passed over. */
  private async one<T>(ask: (shard: TestServer) => Promise<T>): Promise<T> {
    let failed: unknown;
    for (const shard of this.shards) {
      try {
        return await ask(shard);
      } catch (error) {
        if (error instanceof ReplyError) throw error;
        failed = error;
      }
    }
    throw failed;
  }

  /** The clock of all shards stands still, at a whole millisecond. Resolves to it. */
  async freeze(at?: number): Promise<number> {
    return this.one(async (shard) => shard.freeze(await shard.freeze(at)));
  }

  /** The clock of all shards goes forwards. */
  async advance(ms: number): Promise<number> { return this.one((shard) => shard.advance(ms)); }

  /** The clock of all shards runs again. */
  async resume(): Promise<number> { return this.one((shard) => shard.resume()); }

  /** As when the shards had just started. */
  async reset(): Promise<void> { await this.one((shard) => shard.reset()); }

  /** TestServer.fault() at all shards: it has to strike at one of them at least. */
  async fault<T>(words: string, run: () => Promise<T>): Promise<T> { return during(this.shards, words, run); }

  /** Ends the shards, and the clients of locks(). */
  async close(): Promise<void> {
    await Promise.all(this.opened.map((locks) => locks.close()));
    await Promise.all([...this.shards].reverse().map((shard) => shard.close()));
  }

  async [Symbol.asyncDispose](): Promise<void> { await this.close(); }
}

function readyLine(child: ChildProcess, program: string): Promise<string> {
  return new Promise((resolve, reject) => {
    createInterface(child.stdout!).once('line', (line) => resolve(line.replace(/^ready /, '')));
    child.once('error', (error) => reject(new Error(`${program} cannot be started: ${error.message}. Set LOCKSERVER to the program`)));
    child.once('exit', (status) => reject(new Error(`${program} has ended with ${status}`)));
  });
}

/** The parts of a runner that are used: `after` of node:test, `afterAll` of vitest or jest. */
export type AfterAll = (hook: () => Promise<void>) => void;

/** The test of node:test, or the context of vitest, that a server ends with. */
export interface TestContext {
  after?: (hook: () => Promise<void>) => void;
  onTestFinished?: (hook: () => Promise<void>) => void;
}

let shared: Promise<TestServer> | undefined;

/**
 * Starts a server for one test, which ends with it: lockserver(t). One process serves all tests of a file; each test
 * has data, time and faults of its own.
 */
export async function lockserver(t: TestContext, options?: TestServerOptions): Promise<TestServer> {
  shared ??= TestServer.start(options);
  const server = await (await shared).another();
  endWith(t, () => server.close());
  return server;
}

/** Starts a cluster for one test, which ends with it: lockserverCluster(t). */
export async function lockserverCluster(t: TestContext, shards?: number, options?: TestServerOptions): Promise<TestCluster> {
  const cluster = await TestCluster.start(shards, options);
  endWith(t, () => cluster.close());
  return cluster;
}

function endWith(t: TestContext, end: () => Promise<void>): void {
  const after = t.onTestFinished ?? t.after;
  if (!after) throw new TypeError('lockserver() needs the test of node:test, or the context of vitest');
  after.call(t, end);
}

/** Ends the process that lockserver() has started: for `after` of node:test or `afterAll` of vitest. */
export async function closeLockserver(): Promise<void> {
  const server = await shared?.catch(() => undefined);
  shared = undefined;
  await server?.close();
}
