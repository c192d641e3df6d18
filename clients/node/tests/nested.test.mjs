// Calls inside of the function of using() or campaign(): who owns what they acquire, and what becomes of one that would
// wait for itself.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DeadlockError } from 'lockserver';

import { deferred, eventually, lockserver, rejection } from './harness.mjs';

const waiting = (server, n) => eventually(async () => (await server.call('LOCK.WAITERS')).length === n, `${n} wait`);

test('a nested call for the same key is refused at once, and waits for nothing', async (t) => {
  const server = await lockserver(t);
  const locks = await server.locks();
  await locks.using('k', async () => {
    for (const call of [() => locks.acquire('k'), () => locks.using('k', assert.fail), () => locks.acquireAll(['a', 'k']), () => locks.acquire('k', { wait: 60_000 }),
      () => locks.acquire('k', { shared: true }), async () => { await null; return locks.using('a', () => locks.acquire('k')); }]) {
      const error = await rejection(call());
      assert.ok(error instanceof DeadlockError, String(error));
      assert.match(error.message, /"k" is held by the function around this call, since .*nested\.test\.mjs:\d+.* within/);
    }
    assert.equal(await locks.tryAcquire('k'), undefined);
    assert.deepEqual(await server.call('LOCK.WAITERS'), []);
  });
  await locks.campaign('lead', async () => {
    assert.ok(await rejection(locks.acquire('lead')) instanceof DeadlockError);
  });
  await locks.using(['a', 'b'], async () => {
    assert.ok(await rejection(locks.acquire('b')) instanceof DeadlockError);
  });
  await locks.using('s', { shared: true }, () => locks.using('s', { shared: true }, async () => {
    assert.ok(await rejection(locks.acquire('s')) instanceof DeadlockError, 'an upgrade');
  }));
  assert.deepEqual(await server.call('KEYS', '*'), []);
  const { acquire } = await locks.using('k', () => ({ acquire: () => locks.acquire('k') }));
  await (await acquire()).release();
  const kept = await locks.using('k', (lock) => new Promise((done) => { setImmediate(() => done(async () => { lock.throwIfEnded(); })); }));
  await assert.rejects(kept());
});

test('what was begun inside, and goes on behind the end, is inside of nothing', async (t) => {
  const server = await lockserver(t);
  const locks = await server.locks();
  const over = deferred();
  let behind;
  await locks.using('k', () => { behind = over.promise.then(() => locks.using('k', (lock) => lock.owner)); });
  over.resolve();
  assert.match(await behind, /^locks:/);
});

test('two flows that lock two keys in opposite order: one of them is told of the deadlock', async (t) => {
  const server = await lockserver(t);
  const [one, two] = [await server.locks(), await server.locks()]; // as two programs
  const [first, second] = [deferred(), deferred()];
  const done = [];
  const flow = (locks, keys, mine, other) => locks.using(keys[0], async () => {
    mine.resolve();
    await other.promise;
    await locks.using(keys[1], () => { done.push(keys[0]); });
  });
  const ends = await Promise.allSettled([flow(one, ['a', 'b'], first, second), flow(two, ['b', 'a'], second, first)]);
  const failed = ends.filter((it) => it.status === 'rejected');
  assert.equal(failed.length, 1, JSON.stringify(ends));
  assert.ok(failed[0].reason instanceof DeadlockError, String(failed[0].reason));
  assert.equal(done.length, 1, 'the other one goes on');
  assert.deepEqual(await server.call('KEYS', '*'), []);
});

test('nested calls have the owner around them, and branches side by side keep each other out', async (t) => {
  const server = await lockserver(t);
  const [locks, other] = [await server.locks(), await server.locks()];
  await locks.using('k', async (outer) => {
    await locks.using('a', async (lock) => {
      assert.equal(lock.owner, outer.owner);
      await locks.semaphore('s', 2).using(async (permit) => assert.equal(permit.owner, outer.owner));
    });
    await other.using('a', async (lock) => assert.notEqual(lock.owner, outer.owner, 'another client'));
    let [inside, most] = [0, 0];
    const owners = new Set();
    const gate = deferred();
    const branches = Promise.all(Array.from({ length: 8 }, () => locks.using('x', async (lock) => {
      owners.add(lock.owner);
      most = Math.max(most, ++inside);
      await gate.promise;
      await new Promise((next) => { setImmediate(next); });
      inside--;
    })));
    await waiting(server, 7);
    gate.resolve();
    await branches;
    assert.deepEqual([most, owners.size], [1, 8]);
    const permits = locks.semaphore('pool', 2);
    await permits.using(() => permits.using(async () => assert.equal((await permits.info()).used, 2)));
  });
  assert.deepEqual(await server.call('KEYS', '*'), []);
});

test('with reentrant: true a nested call takes the lock again', async (t) => {
  const server = await lockserver(t);
  const locks = await server.locks({ reentrant: true });
  await locks.using('k', async (outer) => {
    await locks.using('k', async (lock) => assert.equal(lock.token, outer.token));
    await (await locks.tryAcquire('k')).release();
    outer.throwIfEnded();
    assert.equal(await outer.guard('EXISTS', 'none'), 0, 'it is held');
  });
  assert.deepEqual(await server.call('KEYS', '*'), []);
  await locks.using('k', (outer) => locks.using('k', { within: outer }, () => {}));
});
