// Locks: acquiring, waiting, the five errors, several keys, sharing, one owner with several locks.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  CancelledError, ClosedError, DeadlineError, DeadlockError, HeldOtherwiseError, LockLostError, LockReleasedError, Locks,
  NoAnswerError, NotAcquiredError, NotLockserverError, ReplyError,
} from 'lockserver';

import { cleanup, endOf, eventually, lockserver, rejection, Way } from './harness.mjs';

/** Resolves when so many calls wait in a queue of the server. */
const waiting = (server, n) => eventually(async () => (await server.call('LOCK.WAITERS')).length === n, `${n} wait`);

test('scenario: released_or_lost', async (t) => {
  const server = await lockserver(t);
  const locks = await server.locks({ name: 'billing' });
  const lock = await locks.acquire('order:42');
  assert.ok(lock.token > 0);
  assert.deepEqual([...lock.tokens], [['order:42', lock.token]]);
  assert.match(lock.owner, /^billing:[0-9a-f]{20}:1$/);
  assert.equal(lock.signal.aborted, false);
  assert.equal(await lock.guard('SET', '{order:42}n', 1), 'OK');
  assert.deepEqual(await lock.guardRaw('GET', '{order:42}n'), Buffer.from('1'));
  await lock.check();
  assert.equal(await locks.tryAcquire('order:42'), undefined);
  await lock.release();
  assert.ok(lock.signal.reason instanceof LockReleasedError);
  for (const call of [() => lock.guard('SET', '{order:42}n', 2), () => lock.release(), () => lock.check()]) {
    assert.ok(await rejection(call()) instanceof LockReleasedError);
  }
  assert.equal(await server.call('GET', '{order:42}n'), '1');
  const next = await locks.tryAcquire('order:42');
  assert.ok(next.token > lock.token);
  assert.notEqual(next.owner, lock.owner);
  await next[Symbol.asyncDispose]();
  await next[Symbol.asyncDispose]();
  assert.deepEqual(await server.call('LOCK.LIST'), []);
});

test('using() releases whatever happens, and passes on results and errors', async (t) => {
  const server = await lockserver(t);
  const locks = await server.locks();
  assert.equal(await locks.using('k', async (lock) => lock.guard('INCR', '{k}n')), 1);
  assert.equal(await locks.using(['{k}b', '{k}a'], { wait: 0 }, (lock) => lock.keys.join()), '{k}a,{k}b');
  const thrown = new Error('of the task');
  assert.equal(await rejection(locks.using('k', async () => { throw thrown; })), thrown);
  assert.deepEqual(await server.call('LOCK.LIST'), []);
  const lost = await rejection(locks.using('k', async (lock) => {
    await server.call('LOCK.FORCE', 'k');
    await endOf(lock);
  }));
  assert.ok(lost instanceof LockLostError, 'a loss does not look like success');
  assert.equal(lost.reason, 'forced');
});

