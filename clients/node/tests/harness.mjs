// What the tests share: servers, a way to them that can be broken, and waiting for things to become so.
//
// The program is bin/lockserver of the repository, unless LOCKSERVER names another one.

import { spawn, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { Locks } from 'lockserver';

/** How long anything may take on a busy machine, in milliseconds. */
export const PATIENCE = 60_000;

const here = path.dirname(fileURLToPath(import.meta.url));
export const ROOT = path.join(here, '..', '..', '..');
export const PROGRAM = process.env.LOCKSERVER || path.join(ROOT, 'bin', 'lockserver');
process.env.LOCKSERVER = PROGRAM; // for lockserver/testing

export { sleep };

/** Waits until condition() is true and returns what it returned. */
export async function eventually(condition, what, patience = PATIENCE) {
  for (const end = Date.now() + patience; ; await sleep(5)) {
    const got = await condition();
    if (got) return got;
    if (Date.now() > end) throw new Error(`waited too long for: ${what}`);
  }
}

/** A promise that the test resolves. */
export function deferred() {
  let resolve;
  const promise = new Promise((done) => { resolve = done; });
  return { promise, resolve };
}

/** Returns what a promise rejects with. */
export async function rejection(promise) {
  const value = await promise.then((it) => ({ it }), (error) => ({ error }));
  if ('error' in value) return value.error;
  throw new Error(`it did not reject, but resolved to ${value.it}`);
}

export const below = (n) => Math.floor(Math.random() * n);

/** Stops a program with SIGSTOP, and returns when it does stand still: a busy machine takes its time. */
export function stop(program) {
  program.kill('SIGSTOP');
  const tasks = `/proc/${program.pid}/task`;
  const stands = (task) => /\) [TZX] /.test(readFileSync(path.join(tasks, task, 'stat'), 'utf8'));
  const nothing = new Int32Array(new SharedArrayBuffer(4));
  while (existsSync(tasks) && !readdirSync(tasks).every(stands)) Atomics.wait(nothing, 0, 0, 1);
}

/** A connection of an operator, which speaks RESP 2 and knows no more than what the tests need. */
export class Operator {
  static async to(port, host = '127.0.0.1') {
    const { Redis } = await import('ioredis');
    const operator = new Operator();
    operator.redis = new Redis({ port, host, protocol: 2, maxRetriesPerRequest: null, retryStrategy: () => 50 });
    operator.redis.on('error', () => {});
    return operator;
  }

  call(...words) { return this.redis.call(...words); }

  /** The field of a reply that is a map. */
  static field(reply, name) { return reply[reply.indexOf(name) + 1]; }

  async info(field) {
    const text = await this.redis.info('all');
    return new RegExp(`^${field}:(.*)\r$`, 'm').exec(text)?.[1];
  }

  close() { this.redis.disconnect(); }
}

/** A server process with a folder of its own, on a free port of 127.0.0.1. */
export class Server {
  host = '127.0.0.1';

  static async start(...directives) {
    const server = new Server();
    server.dir = mkdtempSync(path.join(tmpdir(), 'lockserver-node-'));
    server.directives = directives;
    server.port = 0;
    await server.run();
    return server;
  }

  /** A server that speaks TLS only. */
  static async startSecure(authClients) {
    const server = new Server();
    server.dir = mkdtempSync(path.join(tmpdir(), 'lockserver-node-'));
    server.certificates = path.join(server.dir, 'certificates');
    execFileSync('bash', [path.join(ROOT, 'tests', 'clients', 'certificates.sh'), server.certificates]);
    const file = (name) => path.join(server.certificates, name);
    server.directives = ['--tls-auth-clients', authClients, '--tls-ca-cert-file', file('ca.crt'),
      '--tls-cert-file', file('server.crt'), '--tls-key-file', file('server.key')];
    server.port = await freePort();
    await server.run();
    return server;
  }

  /** What a client needs to speak with the server. */
  tls(certificate, authority = 'ca') {
    const read = (name) => readFileSync(path.join(this.certificates, name));
    const own = certificate ? { cert: read(`${certificate}.crt`), key: read(`${certificate}.key`) } : {};
    return { ca: read(`${authority}.crt`), servername: 'localhost', ...own };
  }

  get url() { return `redis://${this.host}:${this.port}`; }

  async run() {
    const listen = this.certificates ? ['--port', 0, '--tls-port', this.port] : ['--port', this.port];
    const args = [...listen, '--dir', this.dir, '--save', '', ...this.directives];
    this.process = spawn(PROGRAM, args.map(String), { stdio: ['ignore', 'pipe', 'inherit'] });
    this.ended = once(this.process, 'exit');
    this.log = '';
    this.process.stdout.setEncoding('utf8').on('data', (text) => { this.log += text; });
    const ready = /(?:Ready to accept connections(?:.* addr=(\S+))?.*|^ready (\S+))\n/;
    const [, logged, addr = logged] = await eventually(() => {
      if (this.process.exitCode !== null) throw new Error(`the server has ended: ${this.log}`);
      return ready.exec(this.log);
    }, 'the server is ready');
    if (addr) this.port = Number(addr.split(':').pop());
  }

  async kill() {
    this.process.kill('SIGKILL');
    await this.ended;
  }

