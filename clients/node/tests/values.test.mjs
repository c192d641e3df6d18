// Values that no call can use. The call that they are given to refuses them, also before the first connection, and
// nothing else changes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FenceError, fence, fenceSync, Locks, LockLostError } from 'lockserver';
import Redlock from 'lockserver/redlock';

import { namesOf, published, watched, watchedCall } from './calls.mjs';
import { cleanup, eventually, lockserver } from './harness.mjs';

/** Half of a surrogate pair: in UTF-8 it would become the same character as any other. */
const HALF = 'k\ud800';
const NO_TEXT = [undefined, null, '', HALF, 7, true, {}, [], NaN, Symbol('k')];
const NO_TIME = [null, 'a', '5', NaN, Infinity, -1, 0, 0.5, 1000 / 300, 1e16, true, {}, 5n];
const NO_NUMBER = [null, 'a', '5', NaN, Infinity, -1, 0, 1.5, 2 ** 53, true, {}, 5n];
const NO_OPTIONS = [null, 5, 'x', [], { timeout: 5 }, { ttl: 1 }];
const NO_WAIT = [null, 'a', '5', NaN, -1, 1e16, true, {}, 5n];
const NO_SIGNAL = [null, 5, {}, 'x', new AbortController()];
const NO_VALUE = [undefined, null, HALF, NaN, Infinity, { b: 1 }, [], true, new Date(0), Symbol('k')];

/** The functions of the package. */
const FUNCTIONS = { fence, fenceSync, connect: (...args) => Locks.connect(...args) };

