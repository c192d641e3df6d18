// A lockserver in test mode for the tests of a program: its time and its faults are the test's.

import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { Locks, type LocksOptions } from './locks.js';
import type { Reply, Word } from './resp.js';
import * as values from './values.js';
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
  async fault<T>(words: string, run: () => Promise<T>): Promise<T> {
    const id = await this.call('TEST.FAULT', 'ADD', ...words.split(' '));
    try {
      const result = await run();
      const list = (await this.call('TEST.FAULT', 'LIST')) as Reply[][];
      const fault = list.find((fields) => fields[fields.indexOf('id') + 1] === id);
      if (!(Number(fault?.[fault.indexOf('struck') + 1]) > 0)) throw new Error(`the fault never struck: ${words}`);
      return result;
    } finally {
      await this.call('TEST.FAULT', 'DEL', id as Word);
    }
  }

  /** Ends the server, and the clients of locks(). */
  async close(): Promise<void> {
    await Promise.all(this.opened.map((locks) => locks.close()));
    this.control.close(new Error('the server was closed'));
    await this.end();
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
  const after = t.onTestFinished ?? t.after;
  if (!after) throw new TypeError('lockserver() needs the test of node:test, or the context of vitest');
  after.call(t, () => server.close());
  return server;
}

/** Ends the process that lockserver() has started: for `after` of node:test or `afterAll` of vitest. */
export async function closeLockserver(): Promise<void> {
  const server = await shared?.catch(() => undefined);
  shared = undefined;
  await server?.close();
}