  pause() { stop(this.process); }
  resume() { this.process.kill('SIGCONT'); }

  async close() {
    if (this.process.exitCode === null && this.process.signalCode === null) await this.kill();
    rmSync(this.dir, { recursive: true, force: true });
  }
}

async function freePort() {
  for (;;) {
    const port = 12_000 + below(20_000);
    const listener = net.createServer();
    const free = await new Promise((resolve) => {
      listener.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!free) continue;
    listener.close();
    await once(listener, 'close');
    return port;
  }
}

/** A way to a server that a test can break: a proxy. */
export class Way {
  broken = 0;
  down = false; // connections are refused
  mute = false; // what is sent is lost in both directions, and connections stay
  links = new Set();

  static async to(port) {
    const way = new Way();
    way.target = port;
    way.listener = net.createServer({ noDelay: true }, (client) => {
      if (way.down) client.destroy();
      else way.carry({ client, server: net.connect({ port: way.target, host: '127.0.0.1', noDelay: true }) });
    });
    way.listener.listen(0, '127.0.0.1');
    await once(way.listener, 'listening');
    way.port = way.listener.address().port;
    return way;
  }

  get url() { return `redis://127.0.0.1:${this.port}`; }

  carry(link) {
    this.links.add(link);
    for (const [from, to, moment] of [[link.client, link.server, 'asking'], [link.server, link.client, 'answered']]) {
      from.on('data', (piece) => {
        if (this.mute) return;
        if (link.moment !== moment) {
          to.write(piece);
          return;
        }
        to.write(piece.subarray(0, below(piece.length + 1)), () => this.end(link, true)); // a first part, or all
      });
      from.on('error', () => {}).on('close', () => this.end(link, false));
    }
  }

  end(link, broken) {
    if (!this.links.delete(link)) return;
    this.broken += broken;
    for (const socket of [link.client, link.server]) {
      // resetAndDestroy() leaves a handle open for ever if a shutdown is under way.
      if (broken && below(2) === 0 && !socket.connecting && !socket.readableEnded && !socket.writableEnded) socket.resetAndClosing = true;
      socket.destroy();
    }
  }

  any() { return [...this.links][below(this.links.size)]; }

  /** Breaks a connection: 'now', in the middle of what is sent ('asking'), or of a reply ('answered'). */
  breakOne(moment) {
    const link = this.any();
    if (!link) return;
    link.moment = moment;
    if (moment === 'now') this.end(link, true);
  }

  breakAll() { for (const link of [...this.links]) this.end(link, true); }

  /** As if the cable was cut: no connection is refused at once, and none answers. */
  cut() { this.mute = true; }

  close() {
    this.listener.close();
    this.breakAll();
  }
}

/** Three servers, and one of them leads: with Sentinels, or as a raft group. */
export class Fleet {
  static start(...conf) { return Fleet.run([], conf); }
  static group(form, ...conf) { return Fleet.run(['-group', form], conf); }

  static async run(form, conf) {
    const program = path.join(ROOT, 'bin', 'fleet');
    if (!existsSync(program)) throw new Error(`there is no ${program}: run 'make fleet'`);
    const fleet = new Fleet();
    const args = [...form, ...conf.flatMap((line) => ['-conf', line]), PROGRAM, PROGRAM, PROGRAM];
    fleet.process = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    fleet.lines = readline.createInterface({ input: fleet.process.stdout })[Symbol.asyncIterator]();
    const { name, sentinels = [], nodes = [], leader } = await fleet.answer();
    const addresses = (of) => of.map((addr) => ({ host: addr.split(':')[0], port: Number(addr.split(':')[1]) }));
    Object.assign(fleet, { name, sentinels: addresses(sentinels), nodes: addresses(nodes), leader });
    return fleet;
  }

  async answer() {
    const { value, done } = await this.lines.next();
    if (done) throw new Error('the fleet has ended');
    const answer = JSON.parse(value);
    if (answer.error) throw new Error(answer.error);
    return answer;
  }

  /** "kill", "pause" or "plan", and then "mend"; in the end "same". Returns who leads then. */
  async do(command) {
    this.process.stdin.write(`${command}\n`);
    this.leader = (await this.answer()).leader;
    return this.leader;
  }

  async close() {
    const ended = once(this.process, 'exit');
    this.process.stdin.end();
    await ended;
  }
}

/** Ends things when a test ends, the last one first. */
export function cleanup(t) {
  const ends = [];
  t.after(async () => {
    for (const end of ends.reverse()) await end();
  });
  return (thing, end = () => thing.close()) => {
    ends.push(end);
    return thing;
  };
}

/** A client and what it was told, for a test. */
export async function locksOf(source, options = {}) {
  const told = [];
  const observer = {
    lost: (error) => told.push(error),
  };
  const locks = await Locks.connect(source, { logger: false, ...options, observers: [observer, ...(options.observers ?? [])] });
  return Object.assign(locks, { told });
}

/** Resolves to the reason of a lock's end. */
export function endOf(lock) {
  if (lock.signal.aborted) return Promise.resolve(lock.signal.reason);
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('the lock does not end')), PATIENCE);
    lock.signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve(lock.signal.reason);
    }, { once: true });
  });
}