/** The table: what no call may be given, by call and value. */
function* table(locks, foreign, held, { fence, fenceSync, connect } = FUNCTIONS) {
  const s = () => locks.semaphore('s', 2);
  const l = () => locks.limiter('l', { count: 1, period: 1000 });
  const d = () => locks.delayed('d');
  const sale = () => locks.sale('shoe');
  const due = { delay: 1000 };
  const fields = { a: 'b' };
  for (const it of NO_TEXT) {
    yield ['acquire', it, () => locks.acquire(it)];
    yield ['tryAcquire', it, () => locks.tryAcquire(it)];
    yield ['acquireAll', it, () => locks.acquireAll(['a', it])];
    yield ['acquireAll: keys', it, () => locks.acquireAll(it)];
    yield ['using', it, () => locks.using(it, () => {})];
    yield ['semaphore', it, () => locks.semaphore(it, 1)];
    yield ['latch', it, () => locks.latch(it)];
    yield ['limiter', it, () => locks.limiter(it, { count: 1, period: 1 })];
    yield ['delayed', it, () => locks.delayed(it)];
    yield ['sale', it, () => locks.sale(it)];
    yield ['campaign', it, () => locks.campaign(it, () => {})];
    yield ['locked', it, () => locks.locked(it)];
    yield ['info', it, () => locks.info(it)];
    yield ['forceUnlock', it, () => locks.forceUnlock(it)];
    yield ['worker: stream', it, () => locks.worker(it, 'g', () => {})];
    yield ['worker: group', it, () => locks.worker('w', it, () => {})];
    if (it !== undefined) yield ['worker: name', it, () => locks.worker('w', 'g', () => {}, { name: it })];
    if (it !== undefined) yield ['worker: dead', it, () => locks.worker('w', 'g', () => {}, { dead: it })];
    if (held) yield ['guardRaw', it, () => held.guardRaw(it, 'x')];
    for (const call of ['buy', 'confirm', 'cancel']) {
      yield [`${call}: user`, it, () => sale()[call](it, 'o')];
      yield [`${call}: order`, it, () => sale()[call]('ann', it)];
    }
    if (it !== undefined) yield ['add: id', it, () => d().add(fields, due, it)];
    yield ['get', it, () => d().get(it)];
    yield ['cancel', it, () => d().cancel(it)];
    yield ['move', it, () => d().move(it, due)];
    if (it !== undefined) yield ['name', it, () => new Locks('redis://127.0.0.1:1', { name: it })];
    if (it !== undefined) yield ['id', it, () => new Locks('redis://127.0.0.1:1', { id: it })];
    if (it !== undefined && it !== '') yield ['trace', it, () => locks.acquire('k', { trace: it })];
    if (held) yield ['guard', it, () => held.guard(it, 'x')];
    yield ['fence: table', it, () => fence({ prepare: assert.fail }, it, 1, 1)];
  }
  for (const it of NO_TIME) {
    yield ['lease', it, () => locks.acquire('k', { lease: it })];
    yield ['using: lease', it, () => locks.using('k', { lease: it }, () => {})];
    yield ['acquireAll: lease', it, () => locks.acquireAll(['k'], { lease: it })];
    yield ['permits: lease', it, () => s().acquire({ lease: it })];
    yield ['period', it, () => locks.limiter('l', { count: 300, period: it })];
    yield ['timeout', it, () => new Locks('redis://127.0.0.1:1', { timeout: it })];
    if (held) yield ['renew', it, () => held.renew(it)];
    yield ['extend', it, () => sale().extend('ann', 'o', it)];
    if (it !== 0) yield ['delay', it, () => d().add(fields, { delay: it })];
    if (it !== 0) yield ['at', it, () => d().add(fields, { at: it })];
    if (it !== 0) yield ['move: at', it, () => d().move('i', { at: it })];
    if (it !== 0) yield ['list: from', it, () => d().list({ from: it })];
    yield ['every', it, () => d().add(fields, { every: it })];
    yield ['until', it, () => d().add(fields, { every: 1000, until: it })];
    if (it !== 0) yield ['delay of a rule', it, () => d().add(fields, { every: 1000, delay: it })];
    if (it !== 0) yield ['at of a rule', it, () => d().add(fields, { cron: '* * * * *', at: it })];
    yield ['redlock: duration', it, () => new Redlock([foreign.redis]).acquire(['k'], it)];
  }
  for (const it of NO_NUMBER) {
    yield ['limit', it, () => locks.semaphore('s', it)];
    yield ['permits', it, () => s().acquire({ permits: it })];
    yield ['resize', it, () => s().resize(it)];
    yield ['initial', it, () => s().initial(it)];
    yield ['worker: attempts', it, () => locks.worker('w', 'g', () => {}, { attempts: it })];
    yield ['worker: parallel', it, () => locks.worker('w', 'g', () => {}, { parallel: it })];
    yield ['count', it, () => locks.limiter('l', { count: it, period: 1000 })];
    yield ['burst', it, () => locks.limiter('l', { count: 1, period: 1000, burst: it })];
    if (it !== 0) yield ['cost', it, () => l().take({ cost: it })];
    if (it !== 0) yield ['give', it, () => l().give(it)];
    if (it !== 0) yield ['takeLimits: cost', it, () => locks.takeLimits([l()], { cost: it })];
    yield ['latch: set', it, () => locks.latch('batch').set(it)];
    yield ['latch: down', it, () => locks.latch('batch').down(it)];
    yield ['pieces', it, () => sale().buy('ann', 'o', it)];
    if (it !== undefined) yield ['cancel: pieces', it, () => sale().cancel('ann', 'o', it)];
    if (it !== undefined) yield ['cart: pieces', it, () => locks.cart('ann', 'o', [{ voucher: 'v', pieces: it }])];
    yield ['times', it, () => d().add(fields, { every: 1000, times: it })];
    if (it !== 0) {
      yield ['priority', it, () => locks.acquire('k', { priority: it })];
      yield ['tryAcquire: priority', it, () => locks.tryAcquire('k', { priority: it })];
      yield ['acquireAll: priority', it, () => locks.acquireAll(['k'], { priority: it })];
      yield ['permits: priority', it, () => s().acquire({ priority: it })];
    }
    yield ['list: count', it, () => d().list({ count: it })];
    yield ['fence: token', it, () => fence({ prepare: assert.fail }, 't', 1, it)];
    yield ['fenceSync: token', it, () => fenceSync({ prepare: assert.fail }, 't', 1, it)];
  }
  for (const it of NO_OPTIONS) {
    yield ['acquire: options', it, () => locks.acquire('k', it)];
    yield ['tryAcquire: options', it, () => locks.tryAcquire('k', it)];
    yield ['acquireAll: options', it, () => locks.acquireAll(['k'], it)];
    yield ['using: options', it, () => locks.using('k', it, () => {})];
    yield ['permits: options', it, () => s().acquire(it)];
    yield ['using permits: options', it, () => s().using(it, () => {})];
    yield ['take: options', it, () => l().take(it)];
    yield ['give: options', it, () => l().give(1, it)];
    yield ['takeLimits: options', it, () => locks.takeLimits([l()], it)];
    yield ['worker: options', it, () => locks.worker('w', 'g', () => {}, it)];
    yield ['create', it, () => sale().create(it)];
    if (held) yield ['fence: row', it, () => held.fence({ prepare: assert.fail }, it)];
    if (held) yield ['fenceSync: row', it, () => held.fenceSync({ prepare: assert.fail }, it)];
    yield ['latch: options', it, () => locks.latch('batch').wait(it)];
    yield ['campaign: options', it, () => locks.campaign('k', it, () => {})];
    yield ['list: options', it, () => d().list(it)];
    yield ['rate', it, () => locks.limiter('l', it)];
    yield ['due', it, () => d().add(fields, it)];
    yield ['Locks: options', it?.timeout ? { timeuot: 5 } : it, () => new Locks('redis://127.0.0.1:1', it?.timeout ? { timeuot: 5 } : it)];
    yield ['connect: options', it?.timeout ? { timeuot: 5 } : it, () => connect('redis://127.0.0.1:1', it?.timeout ? { timeuot: 5 } : it)];
  }
  yield ['tryAcquire: wait', 5, () => locks.tryAcquire('k', { wait: 5 })];
  yield ['due', 'both', () => d().add(fields, { delay: 1, at: 1 })];
  yield ['due', 'none', () => d().add(fields, {})];
  yield ['due', 'no date', () => d().add(fields, { at: new Date(NaN) })];
  for (const it of [{ every: 1000, cron: '* * * * *' }, { every: 1000, zone: 'UTC' }, { delay: 1, zone: 'UTC' }, { delay: 1, times: 1 }, { at: 1, until: 5 }, { at: 1, missed: 'all' },
    { cron: '' }, { cron: 5 }, { cron: '* * * * *', zone: '' }, { cron: '* * * * *', zone: 5 }, { every: 1000, missed: 'some' }, { every: 1000, missed: null },
    { every: 1000, delay: 1, at: 1 }, { every: 1000, tz: 'UTC' }]) yield ['rule', it, () => d().add(fields, it)];
  yield ['move', 'by a rule', () => d().move('i', { every: 1000 })];
  yield ['priority', 10, () => locks.acquire('k', { priority: 10 })];
  yield ['permits', 'above the limit', () => s().acquire({ permits: 3 })];
  for (const it of [undefined, null, 'l', {}, 5]) {
    yield ['takeLimits', it, () => locks.takeLimits(it)];
    yield ['takeLimits', [it], () => locks.takeLimits([l(), it])];
  }
  yield ['takeLimits', 'none', () => locks.takeLimits([])];
  yield ['takeLimits', 'one twice', () => locks.takeLimits([l(), locks.limiter('l', { count: 5, period: 1000 })])];
  yield ['takeLimits', '65', () => locks.takeLimits(Array.from({ length: 65 }, (_, i) => locks.limiter(`l${i}`, { count: 1, period: 1000 })))];
  yield ['takeLimits', 'a cost above the second burst', () => locks.takeLimits([locks.limiter('m', { count: 5, period: 1000 }), l()], { cost: 2 })];
  if (foreign.locks) yield ['takeLimits', 'one of another client', () => locks.takeLimits([foreign.locks.limiter('m', { count: 5, period: 1000 })])];
  for (const it of [undefined, null, 'v', {}, 5, [], Array.from({ length: 65 }, () => ({ voucher: 'v' })), [undefined], [{}], [{ voucher: '' }]]) {
    yield ['cart', it, () => locks.cart('ann', 'o', it)];
  }
  for (const it of ['', '\ud800', null, 5]) {
    yield ['ask: key', it, () => locks.ask(it)];
    if (it !== '') yield ['ask: reason', it, () => locks.ask('k', it)];
    if (held) yield ['onAsked', it, () => held.onAsked(it)];
  }
  yield ['give', 'above the burst', () => l().give(2)];
  yield ['create', 'an end before the start', () => sale().create({ stock: 1, start: 2, end: 1 })];
  for (const it of [undefined, null, 5, {}, function* () {}]) yield ['worker: handler', it, () => locks.worker('w', 'g', it)];
  yield ['worker: dead', 'the stream', () => locks.worker('w', 'g', () => {}, { dead: 'w' })];
  for (const it of [null, 'yes', 1]) yield ['reentrant', it, () => new Locks('redis://127.0.0.1:1', { reentrant: it })];
  yield ['cost', 'above the burst', () => l().take({ cost: 2 })];
  yield ['acquireAll', 'no keys', () => locks.acquireAll([])];
  for (const it of NO_WAIT) {
    yield ['wait', it, () => locks.acquire('k', { wait: it })];
    yield ['permits: wait', it, () => s().acquire({ wait: it })];
    yield ['take: wait', it, () => l().take({ wait: it })];
    yield ['takeLimits: wait', it, () => locks.takeLimits([l()], { wait: it })];
    yield ['latch: wait', it, () => locks.latch('batch').wait({ wait: it })];
  }
  for (const it of NO_SIGNAL) {
    yield ['signal', it, () => locks.acquire('k', { signal: it })];
    yield ['take: signal', it, () => l().take({ signal: it })];
    yield ['give: signal', it, () => l().give(1, { signal: it })];
    yield ['takeLimits: signal', it, () => locks.takeLimits([l()], { signal: it })];
    yield ['latch: signal', it, () => locks.latch('batch').wait({ signal: it })];
  }
  for (const it of NO_VALUE) {
    yield ['a field', it, () => d().add({ a: it }, due)];
    if (held) yield ['guard: an argument', it, () => held.guard('SET', 'n', it)];
    if (!(it instanceof Date)) yield ['fence: id', it, () => fence({ prepare: assert.fail }, 't', it, 1)];
  }
  for (const it of [undefined, null, 'x', [], {}, 5]) yield ['fields', it, () => d().add(it, due)];
  yield ['a name of a field', HALF, () => d().add({ [HALF]: 'x' }, due)];
  for (const it of [null, 'x', {}, { its: {} }]) yield ['within', it, () => locks.acquire('k', { within: it })];
  if (foreign.lock) yield ['within', 'a lock of another client', () => locks.acquire('k', { wait: 0, within: foreign.lock })];
  for (const it of [undefined, null, 5, {}]) yield ['task', it, () => locks.using('k', {}, it)];
  for (const it of [null, 'yes', 1]) yield ['shared', it, () => locks.acquire('k', { shared: it })];
  yield ['redlock: keys', undefined, () => new Redlock([foreign.redis]).acquire([undefined], 1000)];
  yield ['redlock: keys', 'a text', () => new Redlock([foreign.redis]).acquire('key', 1000)];
}

