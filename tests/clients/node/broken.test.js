// Locks through ioredis, which sends again what was not answered, while connections break: ../README.md says how.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { Redis } from 'ioredis';

import { PATIENCE, Server, eventually } from './server.js';

const BREAKS = 500; // for each version of the protocol
const WORKERS = Array.from({ length: 8 }, (_, i) => `worker-${i}`);
const DOORS = 3;
const LEASE_MS = 15_000;
const OWNERS = ['keeper', 'victim', ...WORKERS];
const MOMENTS = ['now', 'asking', 'answered'];

const below = (n) => Math.floor(Math.random() * n);

// Way is a way to a server whose connections a test breaks: a proxy.
class Way {
  broken = 0;
  #links = new Set();

  static async to(port) {
    const way = new Way();
    way.listener = net.createServer((client) => way.#carry({ client, server: net.connect(port, '127.0.0.1') }));
    way.listener.listen(0, '127.0.0.1');
    await once(way.listener, 'listening');
    way.port = way.listener.address().port;
    return way;
  }

  #carry(link) {
    this.#links.add(link);
    for (const [from, to, moment] of [[link.client, link.server, 'asking'], [link.server, link.client, 'answered']]) {
      from.setNoDelay(true);
      from.on('data', (piece) => {
        if (link.moment !== moment) return to.write(piece);
        to.write(piece.subarray(0, below(piece.length + 1)), () => this.#end(link, true)); // a first part, or all
      });
      from.on('error', () => {}).on('close', () => this.#end(link, false));
    }
  }

  #end(link, broken) {
    if (!this.#links.delete(link)) return;
    this.broken += broken;
    for (const socket of [link.client, link.server]) {
      if (broken && below(2) === 0) socket.resetAndDestroy();
      else socket.destroy();
    }
  }

  #any() { return [...this.#links][below(this.#links.size)]; }

  breakOne(moment) {
    const link = this.#any();
    if (link) link.moment = moment;
    if (link && moment === 'now') this.#end(link, true);
  }

  async kill(operator) {
    const link = this.#any();
    if (link?.server.localPort && await operator.call('CLIENT', 'KILL', 'ADDR', `127.0.0.1:${link.server.localPort}`) === 1) this.broken++;
  }

  close() {
    this.listener.close();
    this.#links.forEach((link) => this.#end(link, false));
  }
}

// Turns lets one after the other do something.
class Turns {
  #last = Promise.resolve();

  take(work) {
    const mine = this.#last.then(work);
    this.#last = mine.catch(() => {});
    return mine;
  }
}

// Trial is a program that takes locks over many connections, and has one that vouches for their owners.
class Trial {
  sections = 0;
  losses = 0;
  over = false;
  told = [];
  still = new Turns(); // whoever has it keeps the attached connection from breaking
  #inside = new Map();
  #tokens = new Map();
  #clients = [];

  static async start(server, protocol) {
    const trial = new Trial();
    trial.ways = [trial.toPool, trial.toLive] = [await Way.to(server.port), await Way.to(server.port)];
    const connect = (port, options = {}) => {
      const client = new Redis({ port, protocol, retryStrategy: (times) => Math.min(times, 20), ...options });
      client.on('error', () => {}); // it connects again
      trial.#clients.push(client);
      return client;
    };
    trial.operator = connect(server.port);
    trial.listener = connect(server.port);
    trial.listener.on('message', (_, text) => trial.told.push(text));
    await trial.listener.subscribe(...OWNERS.map((owner) => `__lock__:${owner}`));
    trial.programs = new Map(OWNERS.map((owner) => [owner, connect(trial.toPool.port)]));
    trial.attached = connect(trial.toLive.port);
    trial.attached.on('ready', () => trial.live().catch(() => {})); // until the end
    await trial.live();
    return trial;
  }

  // live returns once the attached connection is there; the caller keeps it so.
  live() { return this.attached.call('LOCK.ATTACH', ...OWNERS); }

  // work is a critical section.
  async work(owner) {
    const redis = this.programs.get(owner);
    const door = `door-${below(DOORS)}`;
    const token = await redis.call('LOCK', door, owner, 'WAIT', PATIENCE, 'ONCE');
    assert.equal(this.#inside.get(door), undefined, `${owner} is not alone behind ${door}`);
    assert.ok(token > (this.#tokens.get(door) ?? 0), `token ${token} after ${this.#tokens.get(door)}`);
    this.#inside.set(door, owner);
    this.#tokens.set(door, token);
    assert.equal(await redis.call('GUARD', door, token, 'SET', `written:${door}`, token), 'OK');
    this.#inside.delete(door);
    // 0 would be a second hold; null is the answer of the second UNLOCK if the first one's was lost.
    const left = await redis.call('UNLOCK', door, owner, 'TOKEN', token);
    assert.ok(left === 1 || left === null, `UNLOCK: ${left}`);
    this.sections++;
  }

  // lose has the victim lose a lock, and waits until that was told, and nothing else.
  lose(reason) {
    return this.still.take(async () => {
      await this.live();
      const token = await this.programs.get('victim').call('LOCK', 'victim', 'victim', 'ONCE');
      const take = {
        forced: ['LOCK.FORCE', 'victim'], deleted: ['DEL', 'victim'], overwritten: ['SET', 'victim', 'no lock'],
        expired: ['RENEW', 'victim', 'victim', 'PX', 1],
      };
      await this.operator.call(...take[reason]);
      await eventually(() => this.told.length > 0, `it is told: ${reason}`);
      assert.deepEqual(this.told.splice(0), [`lock-lost victim ${token} ${reason}`]);
      if (reason === 'overwritten') await this.operator.del('victim');
      this.losses++;
    });
  }

  // breakOne breaks a connection of the pool, or now and then the attached one.
  async breakOne() {
    const n = below(20);
    if (n === 0) await this.still.take(() => this.toLive.breakOne('now'));
    else if (n === 1) await this.still.take(() => this.toLive.kill(this.operator));
    else if (n < 5) await this.toPool.kill(this.operator);
    else this.toPool.breakOne(MOMENTS[below(MOMENTS.length)]);
  }

  broken() { return this.toPool.broken + this.toLive.broken; }

  close() {
    this.#clients.forEach((client) => client.disconnect());
    this.ways.forEach((way) => way.close());
  }
}

// play lets everybody work until enough was broken, or something went wrong.
async function play(trial) {
  const untilOver = async (step) => {
    try {
      while (!trial.over) await step();
    } finally {
      trial.over = true;
    }
  };
  const reasons = ['forced', 'deleted', 'overwritten', 'expired'];
  await Promise.all([
    ...WORKERS.map((owner) => untilOver(() => trial.work(owner))),
    untilOver(() => trial.lose(reasons[trial.losses % reasons.length])),
    untilOver(async () => {
      await trial.breakOne();
      await sleep(below(20));
      trial.over ||= trial.broken() >= BREAKS;
    }),
  ]);
}

describe('broken connections', () => {
  for (const protocol of [2, 3]) {
    test(`ioredis, RESP${protocol}`, async (t) => {
      const server = await Server.start('--lock-watchdog-timeout', LEASE_MS);
      const trial = await Trial.start(server, protocol);
      try {
        const long = await trial.programs.get('keeper').call('LOCK', 'long', 'keeper', 'ONCE');
        await play(trial);
        t.diagnostic(`${trial.broken()} connections broke: ${trial.sections} critical sections, ${trial.losses} losses`);
        assert.ok(trial.sections > 0 && trial.losses > 0);
        await trial.live();
        assert.deepEqual(trial.told, [], 'a loss that is none, or told twice');
        assert.equal(await trial.operator.call('UNLOCK', 'long', 'keeper', 'TOKEN', long), 1, 'it was never lost');
        await eventually(async () => (await trial.operator.call('LOCK.LIST')).length === 0, 'no lock stays behind');
      } finally {
        trial.close();
        await server.close();
      }
    });
  }
});
