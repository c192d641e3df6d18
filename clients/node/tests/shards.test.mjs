// Over several shards: which shard has what, and what a shard that is gone, or a slot that is elsewhere, does to the others.

import assert from 'node:assert/strict';
import net from 'node:net';
import { once } from 'node:events';
import { test } from 'node:test';
import { Cluster, Redis } from 'ioredis';
import { createCluster } from 'redis';
import { CrossSlotError, Locks, LockLostError, NoAnswerError, ShardedError } from 'lockserver';
import { lockserver, lockserverCluster, TestServer } from 'lockserver/node-test';

import { cleanup, endOf, eventually, locksOf, PATIENCE, rejection, Way } from './harness.mjs';
import { slotOf } from '../dist/slots.js';

const LEASE = 6000; // of locks that the server renews

/** Returns a key for each shard of a cluster, in their order. */
function keysOf(cluster, prefix = 'k') {
  const keys = [];
  for (let n = 0; keys.filter(Boolean).length < cluster.shards.length; n++) keys[cluster.shards.indexOf(cluster.shardOf(`${prefix}${n}`))] ??= `${prefix}${n}`;
  return keys;
}

const portsOf = (cluster) => ({ ports: cluster.shards.map(({ port }) => port) });

test('slots are those of Redis', async (t) => {
  const [server] = (await lockserverCluster(t)).shards;
  for (const key of ['', 'a', '{a}b', '{}a', 'a{b', 'a{b}c', '{a}{b}', 'é', '{é}x', '}{', '{{a}}', 'order:42']) {
    assert.equal(slotOf(key), await server.call('CLUSTER', 'KEYSLOT', key), key);
  }
  const bytes = Buffer.from([0xff, 0x7b, 0xfe, 0x7d]);
  const { exactText } = await import('../dist/resp.js');
  assert.equal(slotOf(exactText(bytes)), await server.call('CLUSTER', 'KEYSLOT', bytes));
});

test('a connection for each shard that is used, and none for the others', async (t) => {
  const cluster = await lockserverCluster(t);
  const keys = keysOf(cluster);
  const locks = await cluster.locks({ name: 'counted' });
  const attached = async () => (await Promise.all(cluster.shards.map(async (shard) => /name=counted:[^\n]* cmd=(lock|ping|config|exists|cluster)/.test(await shard.call('CLIENT', 'LIST')))))
    .filter(Boolean).length;
  assert.equal(await attached(), 1, 'the first one');
  const held = [];
  for (const key of keys) held.push(await locks.acquire(key));
  assert.equal(await attached(), 3);
  assert.equal(locks.stats().held, 3);
  assert.equal(locks.stats().attached, true);
  for (const lock of held) assert.equal(await lock.guard('EXISTS', `{${lock.keys[0]}}`), 0);
  for (const lock of held) await lock.release();
  assert.deepEqual(await cluster.call('LOCK.LIST'), []);
});

test('two locks of different shards with the same token', async (t) => {
  const cluster = await lockserverCluster(t);
  // The clocks stand at the same moment, from which tokens begin.
  await cluster.reset();
  const now = await cluster.freeze();
  await Promise.all(cluster.shards.map((shard) => shard.freeze(now)));
  const [a, b] = keysOf(cluster);
  const locks = await locksOf(cluster.urls);
  t.after(() => locks.close());
  const [shardA, shardB] = [cluster.shardOf(a), cluster.shardOf(b)];
  // The shard with the lower tokens gives some, until both give the same next.
  const probe = async (shard, key) => {
    const token = await shard.call('LOCK', key, 'probe');
    await shard.call('UNLOCK', key, 'probe');
    return token;
  };
  let [x, y] = [await probe(shardA, a), await probe(shardB, b)];
  while (x !== y) {
    if (x < y) x = await probe(shardA, a);
    else y = await probe(shardB, b);
  }
  const [first, second] = [await locks.acquire(a), await locks.acquire(b)];
  assert.equal(first.token, second.token, 'the attack needs them the same');
  assert.equal(locks.stats().held, 2);
  await shardA.call('LOCK.FORCE', a);
  assert.equal((await endOf(first)).reason, 'forced');
  assert.equal(second.ended, undefined, 'the other one is held');
  assert.equal(await second.guard('EXISTS', `{${b}}`), 0);
  await second.release();
  assert.deepEqual(locks.told.map(({ key }) => key), [a]);
});

