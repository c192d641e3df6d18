// How locks are lost, and what is told when: reasons, a server that is silent, stopped, killed, or away for a while.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import readline from 'node:readline';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { LockLostError, Locks, NoAnswerError } from 'lockserver';

import { cleanup, endOf, eventually, locksOf, Operator, rejection, Server, sleep, stop, Way } from './harness.mjs';

const LEASE = 6000; // of locks that the server renews

async function setUp(t, ...directives) {
  const end = cleanup(t);
  const server = end(await Server.start('--lock-watchdog-timeout', LEASE, ...directives));
  const way = end(await Way.to(server));
  const operator = end(await Operator.to(server));
  return { end, server, way, operator };
}

test('scenario: reasons', async (t) => {
  const { end, way, operator } = await setUp(t);
  const locks = end(await locksOf(way.url));
  const causes = {
    forced: ['LOCK.FORCE', 'k'], deleted: ['DEL', 'k'], overwritten: ['SET', 'k', 'no lock'],
    expired: ['EVAL', "return redis.call('PEXPIRE', KEYS[1], 1)", 1, 'k'],
  };
  for (const [reason, words] of Object.entries(causes)) {
    const lock = await locks.acquire('k');
    await operator.call(...words);
    const lost = await endOf(lock);
    assert.ok(lost instanceof LockLostError);
    assert.deepEqual([lost.key, lost.token, lost.reason], ['k', lock.token, reason]);
    for (const call of [() => lock.guard('SET', '{k}n', 1), () => lock.release(), () => lock.check()]) assert.equal(await rejection(call()), lost);
    await operator.call('DEL', 'k');
  }
  const fixed = await locks.acquire('k', { lease: 50 });
  assert.equal((await endOf(fixed)).reason, 'expired');
  const last = await locks.acquire('k', { wait: 30_000 });
  await locks.close();
  assert.equal((await endOf(last)).reason, 'closed');
  assert.deepEqual(locks.told.map((it) => it.reason), [...Object.keys(causes), 'expired', 'closed'], 'once each');
  assert.equal(await operator.call('EXISTS', '{k}n'), 0);
});

test('a loss while the connection is away is found when it is back: stale', async (t) => {
  const { end, way, operator } = await setUp(t);
  const locks = end(await locksOf(way.url));
  const [kept, taken] = [await locks.acquire('{k}kept'), await locks.acquire('{k}taken')];
  const fixed = await locks.acquire('{k}fixed', { lease: 600_000 });
  way.down = true;
  way.breakAll();
  await eventually(() => !locks.stats().attached, 'the connection is lost');
  await operator.call('LOCK.FORCE', '{k}taken');
  await operator.call('LOCK.FORCE', '{k}fixed');
  await operator.call('LOCK', '{k}taken', 'another');
  way.down = false;
  for (const lock of [taken, fixed]) {
    const lost = await endOf(lock);
    assert.equal(lost.reason, 'stale');
  }
  assert.equal(await kept.guard('EXISTS', '{k}none'), 0);
  await kept.release();
  assert.equal(locks.told.length, 2);
});

test('guard() finds a loss that was not told yet', async (t) => {
  const { end, server, operator } = await setUp(t);
  const locks = end(await locksOf(server.url));
  const lock = await locks.acquire('k');
  // The key is moved to another owner in one step that tells nothing: a snapshot that is put back.
  const redis = await operator.of('k');
  const dump = await redis.dumpBuffer('k');
  await lock.release();
  const again = await locks.acquire('k');
  await redis.call('RESTORE', 'k', 0, dump, 'REPLACE');
  const error = await rejection(again.guard('SET', '{k}n', 1));
  assert.ok(error instanceof LockLostError, `${error}`);
  assert.equal(await operator.call('EXISTS', '{k}n'), 0);
});

test('a connection that is cut: unreachable before the lease can have ended, and the release is owed', async (t) => {
  const { end, way, operator } = await setUp(t);
  const locks = end(await locksOf(way.url));
  const lock = await locks.acquire('k');
  const waits = rejection((await locks.acquire('other'), locks.acquire('other')));
  await eventually(async () => (await operator.call('LOCK.WAITERS')).length === 1, 'it waits');
  way.cut();
  const lost = await endOf(lock);
  assert.equal(lost.reason, 'unreachable');
  assert.equal(await operator.call('EXISTS', 'k'), 1, 'no other owner can have it yet');
  assert.ok(await waits instanceof NoAnswerError);
  assert.ok(locks.stats().owed > 0);
  way.mute = false;
  way.breakAll();
  await eventually(async () => await operator.call('EXISTS', 'k') + await operator.call('EXISTS', 'other') === 0, 'what was owed is released');
  await eventually(() => locks.stats().owed === 0, 'nothing is owed');
  await locks.using('k', async (it) => assert.ok(it.token > lock.token));
});