/** Gives all calls of the table their values, and returns those that are accepted, or refused in another way. */
async function accepted(rows) {
  const wrong = [];
  for (const [call, value, use] of rows) {
    try {
      const later = new Promise((resolve) => setTimeout(resolve, 30_000, new Error('it waits')).unref());
      const got = await Promise.race([(async () => use())(), later]);
      if (got?.close && !got.keys) got.close();
      wrong.push(`${call} accepts ${String(typeof value === 'object' ? JSON.stringify(value) : String(value))}: ${String(got)}`);
    } catch (error) {
      const isOfRedlock = /^Duration must be an integer/.test(error.message);
      if (!(error instanceof TypeError || error instanceof RangeError || isOfRedlock)) wrong.push(`${call} of ${String(value)}: ${error}`);
    }
  }
  return wrong;
}

test('values that no call can use are refused by it, and nothing changes', async (t) => {
  const server = await lockserver(t);
  const [locks, other] = [await server.locks(), await server.locks()];
  const held = await locks.acquire('held', { lease: 600_000 });
  const { Redis } = await import('ioredis');
  const redis = new Redis({ port: server.port, host: server.host, lazyConnect: true });
  const foreign = { lock: await other.acquire('foreign'), locks: other, redis };
  const before = await server.call('KEYS', '*');
  assert.deepEqual(await accepted(table(locks, foreign, held)), []);
  assert.deepEqual(await server.call('KEYS', '*'), before);
  assert.equal(held.ended, undefined);
  assert.equal(await held.guard('EXISTS', 'none'), 0, 'the connection goes on');
  await held.release();
  redis.disconnect();
});