for (const how of ['cut off', 'killed']) {
  test(`a shard is ${how} while locks are held on all three: only its locks are lost`, { timeout: 5 * PATIENCE }, async (t) => {
    const cluster = await lockserverCluster(t, 3, { args: ['--lock-watchdog-timeout', String(LEASE)] });
    const end = cleanup(t);
    const way = end(await Way.to(portsOf(cluster)));
    const locks = end(await locksOf(way.url, { timeout: 2000 }));
    const keys = keysOf(cluster);
    const held = await Promise.all(keys.map((key) => locks.acquire(key)));
    const others = await cluster.locks();
    const waits = keys.map((key) => others.acquire(key, { wait: PATIENCE }).catch((error) => error));
    await eventually(async () => (await cluster.call('LOCK.WAITERS')).length === 3, 'three wait');
    const gone = 1;
    if (how === 'cut off') way.cut(gone);
    else {
      way.down = gone;
      way.breakAll(gone);
    }
    const lost = await endOf(held[gone]);
    assert.ok(lost instanceof LockLostError && lost.reason === 'unreachable', `${lost}`);
    assert.equal(locks.stats().attached, false);
    for (const i of [0, 2]) {
      assert.equal(held[i].ended, undefined);
      assert.ok(held[i].remaining > 0);
      assert.equal(await held[i].guard('EXISTS', `{${keys[i]}}`), 0);
      assert.equal(await locks.locked(keys[i]), true);
    }
    assert.ok(await rejection(locks.acquire(`{${keys[gone]}}x`)) instanceof NoAnswerError);
    await locks.using(`{${keys[0]}}x`, () => {});
    assert.deepEqual(locks.told.map(({ key }) => key), [keys[gone]]);
    way.mute = false;
    way.down = false;
    way.breakAll(gone);
    await (await waits[gone]).release(); // what was owed is released
    await locks.using(keys[gone], { wait: PATIENCE }, () => {});
    for (const i of [0, 2]) await held[i].release();
    for (const i of [0, 2]) await (await waits[i]).release();
    await eventually(() => locks.stats().owed === 0, 'nothing is owed');
    assert.deepEqual(await cluster.call('LOCK.LIST'), []);
  });
}

test('a client starts while a shard is gone', async (t) => {
  const cluster = await lockserverCluster(t);
  const end = cleanup(t);
  const way = end(await Way.to(portsOf(cluster)));
  way.down = 0;
  const locks = end(await Locks.connect(way.url, { logger: false, timeout: 1000 }));
  const keys = keysOf(cluster);
  for (const key of keys.slice(1)) await locks.using(key, () => {});
  assert.ok(await rejection(locks.acquire(keys[0])) instanceof NoAnswerError);
  way.down = false;
  await eventually(() => locks.tryAcquire(keys[0]).then((lock) => lock?.release().then(() => true), () => false), 'it is there');
});

/**
 * A cluster that a test has the map of: proxies to plain servers, which answer CLUSTER SLOTS from the map, and MOVED for the
 * slots of others. So two of them may lead to one server, as if a slot had gone elsewhere with all that is in it.
 */
class Clusterlike {
  static async over(...servers) {
    const it = new Clusterlike();
    it.owner = () => 0;
    it.asked = [];
    it.keys = [];
    it.links = new Set();
    it.listeners = [];
    for (const [i, server] of servers.entries()) {
      const listener = net.createServer({ noDelay: true }, (client) => it.carry(i, client, server()));
      listener.listen(0, '127.0.0.1');
      await once(listener, 'listening');
      it.listeners.push(listener);
    }
    it.ports = it.listeners.map((listener) => listener.address().port);
    return it;
  }

  get urls() { return this.ports.map((port) => `redis://127.0.0.1:${port}`); }

  /** The reply of CLUSTER SLOTS. */
  slots() {
    const ranges = [];
    for (let slot = 0; slot < 16384; slot++) {
      const owner = (this.known ?? this.owner)(slot);
      if (ranges.at(-1)?.owner === owner) ranges.at(-1).last = slot;
      else ranges.push({ owner, first: slot, last: slot });
    }
    const node = (i) => `*3\r\n$9\r\n127.0.0.1\r\n:${this.ports[i]}\r\n$2\r\nn${i}\r\n`;
    return `*${ranges.length}\r\n${ranges.map(({ owner, first, last }) => {
      const nodes = [owner, ...(this.followers?.(owner) ?? [])];
      return `*${2 + nodes.length}\r\n:${first}\r\n:${last}\r\n${nodes.map(node).join('')}`;
    }).join('')}`;
  }

