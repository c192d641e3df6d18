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
import { closeLockserver, lockserver as lonely, lockserverCluster } from 'lockserver/testing';

/** How long anything may take on a busy machine, in milliseconds. */
export const PATIENCE = 60_000;

const here = path.dirname(fileURLToPath(import.meta.url));
export const ROOT = path.join(here, '..', '..', '..');
export const PROGRAM = process.env.LOCKSERVER || path.join(ROOT, 'bin', 'lockserver');
process.env.LOCKSERVER = PROGRAM; // for lockserver/testing

/** With SHARDS=3 the servers of the tests are clusters of three shards, for the same tests. 1: they are plain. */
export const SHARDS = Number(process.env.SHARDS ?? 1);

export { sleep };

/** A server in test mode for one test. */
export async function lockserver(t) {
  if (SHARDS === 1) return lonely(t);
  const cluster = await lockserverCluster(t, SHARDS);
  return Object.assign(cluster, { host: cluster.shards[0].host, ports: cluster.shards.map(({ port }) => port), url: cluster.urls });
}

// The process that the tests of a file share ends with them.
if (/\.test\.mjs$/.test(process.argv[1] ?? '')) (await import('node:test')).after(closeLockserver);

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

/** The port of a server, or those of its shards. */
const portsOf = (server) => (typeof server === 'number' ? [server] : server.ports ?? [server.port]);

/** A connection of an operator to each shard, which speaks RESP 2 and knows no more than what the tests need. */
export class Operator {
  static async to(server, host = '127.0.0.1') {
    const { Redis } = await import('ioredis');
    const operator = new Operator();
    operator.all = portsOf(server).map((port) => new Redis({ port, host, protocol: 2, maxRetriesPerRequest: null, retryStrategy: () => 50 }));
    for (const redis of operator.all) redis.on('error', () => {});
    operator.redis = operator.all[0];
    return operator;
  }

  /** Runs a command at the shard of its first key, or at all of them: their arrays are joined, and their numbers added. */
  async call(...words) {
    if (this.all.length === 1) return this.redis.call(...words);
    const moved = (error) => Number(/^MOVED \d+ .*:(\d+)$/.exec(error.message)?.[1]);
    const asked = await Promise.all(this.all.map((redis) => redis.call(...words).then((reply) => ({ reply }), (error) => ({ error }))));
    const answers = asked.filter(({ error }) => !error || !moved(error));
    const failed = answers.find(({ error }) => error);
    if (failed) throw failed.error;
    const replies = answers.map(({ reply }) => reply);
    if (replies.length === 1) return replies[0];
    if (replies.every(Array.isArray)) return replies.flat();
    return replies.every((it) => typeof it === 'number') ? replies.reduce((sum, n) => sum + n, 0) : replies[0];
  }

  /** The connection to the shard of a key. */
  async of(key) {
    const served = await Promise.all(this.all.map((redis) => redis.exists(key).then(() => true, () => false)));
    return this.all[served.indexOf(true)];
  }

  /** The field of a reply that is a map. */
  static field(reply, name) { return reply[reply.indexOf(name) + 1]; }

  /** A field of INFO; of several shards the sum. */
  async info(field) {
    const found = await Promise.all(this.all.map(async (redis) => new RegExp(`^${field}:(.*)\r$`, 'm').exec(await redis.info('all'))?.[1]));
    return found.length === 1 ? found[0] : String(found.reduce((sum, n) => sum + Number(n), 0));
  }

  close() { for (const redis of this.all) redis.disconnect(); }
}

/** A server process with a folder of its own, on a free port of 127.0.0.1, or on several in a row, one for each shard. */
export class Server {
  host = '127.0.0.1';

  static async start(...directives) {
    const server = new Server();
    server.dir = mkdtempSync(path.join(tmpdir(), 'lockserver-node-'));
    server.directives = SHARDS > 1 ? ['--shards', SHARDS, ...directives] : directives;
    server.port = SHARDS > 1 ? await freePort(SHARDS) : 0;
    await server.run();
    return server;
  }

  /** The ports of the shards. */
  get ports() { return Array.from({ length: this.certificates ? 1 : SHARDS }, (_, i) => this.port + i); }

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

  /** What Locks.connect() takes: of a cluster the addresses of the shards. */
  get url() {
    const urls = this.ports.map((port) => `redis://${this.host}:${port}`);
    return urls.length > 1 ? urls : urls[0];
  }

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

/** The first of so many free ports in a row. */
async function freePort(count = 1) {
  for (;;) {
    const port = 12_000 + below(20_000);
    const listeners = Array.from({ length: count }, () => net.createServer());
    const free = await Promise.all(listeners.map((listener, i) => new Promise((resolve) => {
      listener.once('error', () => resolve(false)).listen(port + i, '127.0.0.1', () => resolve(true));
    })));
    await Promise.all(listeners.filter((_, i) => free[i]).map((listener) => new Promise((resolve) => { listener.close(resolve); })));
    if (!free.includes(false)) return port;
  }
}

/** A way to a server that a test can break: a proxy. To the shards of a cluster it has one for each. */
export class Way {
  broken = 0;
  down = false; // connections are refused: true, or those to one shard, which is counted from 0
  mute = false; // what is sent is lost in both directions, and connections stay: true, or to one shard
  links = new Set();

  static async to(server) {
    const way = new Way();
    way.ports = portsOf(server);
    way.listeners = [];
    for (const shard of way.ports.keys()) {
      const listener = net.createServer({ noDelay: true }, (client) => {
        if (way.down === true || way.down === shard) client.destroy();
        else way.carry({ shard, client, server: net.connect({ port: way.ports[shard], host: '127.0.0.1', noDelay: true }) });
      });
      listener.listen(0, '127.0.0.1');
      await once(listener, 'listening');
      way.listeners.push(listener);
    }
    way.port = way.listeners[0].address().port;
    return way;
  }

  /** What Locks.connect() takes. The addresses that a cluster tells are those of the proxies then. */
  get url() {
    if (this.listeners.length === 1) return `redis://127.0.0.1:${this.port}`;
    const endpoints = this.listeners.map((it) => ({ host: '127.0.0.1', port: it.address().port }));
    return { kind: 'cluster', endpoints, translate: (address) => endpoints[this.ports.indexOf(Number(address.split(':').pop()))] };
  }

  carry(link) {
    this.links.add(link);
    for (const [from, to, moment] of [[link.client, link.server, 'asking'], [link.server, link.client, 'answered']]) {
      from.on('data', (piece) => {
        if (this.mute === true || this.mute === link.shard) return;
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

  /** Breaks all connections, or those to one shard. */
  breakAll(shard) { for (const link of [...this.links]) if (shard === undefined || shard === link.shard) this.end(link, true); }

  /** As if the cable was cut: no connection is refused at once, and none answers. */
  cut(shard = true) { this.mute = shard; }

  close() {
    for (const listener of this.listeners) listener.close();
    this.breakAll();
  }
}

/** Three servers, and one of them leads: with Sentinels, or as a raft group. Or several such groups, as shards of a cluster. */
export class Fleet {
  static start(...conf) { return Fleet.run([], conf); }
  static group(form, ...conf) { return Fleet.run(['-group', form], conf); }
  /** What is done to it is done to the first shard, which has the first slots. */
  static shards(count, ...conf) { return Fleet.run(['-group', 'cluster', '-shards', count], conf); }

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
