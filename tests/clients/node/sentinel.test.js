// ioredis under Sentinel, and over a raft group, while the master is killed, paused and replaced: ../README.md says what must be so.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { Cluster, Redis } from 'ioredis';

import { Fleet } from './fleet.js';
import { PATIENCE, eventually } from './server.js';

const WORKERS = 3;
const LEASE_MS = 10_000;
const OWNERS = ['keeper', ...Array.from({ length: WORKERS }, (_, i) => `worker-${i}`)];

// bySentinel is a client that asks the Sentinels who leads.
function bySentinel(fleet) {
  return new Redis({
    sentinels: fleet.sentinels,
    name: fleet.name,
    failoverDetector: true, // it leaves a master that is paused, when the Sentinels say so
    sentinelRetryStrategy: () => 50,
    retryStrategy: (times) => Math.min(50 * times, 500),
    reconnectOnError: (e) => (/^(READONLY|UNBLOCKED|MASTERDOWN)/.test(e.message) ? 2 : false), // connects anew and sends again
  });
}

// byCluster is a client of a cluster. It sends again what a broken connection has left without an answer, and asks who has the slots
// when that was said to be nobody.
function byCluster(fleet) {
  return new Cluster(fleet.nodes, {
    clusterRetryStrategy: () => 100,
    retryDelayOnClusterDown: 100,
    retryDelayOnFailover: 100,
    maxRedirections: 100,
    redisOptions: { reconnectOnError: (e) => (/^LOADING/.test(e.message) ? 2 : false) }, // a member that has just started
  });
}

// hasEnded says whether the lease of a section may have ended: it lasts LEASE_MS at least from the moment at which the lock was asked for.
const hasEnded = ({ asked }) => Date.now() - asked >= LEASE_MS;

// Trial is a program whose clients find out by themselves who leads.
class Trial {
  over = false;
  closed = false;
  written = Array.from({ length: WORKERS }, () => new Set());
  outlived = 0; // sections whose lease has ended before they did
  #highest = 0;
  #inside = null; // the section that holds the door, as far as its program knows

  constructor(connectTo) {
    const connect = () => {
      const client = connectTo();
      client.on('error', () => {}); // it connects again
      return client;
    };
    this.clients = Array.from({ length: WORKERS }, connect); // a LOCK that waits holds up its connection
    [this.thief, this.attached] = [connect(), connect()];
    this.attached.on('ready', () => this.live().catch(() => {})); // whoever leads
  }

  // ask sends a command. A client that its failover detector stops while it asks a Sentinel for the master is at its end, and what
  // it had to send failed: it has to be told to connect.
  async ask(client, ...words) {
    for (;;) {
      try {
        return await client.call(...words);
      } catch (e) {
        if (this.closed || e.message !== 'Connection is closed.') throw e;
        await client.connect().catch(() => {}); // it may do so already
        await sleep(20);
      }
    }
  }

  live() { return this.ask(this.attached, 'LOCK.ATTACH', ...OWNERS); }