  carry(i, client, port) {
    const server = net.connect({ port, host: '127.0.0.1', noDelay: true });
    const link = { i, client, server };
    this.links.add(link);
    // Replies keep their order: an answer of the proxy waits for those of the server that come before.
    const queue = [];
    let rest = Buffer.alloc(0);
    let replies = Buffer.alloc(0);
    const send = (reply) => {
      if (!this.narrow || reply[0] !== 0x3e || this.owner(slotOf(subjectOf(reply))) === i) client.write(reply);
    };
    const flush = () => {
      while (queue.length > 0) {
        if (queue[0] !== null) {
          client.write(queue.shift());
          continue;
        }
        const size = sizeOf(replies);
        if (size === 0) return;
        const isPush = replies[0] === 0x3e;
        send(replies.subarray(0, size));
        replies = replies.subarray(size);
        if (!isPush) queue.shift();
      }
      for (let size = sizeOf(replies); size > 0; size = sizeOf(replies)) { // pushes
        send(replies.subarray(0, size));
        replies = replies.subarray(size);
      }
    };
    client.on('data', (piece) => {
      rest = Buffer.concat([rest, piece]);
      for (let size = sizeOf(rest); size > 0; size = sizeOf(rest)) {
        const command = rest.subarray(0, size);
        rest = rest.subarray(size);
        const words = String(command).split('\r\n').filter((_, n) => n > 0 && n % 2 === 0);
        const [name] = words;
        const key = { MLOCK: words[2], MUNLOCK: words[2], HELLO: undefined, PING: undefined, CLUSTER: undefined, CONFIG: undefined, 'LOCK.ATTACH': undefined };
        const at = name in key ? key[name] : words[1];
        let owner = at === undefined ? i : this.owner(slotOf(at));
        if (at !== undefined && this.nowhere === slotOf(at)) owner = 1 - i; // each names the other one
        if (name === 'LOCK.ATTACH') link.attached = true;
        if (name === this.silent) this.unanswered = true;
        else if (name === 'CLUSTER' && words[1] === 'SLOTS') queue.push(this.slots());
        else if (name === 'CLUSTER') queue.push(`$2\r\nn${i}\r\n`);
        else if (owner !== i) {
          this.asked.push(name);
          this.keys.push(at);
          if (name === this.counted && --this.answers === 0) this.nowhere = this.counted = undefined;
          queue.push(`-MOVED ${slotOf(at)} 127.0.0.1:${this.ports[owner]}\r\n`);
        } else {
          queue.push(null);
          server.write(command);
        }
      }
      flush();
    });
    server.on('data', (piece) => {
      replies = Buffer.concat([replies, piece]);
      flush();
    });
    for (const [from, to] of [[client, server], [server, client]]) {
      from.on('error', () => {}).on('close', () => {
        this.links.delete(link);
        to.destroy();
      });
    }
  }

  /** The connections to a server that are attached to owners. */
  attached(i) { return [...this.links].filter((link) => link.i === i && link.attached); }

  /** Moves the slot of a key to the other one of two servers. As a server does, the former one ends the connections that are attached. */
  move(key) {
    const { owner } = this;
    const slot = slotOf(key);
    const former = owner(slot);
    this.asked = [];
    this.keys = [];
    this.owner = (it) => (it === slot ? 1 - former : owner(it));
    for (const link of this.attached(former)) link.client.destroy();
  }

  breakAll(i) { for (const link of [...this.links]) if (i === undefined || link.i === i) link.client.destroy(); }

  close() {
    for (const listener of this.listeners) listener.close();
    this.breakAll();
  }
}

/** The first key of a push. */
function subjectOf(push) {
  const parts = String(push).split('\r\n');
  return parts[3].startsWith('*') ? parts[5] : parts[4];
}

/** The size of the first whole value in bytes of RESP; 0: there is none yet. */
function sizeOf(bytes, begin = 0) {
  const end = bytes.indexOf('\r\n', begin);
  if (end < 0) return 0;
  const n = Number(bytes.toString('latin1', begin + 1, end));
  let at = end + 2;
  const kind = String.fromCharCode(bytes[begin]);
  if (kind === '$' && n >= 0) at += n + 2;
  if ('*>%~'.includes(kind)) {
    for (let left = kind === '%' ? 2 * n : n; left > 0; left--) {
      const size = sizeOf(bytes, at);
      if (size === 0) return 0;
      at += size;
    }
  }
  return at > bytes.length ? 0 : at - begin;
}

const HALF = 8192;
const halves = (slot) => (slot < HALF ? 0 : 1);