test('a connection that is away for less than that costs no lock', async (t) => {
  const { end, way, operator } = await setUp(t);
  const locks = end(await locksOf(way.url));
  const lock = await locks.acquire('k');
  for (let i = 0; i < 3; i++) {
    way.down = true;
    way.breakAll();
    await eventually(() => !locks.stats().attached, 'the connection is lost');
    way.down = false;
    await eventually(() => locks.stats().attached, 'the connection is back');
  }
  assert.equal(await lock.guard('EXISTS', '{k}none'), 0);
  assert.deepEqual(locks.told, []);
  await lock.release();
  assert.equal(await operator.call('EXISTS', 'k'), 0);
});

test('scenario: owed_unlock', async (t) => {
  const { end, way, operator } = await setUp(t);
  const locks = end(await Locks.connect(way.url, { timeout: 2000 }));
  const lock = await locks.acquire('k');
  way.down = true;
  way.breakAll();
  assert.ok(await rejection(lock.release()) instanceof NoAnswerError);
  assert.equal(locks.stats().owed, 1);
  way.down = false;
  await eventually(async () => await operator.call('EXISTS', 'k') === 0, 'it is released');
});

describe('scenario: server_stopped', () => {
  test('every call ends, and what is held is lost before its lease ends', async (t) => {
    const { end, server } = await setUp(t);
    const locks = end(await Locks.connect(server.url, { timeout: 1500 }));
    const lock = await locks.acquire('k');
    const began = performance.now();
    server.pause();
    const calls = await Promise.all([
      locks.acquire('other'), locks.acquire('other', { wait: 0 }), lock.guard('EXISTS', '{k}none'), locks.sale('s').buy('ann', 'o1'),
      locks.semaphore('pool', 1).acquire(), locks.latch('l').down(), locks.limiter('r', { count: 1, period: 1 }).take(),
      locks.delayed('d').count(), lock.check(),
    ].map(rejection));
    for (const error of calls) assert.ok(error instanceof NoAnswerError, `${error}`);
    const lost = await endOf(lock);
    assert.equal(lost.reason, 'unreachable');
    assert.ok(performance.now() - began < LEASE + 20_000);
    await sleep(LEASE);
    server.resume();
    await locks.using('k', { wait: 30_000 }, async (it) => assert.ok(it.token > lock.token));
    await eventually(() => locks.stats().owed === 0, 'what was owed is sent');
    const operator = end(await Operator.to(server));
    assert.deepEqual(await operator.call('LOCK.LIST'), []);
  });

  test('close() ends as well', async (t) => {
    const { end, server } = await setUp(t);
    const locks = await Locks.connect(server.url, { timeout: 2000 });
    await locks.acquire('k');
    server.pause();
    end(server, () => server.resume());
    const began = performance.now();
    await locks.close();
    assert.ok(performance.now() - began < 20_000);
  });
});

test('scenario: server_gone', async (t) => {
  const { end, server, operator } = await setUp(t);
  const locks = end(await locksOf(server.url, { timeout: 1000 }));
  const [lock, other] = [await locks.acquire('k'), await locks.acquire('other')];
  const waits = rejection(locks.acquire('k'));
  await eventually(async () => (await operator.call('LOCK.WAITERS')).length === 1, 'it waits');
  const ends = [endOf(lock), endOf(other)].map((it) => it.then((error) => [error.reason, performance.now()]));
  await server.kill();
  const began = performance.now();
  for (const call of [() => locks.acquire('new'), () => locks.acquire('new', { wait: 0 }), () => lock.guard('GET', '{k}n')]) {
    assert.ok(await rejection(call()) instanceof NoAnswerError);
  }
  for (const [reason] of await Promise.all(ends)) assert.equal(reason, 'unreachable');
  for (const [, at] of await Promise.all(ends)) assert.ok(at - began < LEASE + 20_000);
  assert.ok(await waits instanceof NoAnswerError);
});