  // work is a write, and a critical section.
  async work(number) {
    const [redis, owner, word] = [this.clients[number], OWNERS[number + 1], `${number}:${this.written[number].size}`];
    await this.ask(redis, 'sadd', 'written', word);
    let [token, before, asked] = [null, 0, 0];
    while (token === null && !this.over) {
      [before, asked] = [this.#highest, Date.now()];
      token = await this.ask(redis, 'LOCK', 'door', owner, 'WAIT', 1000, 'ONCE');
    }
    if (token === null) return;
    // A program without a server for longer than a lease may still be inside when the next one is: its lease has ended then, which
    // it cannot have done before. What it guards is refused.
    const other = this.#inside;
    if (other) assert.ok(hasEnded(other), `${owner} is not alone behind the door: ${other.owner} has asked for it ${Date.now() - other.asked} ms ago`);
    assert.ok(token > before, 'a token of the past');
    const section = { owner, asked };
    this.#inside = section;
    this.#highest = Math.max(this.#highest, token);
    const guarded = await this.ask(redis, 'GUARD', 'door', token, 'SADD', 'written', word).catch((e) => e);
    if (this.#inside === section) this.#inside = null;
    if (guarded instanceof Error) {
      assert.ok(/^STALETOKEN/.test(guarded.message) && hasEnded(section), `GUARD, ${Date.now() - asked} ms after LOCK: ${guarded.message}`);
      this.outlived++;
      return;
    }
    assert.ok(guarded <= 1);
    // 0 would be a second hold; null is the answer of the second UNLOCK if the first one's was lost.
    const left = await this.ask(redis, 'UNLOCK', 'door', owner, 'TOKEN', token);
    assert.ok(left === 1 || left === null, `UNLOCK: ${left}`);
    this.written[number].add(word);
  }

  async steal() {
    assert.equal(await this.ask(this.thief, 'LOCK', 'held', 'thief', 'PX', 1000), null, 'a lock is held by two');
    await sleep(20);
  }

  // goesOn waits until everybody has written more, and returns how long that took.
  async goesOn() {
    const [begun, before] = [Date.now(), this.written.map((words) => words.size)];
    await eventually(() => this.over || this.written.every((words, i) => words.size > before[i] + 2), 'all go on');
    return Date.now() - begun;
  }

  async untilOver(step) {
    try {
      while (!this.over) await step();
    } finally {
      this.over = true; // a failure ends it for all
    }
  }

  close() {
    this.closed = true;
    [...this.clients, this.thief, this.attached].forEach((client) => client.disconnect());
  }
}

async function failOver(fleet, trial, events, t) {
  try {
    await trial.goesOn();
    for (const event of events) {
      const leader = await fleet.do(event);
      t.diagnostic(`${event}: ${leader} leads, and clients go on ${await trial.goesOn()} ms later`);
      await fleet.do('mend');
    }
  } finally {
    trial.over = true;
  }
}

async function play(fleet, connectTo, events, t) {
  const trial = new Trial(() => connectTo(fleet));
  try {
    await trial.live();
    const token = await trial.ask(trial.thief, 'LOCK', 'held', 'keeper', 'ONCE');
    await Promise.all([
      failOver(fleet, trial, events, t),
      ...trial.clients.map((_, number) => trial.untilOver(() => trial.work(number))),
      trial.untilOver(() => trial.steal()),
      trial.untilOver(() => trial.live().catch(() => {}).then(() => sleep(50))), // a cluster tells of no connection by itself
    ]);
    if (trial.outlived > 0) t.diagnostic(`${trial.outlived} sections lasted longer than their leases`);
    await fleet.do('same');
    const there = new Set(await trial.ask(trial.thief, 'smembers', 'written'));
    for (const words of trial.written) {
      for (const word of words) assert.ok(there.has(word), `${word} was acknowledged, and is lost`);
    }
    assert.equal(await trial.ask(trial.thief, 'LOCK', 'held', 'keeper', 'ONCE'), token, 'a lock is lost while its owner lives');
    const info = await trial.ask(trial.thief, 'LOCK.INFO', 'held');
    assert.ok(info[info.indexOf('attached') + 1].length > 0, 'the owner came back to the new master');
  } finally {
    trial.close();
    await fleet.close();
  }
}

test('ioredis under Sentinel', { timeout: 3 * PATIENCE }, async (t) => {
  await play(await Fleet.start('min-replicas-ack 1', `lock-watchdog-timeout ${LEASE_MS}`), bySentinel, ['kill', 'pause', 'plan'], t);
});

for (const [form, connectTo] of [['cluster', byCluster], ['sentinel', bySentinel]]) {
  test(`ioredis over a raft group, ${form}`, { timeout: 3 * PATIENCE }, async (t) => {
    await play(await Fleet.group(form, `lock-watchdog-timeout ${LEASE_MS}`), connectTo, ['kill', 'plan'], t);
  });
}