test('waiters are served in their order', async (t) => {
  const server = await lockserver(t);
  const [one, two] = [await server.locks(), await server.locks()];
  const first = await one.acquire('k');
  const order = [];
  const all = [];
  for (let i = 0; i < 10; i++) {
    all.push((i % 2 ? one : two).using('k', { wait: 60_000 }, async () => { order.push(i); }));
    await waiting(server, i + 1);
  }
  await first.release();
  await Promise.all(all);
  assert.deepEqual(order, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

describe('scenario: five_errors', () => {
  test('not acquired: at once, and at the end of the wait by the server and by its clock', async (t) => {
    const server = await lockserver(t);
    const [one, two] = [await server.locks(), await server.locks()];
    await one.acquire('k');
    assert.ok(await rejection(two.acquire('k', { wait: 0 })) instanceof NotAcquiredError);
    await server.freeze();
    const waits = rejection(two.acquire('k', { wait: 50_000 }));
    await waiting(server, 1);
    await server.advance(50_000);
    assert.ok(await waits instanceof NotAcquiredError);
    assert.deepEqual(await server.call('LOCK.WAITERS'), []);
  });

  test('deadline and cancelled: by a signal, and the place in the queue is given up', async (t) => {
    const server = await lockserver(t);
    const [one, two] = [await server.locks(), await server.locks()];
    await one.acquire('k');
    const late = await rejection(two.acquire('k', { signal: AbortSignal.timeout(20) }));
    assert.ok(late instanceof DeadlineError);
    assert.equal(late.cause.name, 'TimeoutError');
    const stop = new AbortController();
    const waits = rejection(two.acquire('k', { signal: stop.signal }));
    await waiting(server, 1);
    const why = new Error('the request was closed');
    stop.abort(why);
    const cancelled = await waits;
    assert.ok(cancelled instanceof CancelledError);
    assert.equal(cancelled.cause, why);
    await waiting(server, 0);
    assert.ok(await rejection(two.acquire('k', { signal: stop.signal })) instanceof CancelledError, 'at once');
  });

  test('deadlock: one of two owners that wait for each other', async (t) => {
    const server = await lockserver(t);
    const locks = await server.locks();
    const [a, b] = [await locks.acquire('{d}a'), await locks.acquire('{d}b')];
    const second = locks.acquire('{d}b', { within: a });
    await waiting(server, 1);
    const error = await rejection(locks.acquire('{d}a', { within: b }));
    assert.ok(error instanceof DeadlockError);
    assert.match(error.cycle, /-> \{d\}a ->.*-> \{d\}b ->/);
    await b.release();
    await (await second).release();
    await a.release();
  });

  test('no answer: the server does not take the request, within the timeout', async (t) => {
    const server = await lockserver(t);
    const end = cleanup(t);
    const way = end(await Way.to(server));
    const locks = end(await Locks.connect(way.url, { timeout: 2000 }));
    const held = await locks.acquire('{k}held');
    way.cut();
    for (const call of [() => locks.acquire('k'), () => locks.acquire('k', { wait: 0 }), () => locks.acquire('k', { wait: 50 }),
      () => held.guard('EXISTS', '{k}none'), () => held.check(), () => held.release()]) {
      const began = performance.now();
      const error = await rejection(call());
      assert.ok(error instanceof NoAnswerError, `${error}`);
      assert.ok(performance.now() - began < 20_000);
    }
  });

  test('they have codes of their own', () => {
    const codes = [new NotAcquiredError(['k']), new DeadlineError(), new CancelledError(), new DeadlockError('a'), new NoAnswerError()].map((it) => it.code);
    assert.equal(new Set(codes).size, 5);
  });
});

test('a signal aborts the signal of the lock, which is held until it is released', async (t) => {
  const server = await lockserver(t);
  const locks = await server.locks();
  const stop = new AbortController();
  const lock = await locks.acquire('k', { signal: stop.signal });
  const why = new Error('enough');
  stop.abort(why);
  assert.equal(lock.signal.reason, why);
  assert.equal(lock.ended, undefined);
  assert.equal(await lock.guard('EXISTS', '{k}none'), 0);
  await lock.release();
  const lost = await locks.acquire('k', { signal: new AbortController().signal });
  await server.call('DEL', 'k');
  assert.equal((await endOf(lost)).reason, 'deleted');
});

test('a fixed lease ends by itself, and can be renewed', async (t) => {
  const server = await lockserver(t);
  const locks = await server.locks();
  const lock = await locks.acquire('k', { lease: 50 });
  const lost = await endOf(lock);
  assert.ok(lost instanceof LockLostError && lost.reason === 'expired');
  assert.equal(lock.ended, lost);
  assert.equal(await rejection(lock.release()), lost);
  assert.equal(await rejection(lock.guard('EXISTS', '{k}none')), lost);
  const long = await locks.acquire('k', { lease: 60_000, wait: 1000 });
  assert.ok(long.remaining <= 60_000 && long.remaining > 30_000);
  await long.renew(120_000);
  assert.ok(long.remaining > 60_000);
  assert.ok(await server.call('PTTL', 'k') > 60_000);
  const waits = locks.acquire('k', { lease: 60_000, wait: 60_000 });
  await waiting(server, 1);
  await long.release();
  await (await waits).release();
  const renewed = await locks.acquire('k');
  assert.ok(renewed.remaining > 0 && renewed.remaining < 30_000);
  await assert.rejects(renewed.renew(10), TypeError);
  await renewed.release();
});

test('several keys are acquired together or not at all', async (t) => {
  const server = await lockserver(t);
  const [one, two] = [await server.locks(), await server.locks()];
  const pair = await one.acquireAll(['{p}b', '{p}a', '{p}b']);
  assert.deepEqual(pair.keys, ['{p}a', '{p}b']);
  assert.equal(pair.tokens.get('{p}a'), pair.token);
  assert.ok(await rejection(two.acquireAll(['{p}b', '{p}c'], { wait: 0 })) instanceof NotAcquiredError);
  assert.equal(await server.call('EXISTS', '{p}c'), 0);
  const waits = two.acquireAll(['{p}b', '{p}c'], { wait: 60_000 });
  await waiting(server, 1);
  await pair.release();
  const other = await waits;
  await assert.rejects(other.guard('EXISTS', '{p}none'), TypeError);
  await two.using('{p}b', { within: other }, async (lock) => assert.equal(await lock.guard('EXISTS', '{p}none'), 0));
  await server.call('LOCK.FORCE', '{p}c');
  const lost = await endOf(other);
  assert.deepEqual([lost.key, lost.reason], ['{p}c', 'forced']);
  await eventually(async () => (await server.call('LOCK.LIST')).length === 0, 'the other key is released, too');
  const fixed = await two.acquireAll(['{p}a', '{p}b'], { lease: 60_000 });
  await fixed.renew(90_000);
  await fixed.release();
  await assert.rejects(two.acquireAll([]), RangeError);
});

test('readers share, a writer does not', async (t) => {
  const server = await lockserver(t);
  const locks = await server.locks();
  const readers = [await locks.acquire('k', { shared: true }), await locks.acquire('k', { shared: true })];
  assert.equal(await locks.tryAcquire('k'), undefined);
  const writes = locks.acquire('k', { wait: 60_000 });
  await waiting(server, 1);
  for (const reader of readers) await reader.release();
  const writer = await writes;
  assert.equal(await locks.tryAcquire('k', { shared: true }), undefined);
  await writer.release();
});

test('one owner acquires again within its lock', async (t) => {
  const server = await lockserver(t);
  const locks = await server.locks();
  const outer = await locks.acquire('k');
  const inner = await locks.acquire('k', { within: outer });
  assert.equal(inner.token, outer.token);
  assert.equal(inner.owner, outer.owner);
  await outer.release();
  assert.equal(await inner.guard('EXISTS', '{k}none'), 0);
  assert.equal(outer.signal.aborted, true);
  assert.equal(inner.signal.aborted, false);
  assert.ok(await rejection(locks.acquireAll(['k', 'l'], { within: inner })) instanceof HeldOtherwiseError);
  await inner.release();
  assert.equal(await server.call('EXISTS', 'k'), 0);
});

test('bad input is refused, and changes nothing', async (t) => {
  const server = await lockserver(t);
  const locks = await server.locks();
  assert.throws(() => new Locks({}), TypeError);
  assert.throws(() => new Locks('http://127.0.0.1'), TypeError);
  assert.throws(() => new Locks(server.url, { name: 'a b' }), TypeError);
  await server.call('SET', 'text', 'x');
  const wrong = await rejection(locks.acquire('text'));
  assert.ok(wrong instanceof ReplyError && wrong.word === 'WRONGTYPE');
  assert.equal(await server.call('DBSIZE'), 1);
});

test('scenario: close_releases', async (t) => {
  const server = await lockserver(t);
  const [one, two] = [await server.locks(), await server.locks()];
  const lock = await one.acquire('k');
  const other = await two.acquire('other');
  const waits = rejection(one.acquire('other'));
  await waiting(server, 1);
  await one.close();
  const lost = await endOf(lock);
  assert.ok(lost instanceof LockLostError && lost.reason === 'closed');
  assert.ok(await waits instanceof ClosedError);
  assert.ok(await rejection(one.acquire('k')) instanceof ClosedError);
  assert.equal(await rejection(lock.release()), lost);
  assert.equal(await rejection(lock.guard('EXISTS', '{k}none')), lost);
  assert.deepEqual((await server.call('LOCK.LIST')).length, 1);
  assert.deepEqual(await server.call('LOCK.WAITERS'), []);
  await one.close();
  await other.release();
});

test('a client that starts before the server', async (t) => {
  const server = await lockserver(t);
  const end = cleanup(t);
  const way = end(await Way.to(server));
  way.down = true;
  const locks = end(new Locks(way.url, { timeout: 30_000 }));
  const soon = locks.acquire('k');
  const none = end(new Locks(way.url, { timeout: 100 }));
  assert.ok(await rejection(none.ready()) instanceof NoAnswerError);
  const refused = await rejection(none.acquire('k'));
  assert.ok(refused instanceof NoAnswerError);
  way.down = false;
  await (await soon).release();
  await locks.ready();
});

test('a server that is no lockserver is told at once', async (t) => {
  const end = cleanup(t);
  const { createServer } = await import('node:net');
  const listener = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (data) => {
      for (const word of String(data).match(/HELLO|LOCK\.ATTACH/g) ?? []) {
        socket.write(word === 'HELLO' ? '%0\r\n' : "-ERR unknown command 'LOCK.ATTACH', with args beginning with: \r\n");
      }
    });
  });
  await new Promise((resolve) => listener.listen(0, '127.0.0.1', resolve));
  end(listener);
  const url = `redis://127.0.0.1:${listener.address().port}`;
  assert.ok(await rejection(Locks.connect(url)) instanceof NotLockserverError);
  const locks = end(new Locks(url));
  assert.ok(await rejection(locks.acquire('k')) instanceof NotLockserverError);
});