describe('a server that is killed and starts again', () => {
  test('scenario: kill_and_restart', async (t) => {
    const { end, server, operator } = await setUp(t, '--appendonly', 'yes', '--appendfsync', 'always');
    const [one, two] = [end(await locksOf(server.url, { timeout: 60_000 })), end(await locksOf(server.url, { timeout: 60_000 }))];
    const lock = await one.acquire('k');
    const waits = two.acquire('k');
    await eventually(async () => (await operator.call('LOCK.WAITERS')).length === 1, 'it waits');
    for (let i = 0; i < 2; i++) {
      await server.kill();
      await server.run();
      await eventually(() => one.stats().attached && two.stats().attached, 'both are back');
      assert.equal(await lock.guard('EXISTS', '{k}none'), 0);
    }
    await lock.release();
    const next = await waits;
    assert.ok(next.token > lock.token);
    await next.release();
    assert.deepEqual([...one.told, ...two.told], []);
  });

  test('scenario: kill_without_data', async (t) => {
    const { end, server } = await setUp(t);
    const locks = end(await locksOf(server.url));
    const lock = await locks.acquire('k');
    await server.kill();
    await server.run();
    const lost = await endOf(lock);
    assert.equal(lost.reason, 'stale');
    await locks.using('k', async (it) => assert.ok(it.token > lock.token));
  });
});

/** A program of its own, which can be stopped. */
class Program {
  static async start(t, url) {
    const program = new Program();
    const file = path.join(path.dirname(fileURLToPath(import.meta.url)), 'program.mjs');
    program.process = spawn(process.execPath, [file, ...[url].flat()], { stdio: ['pipe', 'pipe', 'inherit'] });
    program.lines = readline.createInterface({ input: program.process.stdout })[Symbol.asyncIterator]();
    t.after(async () => {
      program.process.kill('SIGCONT');
      program.process.kill('SIGKILL');
      await once(program.process, 'exit');
    });
    return program;
  }

  async do(...words) {
    this.process.stdin.write(`${words.join(' ')}\n`);
    return JSON.parse((await this.lines.next()).value);
  }
}

describe('scenario: client_stopped', () => {
  test('for longer than the lease that the server renews: it keeps the lock', async (t) => {
    const { server, operator } = await setUp(t);
    const program = await Program.start(t, server.url);
    const { token } = await program.do('acquire', 'k', '0');
    stop(program.process);
    await sleep(LEASE * 1.5);
    assert.equal(await operator.call('EXISTS', 'k'), 1, 'the server renews it');
    program.process.kill('SIGCONT');
    assert.deepEqual(await program.do('guard', 'SET', '{k}n', '1'), { reply: 'OK' });
    await sleep(LEASE);
    assert.deepEqual(await program.do('state'), { held: true, token });
    assert.deepEqual(await program.do('release'), { released: true });
  });

  test('for longer than a fixed lease: it is lost, and cannot write', async (t) => {
    const { end, server, operator } = await setUp(t);
    const program = await Program.start(t, server.url);
    const { token } = await program.do('acquire', 'k', '1000');
    stop(program.process);
    const locks = end(await Locks.connect(server.url));
    const next = await locks.acquire('k', { wait: 60_000 });
    assert.ok(next.token > token);
    program.process.kill('SIGCONT');
    const { error, reason } = await program.do('guard', 'SET', '{k}n', '1');
    assert.deepEqual([error, reason], ['ERR_LOCK_LOST', 'expired']);
    assert.equal(await operator.call('EXISTS', '{k}n'), 0);
    assert.deepEqual(await program.do('release'), { error: 'ERR_LOCK_LOST', reason: 'expired' });
    await next.release();
  });

  test('and the server gave its connection up meanwhile: the loss is told when it goes on', async (t) => {
    const { server, operator } = await setUp(t);
    const program = await Program.start(t, server.url);
    await program.do('acquire', 'k', '0');
    stop(program.process);
    await operator.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await eventually(async () => await operator.call('EXISTS', 'k') === 0, 'its lease ends');
    program.process.kill('SIGCONT');
    const { error, reason } = await program.do('guard', 'SET', '{k}n', '1');
    assert.equal(error, 'ERR_LOCK_LOST');
    assert.ok(['stale', 'unreachable'].includes(reason), reason);
    assert.equal(await operator.call('EXISTS', '{k}n'), 0);
  });
});