/** The calls that take values, and are not in the table, with the reason. */
const NO_BAD_VALUE = {
  'Entry.bytes': 'a field that an entry does not have is undefined',
  'Entry.once': 'a database that is none is refused: fence.test.mjs',
  'Entry.onceSync': 'as Entry.once',
  reasonOf: 'it takes what was thrown, whatever that is',
  targetOf: 'it takes what Locks.connect takes',
};

test('the table has all calls that take values', async (t) => {
  const server = await lockserver(t);
  const [locks, other] = [await server.locks(), await server.locks()];
  const held = await locks.acquire('held', { lease: 600_000 });
  const tried = new Set();
  const note = (name) => tried.add(name);
  const foreign = { lock: await other.acquire('foreign'), locks: other, redis: undefined };
  const functions = Object.entries(FUNCTIONS).map(([name, call]) => [name, watchedCall(call, () => note(name === 'connect' ? 'Locks.connect' : name))]);
  await accepted(table(watched(locks, note), foreign, watched(held, note), Object.fromEntries(functions)));
  const takes = namesOf(published(), (call) => call.takes).filter((name) => !NO_BAD_VALUE[name]);
  assert.deepEqual([...tried].filter((name) => takes.includes(name)).sort(), takes);
  await held.release();
});

test('they are refused before the first connection, too', async (t) => {
  const end = cleanup(t);
  const { Redis } = await import('ioredis');
  const redis = new Redis({ port: 1, lazyConnect: true });
  const locks = end(new Locks('redis://127.0.0.1:1', { timeout: 100 }));
  assert.deepEqual(await accepted(table(locks, { redis })), []);
});

