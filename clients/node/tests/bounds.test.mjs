// Calls end within their own limits, and a lock is held until the work is done.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import ts from 'typescript';
import * as lockserverPackage from 'lockserver';
import { CancelledError, DeadlineError, Locks, LockLostError, NoAnswerError } from 'lockserver';

import { cleanup, eventually, lockserver, rejection, Server } from './harness.mjs';

test('scenario: silent_server', async (t) => {
  const end = cleanup(t);
  const server = end(await Server.start());
  // The timeout is ten minutes: a call that ends in a minute was ended by its own limit.
  const locks = end(await Locks.connect(server.url, { timeout: 600_000 }));
  await locks.latch('batch').set(1);
  await locks.acquire('held');
  const limiter = locks.limiter('l', { count: 1, period: 1000 });
  const stop = new AbortController();
  const soon = () => AbortSignal.timeout(200);
  const calls = {
    'a lock': [NoAnswerError, () => locks.acquire('k', { wait: 200 })],
    'a lock of the client': [NoAnswerError, () => locks.acquire('held', { wait: 200 })],
    'several': [NoAnswerError, () => locks.acquireAll(['{k}a', '{k}b'], { wait: 200 })],
    'using': [NoAnswerError, () => locks.using('k', { wait: 200 }, () => {})],
    'permits': [NoAnswerError, () => locks.semaphore('s', 1).acquire({ wait: 200 })],
    'units': [NoAnswerError, () => limiter.take({ wait: 200 })],
    'a latch': [NoAnswerError, () => locks.latch('batch').wait({ wait: 200 })],
    'a lock, deadline': [DeadlineError, () => locks.acquire('k', { signal: soon() })],
    'a lock, deadline and a longer wait': [DeadlineError, () => locks.acquire('k', { wait: 500_000, signal: soon() })],
    'a lock that is not waited for, deadline': [DeadlineError, () => locks.acquire('k', { wait: 0, signal: soon() })],
    'permits, deadline': [DeadlineError, () => locks.semaphore('s', 1).acquire({ signal: soon() })],
    'units, deadline': [DeadlineError, () => limiter.take({ signal: soon() })],
    'units and a longer wait, deadline': [DeadlineError, () => limiter.take({ wait: 500_000, signal: soon() })],
    'a latch, deadline': [DeadlineError, () => locks.latch('batch').wait({ signal: soon() })],
    'a leader, deadline': [DeadlineError, () => locks.campaign('k', { signal: soon() }, () => {})],
    'a lock, cancelled': [CancelledError, () => locks.acquire('k', { wait: 500_000, signal: stop.signal })],
    'units, cancelled': [CancelledError, () => limiter.take({ signal: stop.signal })],
  };
  server.pause();
  try {
    const late = new Promise((resolve) => setTimeout(resolve, 60_000, new Error('it is not over after a minute')).unref());
    const ends = Object.entries(calls).map(async ([name, [kind, call]]) => {
      const error = await Promise.race([rejection(call()), late]);
      assert.ok(error instanceof kind, `${name}: ${error}`);
    });
    setTimeout(() => stop.abort(), 200);
    await Promise.all(ends);
  } finally {
    server.resume();
  }
});

test('a call that gives up leaves the connection to the others', async (t) => {
  const server = await lockserver(t);
  const locks = await server.locks();
  const held = await locks.acquire('k');
  await held.guard('EXISTS', '{k}none'); // the connection for commands is there
  await server.freeze();
  const stop = new AbortController();
  await server.fault('DELAY 300 MATCH LIMIT.TAKE TIMES 1', async () => {
    const gives = rejection(locks.limiter('l', { count: 1, period: 1000 }).take({ signal: stop.signal }));
    const guarded = held.guard('INCR', '{k}n');
    await eventually(async () => {
      const faults = await server.call('TEST.FAULT', 'LIST');
      return faults.some((fault) => fault[fault.indexOf('struck') + 1] === 1);
    }, 'the server has the call');
    stop.abort();
    assert.ok(await gives instanceof CancelledError);
    await server.advance(300);
    assert.equal(await guarded, 1, 'a command that is sent once is not lost');
  });
  await held.release();
});

/** Runs a module in TypeScript, for `await using`. */
function typescript(code) {
  const { outputText } = ts.transpileModule(code, { compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.CommonJS } });
  const module = { exports: {} };
  new Function('module', 'exports', 'require', outputText)(module, module.exports, () => lockserverPackage);
  return module.exports;
}

const block = typescript(`
  export async function block(locks: any, body: (lock: any) => unknown) {
    await using lock = await locks.acquire('k');
    return await body(lock);
  }`).block;

test('the end of a block does not hide the loss that the block has seen', async (t) => {
  const server = await lockserver(t);
  const locks = await server.locks();
  const lose = async (lock) => {
    const ended = new Promise((resolve) => lock.signal.addEventListener('abort', resolve, { once: true }));
    await server.call('LOCK.FORCE', 'k');
    await ended;
  };
  const seen = {
    throwIfEnded: (lock) => lock.throwIfEnded(),
    guard: (lock) => lock.guard('EXISTS', '{k}none'),
    check: (lock) => lock.check(),
    reason: (lock) => { throw lock.signal.reason; },
    'signal.throwIfAborted': (lock) => lock.signal.throwIfAborted(),
    fetch: (lock) => fetch('http://127.0.0.1:1', { signal: lock.signal }),
    release: (lock) => lock.release(),
  };
  for (const [name, use] of Object.entries(seen)) {
    const error = await rejection(block(locks, async (lock) => {
      await lose(lock);
      await use(lock);
    }));
    assert.ok(error instanceof LockLostError, `${name}: ${error?.name}: ${error}`);
  }
  const unseen = await rejection(block(locks, lose));
  assert.ok(unseen instanceof LockLostError && unseen.reason === 'forced', 'a loss does not look like success');
  const own = new Error('of the block');
  assert.equal(await rejection(block(locks, () => { throw own; })), own);
});

test('scenario: held_until_done', async (t) => {
  const server = await lockserver(t);
  const locks = await server.locks();
  const pool = locks.semaphore('k', 1);
  const waysIn = [(task) => locks.using('k', task), (task) => locks.using(['k'], {}, task), (task) => pool.using(task), (task) => locks.campaign('k', task)];
  for (const enter of waysIn) {
    let finish;
    const done = enter(() => ({ then(resolve) { finish = resolve; } })); // a promise of another kind
    await eventually(() => finish, 'the task has begun');
    assert.equal(await server.call('EXISTS', 'k'), 1, 'it is held until the promise is kept');
    finish('done');
    assert.equal(await done, 'done');
    assert.equal(await server.call('EXISTS', 'k'), 0);
    let begun = false;
    for (const task of [function* () { begun = true; }, async function* () { begun = true; }]) {
      await assert.rejects(enter(task), TypeError, 'refused where it is given');
      await assert.rejects(enter(() => task()), /generator/, 'refused where it is returned');
    }
    assert.equal(begun, false);
    assert.equal(await server.call('EXISTS', 'k'), 0);
  }
});