test('a wait that is redirected gets its lock where its slot is', async (t) => {
  const [one, two] = [await lockserver(t), await lockserver(t)];
  const end = cleanup(t);
  const map = end(await Clusterlike.over(() => one.port, () => two.port));
  map.owner = halves;
  const locks = end(await locksOf(map.urls));
  const key = ['a', 'b', 'c', 'd', 'e', 'f'].find((it) => slotOf(it) < HALF);
  await one.call('LOCK', key, 'another');
  const waits = locks.acquire(key, { wait: PATIENCE });
  await eventually(async () => (await one.call('LOCK.WAITERS')).length === 1, 'it waits at the first one');
  map.owner = () => 1; // all is elsewhere
  map.breakAll(0);
  const lock = await waits;
  assert.equal(await two.call('EXISTS', key), 1, 'it is the other one that has it');
  assert.equal(await lock.guard('EXISTS', `{${key}}`), 0);
  await lock.release();
  assert.equal(await two.call('EXISTS', key), 0);
  assert.deepEqual(locks.told, []);
});

test('a wait whose slot goes elsewhere is asked for there, by a MOVED and without the loss of a connection', async (t) => {
  const [one, two] = [await lockserver(t), await lockserver(t)];
  const end = cleanup(t);
  const map = end(await Clusterlike.over(() => one.port, () => two.port));
  map.owner = halves;
  const locks = end(await locksOf(map.urls));
  const [low, high] = [['a', 'b', 'c', 'd', 'e', 'f'].find((it) => slotOf(it) < HALF), ['a', 'b', 'c', 'd', 'e', 'f'].find((it) => slotOf(it) >= HALF)];
  const kept = await locks.acquire(low);
  await locks.using(high, () => {});
  const slot = slotOf('{moved}');
  const before = halves(slot);
  map.owner = (it) => (it === slot ? 1 - before : halves(it)); // one slot
  const lock = await locks.acquire('{moved}1');
  assert.ok(map.asked.includes('LOCK'), 'it was redirected');
  assert.equal(await [one, two][1 - before].call('EXISTS', '{moved}1'), 1);
  map.asked = [];
  assert.equal(await lock.guard('EXISTS', '{moved}'), 0);
  await lock.release();
  await locks.latch('{moved}2').set(1);
  assert.deepEqual(map.asked, [], 'the slot is known now');
  assert.equal(await kept.guard('EXISTS', `{${low}}`), 0, 'the connection is the same');
  await kept.release();
  assert.deepEqual(locks.told, []);
});

test('a MOVED counts more than the map of the cluster, which may be old', async (t) => {
  const [one, two] = [await lockserver(t), await lockserver(t)];
  const end = cleanup(t);
  const map = end(await Clusterlike.over(() => one.port, () => two.port));
  map.known = halves; // what CLUSTER SLOTS says, all the time
  const slot = slotOf('{moved}');
  const owner = 1 - halves(slot);
  map.owner = (it) => (it === slot ? owner : halves(it));
  const locks = end(await locksOf(map.urls, { timeout: 5000 }));
  const lock = await locks.acquire('{moved}');
  assert.equal(await [one, two][owner].call('EXISTS', '{moved}'), 1);
  await lock.release();
  assert.deepEqual(locks.told, []);
});

test('a command that is sent once is sent again where it was redirected', async (t) => {
  const [one, two] = [await lockserver(t), await lockserver(t)];
  const end = cleanup(t);
  const map = end(await Clusterlike.over(() => one.port, () => two.port));
  map.owner = halves;
  const locks = end(await locksOf(map.urls));
  await locks.latch('{moved}').set(3);
  const owner = halves(slotOf('{moved}'));
  map.owner = (it) => (it === slotOf('{moved}') ? 1 - owner : halves(it));
  await [one, two][1 - owner].call('LATCH.SET', '{moved}', 9);
  assert.equal(await locks.latch('{moved}').down(), 8);
  assert.equal(await [one, two][owner].call('LATCH.GET', '{moved}'), 3);
});