test('scenario: lost_reply', async (t) => {
  const server = await lockserver(t);
  const locks = await server.locks();
  const lock = await server.fault('DROPAFTER MATCH LOCK TIMES 1', () => locks.acquire('k'));
  assert.equal((await server.call('HGETALL', 'k')).length, 6, 'held once');
  await server.fault('DROPAFTER MATCH UNLOCK TIMES 1', () => lock.release());
  assert.equal(await server.call('EXISTS', 'k'), 0);
  const first = await locks.acquire('k');
  const waits = locks.acquire('k', { wait: 60_000 });
  await waiting(server, 1);
  const second = await server.fault('DROPAFTER MATCH LOCK.CONFIRM TIMES 1', async () => {
    await first.release();
    return waits;
  });
  assert.equal(await second.guard('EXISTS', '{k}none'), 0);
  await second.release();
  assert.deepEqual(await server.call('LOCK.LIST'), []);
});

test('scenario: guard_once', async (t) => {
  const server = await lockserver(t);
  const locks = await server.locks();
  const error = await server.fault('DROPAFTER MATCH GUARD TIMES 1', async () => {
    const third = await locks.acquire('k');
    const failed = await rejection(third.guard('INCR', '{k}n'));
    await third.release();
    return failed;
  });
  assert.ok(error instanceof NoAnswerError);
  assert.equal(await server.call('GET', '{k}n'), '1', 'GUARD is sent once');
});

test('scenario: unconfirmed', async (t) => {
  const server = await lockserver(t);
  const [one, two] = [await server.locks(), await server.locks()];
  for (let i = 0; i < 50; i++) {
    const first = await one.acquire('k');
    const stop = new AbortController();
    const gone = one.acquire('k', { signal: stop.signal }).then((lock) => lock.release(), () => {});
    await waiting(server, 1);
    const next = two.acquire('k');
    await waiting(server, 2);
    const released = first.release(); // the grant and the end of the call are on their way at the same time
    if (i % 2) await new Promise((resolve) => setImmediate(resolve));
    stop.abort();
    await Promise.all([released, gone]);
    await (await next).release();
  }
  await eventually(async () => (await server.call('LOCK.LIST')).length === 0, 'the lock is free');
});