test('what is unusual and has a meaning is accepted', async (t) => {
  const server = await lockserver(t);
  const locks = await server.locks();
  await (await locks.acquire('k', { wait: Infinity })).release();
  await (await locks.acquire('k', { wait: 0.5, signal: undefined, lease: undefined })).release();
  assert.equal((await locks.limiter('l', { count: 1, period: 1000 }).take({ wait: Infinity })).allowed, true);
  assert.equal(await locks.delayed('d').add({ a: 1, b: 2n, c: Buffer.from('x'), d: '' }, { at: 0 }, 'i'), 'i');
  assert.deepEqual((await server.call('XRANGE', 'd', '-', '+'))[0][1], ['a', '1', 'b', '2', 'c', 'x', 'd', '']);
  assert.equal(await locks.latch('batch').wait({ wait: Infinity }), true);
});

test('a key may be bytes', async (t) => {
  const server = await lockserver(t);
  const [one, two] = [await server.locks(), await server.locks()];
  const bytes = Buffer.from([0x00, 0xff, 0xe2, 0x82, 0x0d, 0x0a, 0x61, 0xed, 0xa0, 0x80]);
  const other = Buffer.from([0x00, 0xfe, 0xe2, 0x82, 0x0d, 0x0a, 0x61, 0xed, 0xa0, 0x80]);
  const held = await one.acquire(bytes);
  assert.equal(await server.call('EXISTS', bytes), 1);
  assert.equal(await two.tryAcquire(bytes), undefined);
  await (await two.acquire(other)).release();
  const waits = two.acquireAll([bytes, 'text'], { wait: 60_000 });
  await eventually(async () => (await server.call('LOCK.WAITERS')).length === 1, 'it waits');
  await held.release();
  const pair = await waits;
  assert.deepEqual(pair.binaryKeys.map((it) => it.toString('hex')).sort(), [bytes.toString('hex'), Buffer.from('text').toString('hex')].sort());
  await server.call('LOCK.FORCE', bytes);
  await eventually(() => pair.ended instanceof LockLostError, 'the loss is known');
  await (await one.acquire(new Uint8Array(Buffer.from('über')))).release();
  const text = await one.acquire('über');
  assert.equal(await two.tryAcquire(Buffer.from('über')), undefined, 'the same key');
  await text.release();
  assert.equal(await one.latch(bytes).set(1), true);
  assert.equal(await server.call('LATCH.GET', bytes), 1);
});

test('a fence with a bad token raises nothing', async () => {
  const db = { prepare: () => ({ run: () => ({ changes: 0 }), get: () => undefined }) };
  await assert.rejects(fence(db, 't', 1, 1), FenceError);
});