test('a shard with another address: its locks go on there, with their tokens', async (t) => {
  const [one, two] = [await lockserver(t), await lockserver(t)];
  const end = cleanup(t);
  const map = end(await Clusterlike.over(() => one.port, () => two.port, () => one.port));
  map.owner = halves;
  const locks = end(await locksOf(map.urls.slice(0, 2)));
  const names = Array.from({ length: 40 }, (_, i) => `n${i}`);
  const held = await Promise.all(names.map((key) => locks.acquire(key)));
  await one.call('LOCK', 'taken', 'another');
  await two.call('LOCK', 'taken', 'another');
  const waits = locks.acquire('taken', { wait: PATIENCE });
  await eventually(async () => (await one.call('LOCK.WAITERS')).length + (await two.call('LOCK.WAITERS')).length === 1, 'it waits');
  map.owner = (slot) => (slot < HALF ? 2 : 1); // the first server, by another address
  map.listeners[0].close();
  map.breakAll(0);
  for (const lock of held) await lock.check();
  await one.call('UNLOCK', 'taken', 'another');
  await two.call('UNLOCK', 'taken', 'another');
  await (await waits).release();
  for (const lock of held) await lock.release();
  assert.deepEqual(locks.told, []);
  for (const server of [one, two]) assert.deepEqual(await server.call('LOCK.LIST'), []);
});

test('two addresses of one server, as of a shard that has another leader: none releases what a call by the other one has', async (t) => {
  const one = await lockserver(t);
  const end = cleanup(t);
  const map = end(await Clusterlike.over(() => one.port, () => one.port));
  map.owner = halves;
  const locks = end(await locksOf(map.urls));
  const names = Array.from({ length: 8 }, (_, i) => `n${i}`);
  for (const key of names) await locks.using(key, () => {}); // both connections are attached
  for (const key of names) await one.call('LOCK', key, 'another');
  const waits = names.map((key) => locks.acquire(key, { wait: PATIENCE }));
  await eventually(async () => (await one.call('LOCK.WAITERS')).length === names.length, 'they wait');
  for (const key of names) await one.call('UNLOCK', key, 'another'); // both connections hear of the grant
  for (const lock of await Promise.all(waits)) {
    await locks.using(`{${lock.keys[0]}}x`, () => {}); // what the other connection sent has been done
    await lock.check();
    assert.equal(await lock.guard('EXISTS', `{${lock.keys[0]}}y`), 0);
    await lock.release();
  }
  assert.deepEqual(locks.told, []);
});

test('a member of a shard leads no more, and stays connected: a call is sent there once, and the next one is not', async (t) => {
  const [one, two] = [await lockserver(t), await lockserver(t)];
  const end = cleanup(t);
  const map = end(await Clusterlike.over(() => one.port, () => one.port, () => two.port));
  let leader = 0;
  map.owner = (slot) => (slot < HALF ? leader : 2);
  map.followers = (owner) => (owner < 2 ? [1 - owner] : []);
  const locks = end(await locksOf(map.urls));
  const key = Array.from({ length: 100 }, (_, i) => `k${i}`).find((name) => slotOf(name) < HALF);
  for (let i = 0; i < 4; i++) {
    const lock = await locks.acquire(key);
    assert.equal(await lock.guard('EXISTS', `{${key}}x`), 0);
    leader = 1 - leader;
    map.asked = [];
    // Two at the same time: the second one gets its answer before the connection ends.
    assert.deepEqual(await Promise.all([1, 2].map(() => lock.guard('EXISTS', `{${key}}x`))), [0, 0]);
    await lock.release();
    await locks.using(key, () => {});
    assert.equal(map.asked.filter((name) => name === 'GUARD').length, 2, map.asked.join(' '));
    assert.ok(map.asked.filter((name) => name === 'LOCK').length <= 1, map.asked.join(' '));
  }
  assert.deepEqual(locks.told, []);
});

test('a server that answers no more behind the login: the next connection is made', async (t) => {
  const [one, two] = [await lockserver(t), await lockserver(t)];
  const end = cleanup(t);
  const map = end(await Clusterlike.over(() => one.port, () => two.port));
  map.owner = halves;
  map.silent = 'EXISTS'; // with which a new connection asks whether the server leads
  const locks = end(new Locks(map.urls, { logger: false, timeout: PATIENCE }));
  const lock = locks.acquire('k');
  await eventually(() => map.unanswered, 'it is asked');
  map.silent = undefined;
  await (await lock).release();
});

test('a server that answers no more behind the login: a wait for a latch has another connection soon', async (t) => {
  const [one, two] = [await lockserver(t), await lockserver(t)];
  const end = cleanup(t);
  const map = end(await Clusterlike.over(() => one.port, () => two.port));
  map.owner = halves;
  const locks = end(new Locks(map.urls, { logger: false, timeout: 20 * PATIENCE })); // no call gives up
  const latch = locks.latch('batch');
  await latch.set(1);
  map.silent = 'EXISTS';
  let open = false;
  const wait = latch.wait().then(() => { open = true; });
  await eventually(() => map.unanswered, 'a new connection asks');
  map.silent = undefined;
  await latch.down();
  await eventually(() => open, 'the wait is over');
  await wait;
});

