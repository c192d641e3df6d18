// A running server for a test, and waiting for things to become so.
//
// The program is bin/lockserver unless LOCKSERVER names another one; with LOCKSERVER=redis-server the tests run against a
// real Redis, of which everything but the native commands is expected to be the same.

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

// How long anything may take on a busy machine, in milliseconds.
export const PATIENCE = 90_000;

const here = path.dirname(fileURLToPath(import.meta.url));
export const PROGRAM = process.env.LOCKSERVER || path.join(here, '..', '..', '..', 'bin', 'lockserver');
export const IS_REDIS = path.basename(PROGRAM).startsWith('redis-server');

// eventually waits until condition() is true and returns what it returned.
export async function eventually(condition, what) {
  for (const end = Date.now() + PATIENCE; ; await sleep(2)) {
    const got = await condition();
    if (got) return got;
    if (Date.now() > end) throw new Error(`waited too long for: ${what}`);
  }
}

// freePort is a port below those that the system gives to connections: none takes it while the server is down.
async function freePort() {
  for (;;) {
    const port = 12_000 + Math.floor(Math.random() * 20_000);
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

// Server is a process with a folder of its own, on a free port of 127.0.0.1.
export class Server {
  host = '127.0.0.1';
  program = PROGRAM;

  // start takes arguments of the program, such as '--requirepass', 'secret'.
  static async start(...directives) {
    const server = new Server();
    server.dir = await mkdtemp(path.join(tmpdir(), 'lockserver-clients-'));
    server.directives = directives;
    server.port = IS_REDIS ? await freePort() : 0;
    await server.run();
    return server;
  }

  // startSecure is start for a server that speaks TLS only; authClients is what tls-auth-clients says.
  static async startSecure(authClients) {
    const server = new Server();
    server.dir = await mkdtemp(path.join(tmpdir(), 'lockserver-clients-'));
    server.certificates = path.join(server.dir, 'certificates');
    execFileSync('bash', [path.join(here, '..', 'certificates.sh'), server.certificates]);
    const file = (name) => path.join(server.certificates, name);
    server.directives = ['--tls-auth-clients', authClients, '--tls-ca-cert-file', file('ca.crt'),
      '--tls-cert-file', file('server.crt'), '--tls-key-file', file('server.key')];
    // The real Redis that everything is compared with is built without TLS; the one in PATH has it.
    if (IS_REDIS) server.program = 'redis-server';
    server.port = await freePort();
    await server.run();
    return server;
  }

  // tls is what a client needs to speak with the server, in Node's words; with a certificate it shows that one.
  tls(certificate, authority = 'ca') {
    const read = (name) => readFileSync(path.join(this.certificates, name));
    const own = certificate ? { cert: read(`${certificate}.crt`), key: read(`${certificate}.key`) } : {};
    return { ca: read(`${authority}.crt`), servername: 'localhost', ...own };
  }

  async run() {
    const listen = this.certificates ? ['--port', 0, '--tls-port', this.port] : ['--port', this.port];
    const args = [...listen, '--dir', this.dir, '--save', '', ...this.directives];
    this.process = spawn(this.program, args.map(String), { stdio: ['ignore', 'pipe', 'inherit'] });
    this.ended = once(this.process, 'exit');
    this.log = '';
    this.process.stdout.setEncoding('utf8').on('data', (text) => { this.log += text; });
    const ready = /(?:Ready to accept connections(?:.* addr=(\S+))?.*|^ready (\S+))\n/; // that of test mode is its only line
    const [, logged, addr = logged] = await eventually(() => {
      if (this.process.exitCode !== null) throw new Error(`the server has ended: ${this.log}`);
      return ready.exec(this.log);
    }, 'the server is ready');
    if (addr) this.port = Number(addr.split(':').pop());
  }

  // kill ends the process as a crash would.
  async kill() {
    this.process.kill('SIGKILL');
    await this.ended;
  }

  // replace ends the process as a crash would and starts another one, without data, on the same port.
  async replace() {
    await this.kill();
    await this.run();
  }

  // restart saves the data, ends the process and starts another one on the same port.
  async restart() {
    const socket = net.connect(this.port, this.host);
    socket.on('error', () => {}); // it is the server that hangs up
    socket.write('SHUTDOWN SAVE\r\n');
    await this.ended;
    socket.destroy();
    await this.run();
  }

  async close() {
    if (this.process.exitCode === null && this.process.signalCode === null) await this.kill();
    await rm(this.dir, { recursive: true, force: true });
  }
}

// UNLOCK is the compare-and-delete that everybody writes.
export const UNLOCK = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";