/** A key in the slots of a server, and in none of those of other keys. */
function keyAt(i, prefix, ...others) {
  for (let n = 0; ; n++) {
    const key = `${prefix}${n}`;
    if (halves(slotOf(key)) === i && !others.some((other) => slotOf(other) === slotOf(key))) return key;
  }
}

/** Waits until a server has renewed the lease of a lock. */
async function renewed(server, key) {
  let least = Infinity;
  await eventually(async () => {
    const info = await server.call('LOCK.INFO', key);
    const ttl = Number(Array.isArray(info) ? info[info.indexOf('ttl') + 1] : (info.ttl ?? info.get('ttl')));
    const rises = ttl > least;
    least = Math.min(least, ttl);
    return rises;
  }, `the lease of ${key} is renewed`);
}

for (const used of [true, false]) {
  test(`a slot moves to a shard that was ${used ? '' : 'not '}used before: what is held and waited for goes along`, { timeout: 5 * PATIENCE }, async (t) => {
    const one = await TestServer.start({ args: ['--lock-watchdog-timeout', String(LEASE)] });
    t.after(() => one.close());
    const end = cleanup(t);
    const map = end(await Clusterlike.over(() => one.port, () => one.port));
    map.owner = halves;
    map.narrow = true; // a server tells of its own slots
    const locks = end(await locksOf(map.urls));
    const key = keyAt(0, 'moved');
    const name = (what) => `{${key}}${what}`;
    const kept = await locks.acquire(keyAt(0, 'kept', key));
    if (used) await locks.using(keyAt(1, 'far'), () => {});
    const held = await locks.acquire(key);
    const fixed = await locks.acquire(name('fixed'), { lease: 3_600_000 });
    const both = await locks.acquireAll([name('a'), name('b')]);
    const permit = await locks.semaphore(name('permits'), 3).acquire();
    await one.call('LOCK', name('taken'), 'another');
    const waits = locks.acquire(name('taken'), { wait: PATIENCE });
    const latch = locks.latch(name('latch'));
    await latch.set(1);
    const opened = latch.wait();
    await eventually(async () => (await one.call('LOCK.WAITERS')).length === 1, 'it waits');
    for (const to of [1, 0, 1]) {
      map.move(key);
      await eventually(() => map.attached(0).length === 1 && map.attached(1).length === 1, `both are attached, and the slot is at ${to}`);
      for (const lock of [held, fixed]) assert.equal(await lock.guard('EXISTS', name('none')), 0);
      for (const lock of [held, fixed, both, permit, kept]) await lock.check();
      assert.equal(await kept.guard('EXISTS', kept.keys[0]), 1);
      assert.deepEqual(map.keys.filter((it) => !it.includes(key)), [], 'the other lock stays');
    }
    await locks.using(name('again'), () => {});
    await one.call('UNLOCK', name('taken'), 'another');
    await (await waits).release();
    await latch.down();
    await opened;
    await kept.release();
    map.listeners[0].close();
    map.breakAll(0);
    map.keys = [];
    for (const it of [key, name('a'), name('permits')]) await renewed(one, it);
    await locks.using(name('again'), () => {});
    for (const lock of [held, fixed, both, permit]) {
      await lock.check();
      await lock.release();
    }
    assert.deepEqual(map.keys, []);
    assert.deepEqual(locks.told, []);
    assert.deepEqual(await one.call('LOCK.LIST'), []);
  });
}

test('a slot that no shard serves yet: each names the other one for a while', { timeout: 5 * PATIENCE }, async (t) => {
  const one = await TestServer.start({ args: ['--lock-watchdog-timeout', String(LEASE)] });
  t.after(() => one.close());
  const end = cleanup(t);
  const map = end(await Clusterlike.over(() => one.port, () => one.port));
  map.owner = halves;
  map.narrow = true;
  const locks = end(await locksOf(map.urls));
  const key = keyAt(0, 'moved');
  const kept = await locks.acquire(keyAt(0, 'kept', key));
  const held = await locks.acquire(key);
  await one.call('LOCK', `{${key}}taken`, 'another');
  const waits = locks.acquire(`{${key}}taken`, { wait: PATIENCE });
  await eventually(async () => (await one.call('LOCK.WAITERS')).length === 1, 'it waits');
  map.nowhere = slotOf(key);
  map.move(key);
  await eventually(() => map.keys.length >= 12, 'it goes to and fro');
  assert.equal(await kept.guard('EXISTS', kept.keys[0]), 1);
  map.nowhere = undefined;
  await one.call('UNLOCK', `{${key}}taken`, 'another');
  await (await waits).release();
  await held.check();
  await renewed(one, key);
  await held.release();
  await kept.release();
  assert.deepEqual(locks.told, []);
  assert.deepEqual(await one.call('LOCK.LIST'), []);
});

test('calls go on until their slot is served, and ask for it now and then', { timeout: 5 * PATIENCE }, async (t) => {
  const one = await lockserver(t);
  const end = cleanup(t);
  const map = end(await Clusterlike.over(() => one.port, () => one.port));
  map.owner = halves;
  map.narrow = true;
  const locks = end(await locksOf(map.urls, { timeout: PATIENCE }));
  const key = keyAt(0, 'moved');
  const held = [await locks.acquire(key), await locks.acquire(`{${key}}fixed`, { lease: 3_600_000 }), await locks.acquire(keyAt(1, 'far'))];
  const latch = locks.latch(`{${key}}latch`);
  await latch.set(3);
  let next;
  const calls = {
    GUARD: () => held[0].guard('EXISTS', key),
    'LOCK.INFO': () => locks.info(key),
    'LATCH.DOWN': () => latch.down(),
    LOCK: async () => { next = await locks.acquire(`{${key}}next`); },
    UNLOCK: () => next.release(),
  };
  for (const [name, call] of Object.entries(calls)) {
    const before = [...map.links];
    // Each shard names the other one, until the call has had so many of these answers.
    Object.assign(map, { asked: [], nowhere: slotOf(key), counted: name, answers: 15 });
    await call();
    for (const lock of held) await lock.check();
    assert.equal(map.counted, undefined);
    assert.ok(map.asked.length < 150, `${name}: ${map.asked.length} redirections`); // of the call, and of two or three locks
    assert.ok(before.every((link) => map.links.has(link)), `${name}: the connections stay`);
  }
  for (const lock of held) await lock.release();
  assert.deepEqual(locks.told, []);
  assert.deepEqual(await one.call('LOCK.LIST'), []);
});

test('a lock that the new shard of its slot does not have is lost', async (t) => {
  const [one, two] = [await lockserver(t), await lockserver(t)];
  const end = cleanup(t);
  const map = end(await Clusterlike.over(() => one.port, () => two.port));
  map.owner = halves;
  const locks = end(await locksOf(map.urls));
  const lock = await locks.acquire('{moved}');
  const owner = halves(slotOf('{moved}'));
  map.owner = (it) => (it === slotOf('{moved}') ? 1 - owner : halves(it));
  map.breakAll(owner);
  const lost = await endOf(lock);
  assert.equal(lost.reason, 'stale');
  assert.equal(locks.told.length, 1);
});

test('a lock whose slot has gone elsewhere is asked for there as soon as a call finds out, with all connections alive', async (t) => {
  const [one, two] = [await lockserver(t), await lockserver(t)];
  const end = cleanup(t);
  const map = end(await Clusterlike.over(() => one.port, () => two.port));
  map.owner = halves;
  const locks = end(await locksOf(map.urls));
  const lock = await locks.acquire('{moved}');
  const owner = halves(slotOf('{moved}'));
  map.owner = (it) => (it === slotOf('{moved}') ? 1 - owner : halves(it));
  await locks.using('{moved}other', () => {});
  assert.equal((await endOf(lock)).reason, 'stale');
  assert.equal(locks.told.length, 1);
});

test('several keys share a slot, or the error names them', async (t) => {
  const cluster = await lockserverCluster(t);
  const locks = await cluster.locks();
  const [a, b] = keysOf(cluster);
  for (const call of [() => locks.acquireAll([a, b]), () => locks.acquireAll([a, b], { wait: 0 }), () => locks.using([a, b], () => {}),
    () => locks.takeLimits([a, b].map((key) => locks.limiter(key, { count: 1, period: 1 }))),
    () => locks.takeLimits([a, b].map((key) => locks.limiter(key, { count: 1, period: 1 })), { wait: 50 })]) {
    const error = await rejection(call());
    assert.ok(error instanceof CrossSlotError, `${error}`);
    assert.deepEqual([...error.keys].sort(), [a, b].sort());
    assert.match(error.message, /hash tag/);
  }
  assert.deepEqual(await cluster.call('LOCK.LIST'), []);
  const sale = locks.sale('{shoe}');
  const untagged = await rejection(sale.create({ stock: 1 }));
  assert.ok(untagged instanceof CrossSlotError && /STREAM and a name that has the hash tag \{shoe\}/.test(untagged.message), `${untagged}`);
  assert.equal(await sale.info(), undefined);
  assert.match((await rejection(sale.buy('ann', 'order-1'))).message, /no such seckill/);
  const lock = await locks.acquireAll(['{s}1', '{s}2']);
  await lock.release();
  const held = await locks.acquire(a);
  const guarded = await rejection(held.guard('GET', b));
  assert.ok(guarded instanceof CrossSlotError && guarded.message.includes(a), `${guarded}`);
  await held.release();
  const worker = locks.worker('orders', 'g', () => {});
  assert.ok(await rejection(worker.run()) instanceof CrossSlotError, 'before the first dead letter');
});

test('nested locks of several shards have one owner', async (t) => {
  const cluster = await lockserverCluster(t);
  const locks = await cluster.locks();
  const [a, b, c] = keysOf(cluster);
  await locks.using(a, async (outer) => {
    await locks.using(b, async (inner) => {
      assert.equal(inner.owner, outer.owner);
      const third = await locks.acquire(c, { within: inner });
      assert.equal(third.owner, outer.owner);
      await third.release();
    });
  });
  assert.deepEqual(await cluster.call('LOCK.LIST'), []);
});

test('close() releases on all shards, within one timeout', async (t) => {
  const cluster = await lockserverCluster(t);
  const end = cleanup(t);
  const way = end(await Way.to(portsOf(cluster)));
  const locks = await locksOf(way.url, { timeout: 1000 });
  const keys = keysOf(cluster);
  for (const key of keys) await locks.acquire(key);
  way.cut(2);
  await locks.close();
  assert.deepEqual(locks.told.map(({ reason }) => reason), ['closed', 'closed', 'closed']);
  for (const i of [0, 1]) assert.deepEqual(await cluster.shards[i].call('LOCK.LIST'), []);
});

test('how a program says that it is a cluster', async (t) => {
  const cluster = await lockserverCluster(t);
  const end = cleanup(t);
  const keys = keysOf(cluster);
  const [{ host, port }] = cluster.shards;
  const io = end(new Cluster([{ host, port }], { lazyConnect: true }), () => io.disconnect());
  const single = end(new Redis({ host, port, lazyConnect: true }), () => single.disconnect());
  const sources = {
    'several URLs': [cluster.urls], 'one URL': [cluster.urls[0], { cluster: true }], 'ioredis, Cluster': [io], 'ioredis, Redis': [single, { cluster: true }],
    'node-redis, createCluster': [createCluster({ rootNodes: [{ url: cluster.urls[0] }] })],
  };
  for (const [name, [source, options]] of Object.entries(sources)) {
    const locks = await Locks.connect(source, { logger: false, ...options });
    for (const key of keys) await locks.using(key, () => {});
    await locks.close();
    assert.ok(name);
  }
  const alone = await Locks.connect(cluster.urls[0], { logger: false });
  for (const key of keys) {
    for (const call of [() => alone.acquire(key), () => alone.latch(`{${key}}l`).set(1)]) {
      const error = await call().then(() => undefined, (it) => it);
      if (key === keys[0]) assert.equal(error, undefined);
      else assert.ok(error instanceof ShardedError, `${error}`);
    }
  }
  await alone.close();
  assert.throws(() => new Locks([]), RangeError);
  assert.throws(() => new Locks('redis://127.0.0.1/3', { cluster: true }), RangeError);
  assert.throws(() => new Locks({ name: 'm', sentinelRootNodes: [{ host, port }] }, { cluster: true }), TypeError);
  assert.throws(() => new Locks(cluster.urls, { cluster: false }), TypeError);
});

test('a cluster of one', async (t) => {
  const server = await TestServer.start({ args: ['--cluster-enabled', 'yes'] });
  t.after(() => server.close());
  for (const options of [{ cluster: true }, {}]) {
    const locks = await Locks.connect(server.url, options);
    const held = await locks.acquire('a');
    const waits = locks.acquire('a', { wait: PATIENCE });
    await eventually(async () => (await server.call('LOCK.WAITERS')).length === 1, 'it waits');
    await held.release();
    await (await waits).release();
    const error = await rejection(locks.acquireAll(['a', 'b']));
    assert.ok(error instanceof CrossSlotError, `${error}`);
    assert.deepEqual(error.keys, ['a', 'b']);
    await locks.close();
  }
});
