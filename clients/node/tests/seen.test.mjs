// What is told: who holds a lock, what was lost and why, what was forgotten; and the limits that several programs share.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Redlock as Original } from '@sesamecare-oss/redlock';
import {
  CancelledError, DeadlineError, LockLostError, LockReleasedError, Locks, NoAnswerError, NotAcquiredError, NotLockserverError, ReplyError,
} from 'lockserver';
import { Lock, Redlock } from 'lockserver/redlock';

import { namesOf, published, watched } from './calls.mjs';
import { cleanup, endOf, eventually, lockserver, PATIENCE, rejection, Way } from './harness.mjs';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');

const waiting = (server, n) => eventually(async () => (await server.call('LOCK.WAITERS')).length === n, `${n} wait`);

/** A logger that keeps what it is told. */
function loggerOf() {
  const told = [];
  const at = (level) => (text) => told.push(`${level} ${text}`);
  return { told, logger: { warn: at('warn'), info: at('info'), debug: at('debug') } };
}

test('scenario: inspection', async (t) => {
  const server = await lockserver(t);
  const [locks, other] = [await server.locks({ name: 'one' }), await server.locks({ name: 'other' })];
  assert.deepEqual([await locks.info('k'), await locks.locked('k'), await locks.forceUnlock('k')], [undefined, false, false]);
  assert.deepEqual(locks.stats(), { held: 0, waiting: 0, owed: 0, oldest: 0, attached: true });
  const held = await locks.acquire('k', { lease: 600_000 });
  assert.ok(held.remaining > 0 && held.remaining <= 600_000);
  const waits = other.acquire('k', { wait: PATIENCE });
  await waiting(server, 1);
  assert.deepEqual([await locks.locked('k'), await other.locked('k')], [true, true]);
  const found = await other.info('k');
  assert.deepEqual([found.mode, found.holders.length, found.waiters.length], ['lock', 1, 1]);
  const [holder] = found.holders;
  assert.deepEqual([holder.owner, holder.token, holder.holds, holder.renewed], [held.owner, held.token, 1, false]);
  assert.ok(holder.remaining > 0 && holder.remaining <= 600_000);
  assert.match(holder.client, /^\S+:\d+ one:/);
  const [waiter] = found.waiters;
  assert.match(waiter.owner, /^other:/);
  assert.ok(waiter.since > 1e12 && waiter.deadline > waiter.since);
  assert.deepEqual([other.stats().waiting, other.stats().held], [1, 0]);
  const token = held.token;
  assert.equal(await locks.forceUnlock('k'), true);
  assert.equal((await endOf(held)).reason, 'forced');
  assert.equal(held.remaining, 0);
  const later = await waits;
  assert.ok(later.token > token);
  assert.ok(later.remaining > 0 && later.remaining <= 20_000, 'no more than the server is sure to renew');
  assert.equal((await other.info('k')).holders[0].renewed, true);
  await later.release();
  assert.equal(later.remaining, 0);
  const shared = [await locks.acquire('k', { shared: true }), await other.acquire('k', { shared: true })];
  const readers = await locks.info('k');
  assert.equal(readers.mode, 'shared');
  assert.deepEqual(readers.holders.map((it) => it.owner).sort(), shared.map((it) => it.owner).sort());
  const pool = locks.semaphore('s', 3);
  assert.equal(await pool.info(), undefined);
  await pool.acquire({ permits: 2 });
  const permits = await pool.info();
  assert.deepEqual([permits.mode, permits.limit, permits.available, permits.used, permits.holders[0].holds], ['semaphore', 3, 1, 2, 2]);
  assert.equal((await locks.info('s')).mode, 'semaphore');
  assert.equal(await other.forceUnlock('k'), true);
  assert.equal(await locks.locked('k'), false);
  for (const reader of shared) assert.equal((await endOf(reader)).reason, 'forced');
  const bytes = Buffer.from([0xff, 0xfe]);
  await server.call('LOCK', bytes, bytes);
  assert.equal(await locks.locked(bytes), true);
  assert.equal(await locks.forceUnlock(bytes), true, 'an owner of bytes');
  assert.equal(await locks.locked(bytes), false);
});

test('forceUnlock takes nothing from an owner that came later', async (t) => {
  const server = await lockserver(t);
  const locks = await server.locks();
  await locks.acquire('k');
  await server.fault('DROPAFTER MATCH LOCK.FORCE TIMES 1', () => locks.forceUnlock('k'));
  const next = await locks.acquire('k');
  assert.equal(await next.guard('EXISTS', 'none'), 0);
  await next.release();
});

test('a sale is made once, and seen', async (t) => {
  const server = await lockserver(t);
  const sale = (await server.locks()).sale('shoe');
  assert.equal(await sale.info(), undefined);
  const terms = { stock: 10, limit: 2, hold: 900_000, stream: 'orders', start: new Date(1), end: 4e12, rate: { count: 5, period: 1000, burst: 5 } };
  assert.equal(await server.fault('DROPAFTER MATCH SECKILL.CREATE TIMES 1', () => sale.create(terms)), true, 'the same sale');
  assert.equal(await sale.create(terms), true);
  for (const other of [{ stock: 11 }, { limit: 3 }, { hold: 1 }, { stream: 'others' }, { end: 5e12 }]) {
    assert.equal(await sale.create({ ...terms, ...other }), false, JSON.stringify(other));
  }
  assert.equal(await sale.buy('ann', 'o1', 2), 'sold');
  const { state, stock, total, sold, held, confirmed, buyers, fields } = await sale.info();
  assert.deepEqual({ state, stock, total, sold, held, confirmed, buyers }, { state: 'open', stock: 8, total: 10, sold: 2, held: 2, confirmed: 0, buyers: 1 });
  assert.equal(fields.stream, 'orders');
  assert.equal(await sale.create({ stock: 3, replace: true }), true);
  assert.equal((await sale.info()).stock, 3);
  assert.equal(await sale.create({ stock: 3 }), true, 'with the same defaults');
  for (const bad of [undefined, null, {}, { stock: 0 }, { stock: 1, limt: 1 }, { stock: 1, end: new Date(NaN) }, { stock: 1, hold: 0.5 }, { stock: 1, rate: { count: 1 } }]) {
    await assert.rejects(sale.create(bad), (error) => error instanceof TypeError || error instanceof RangeError, JSON.stringify(bad));
  }
});

test('scenario: limit_changes', async (t) => {
  const server = await lockserver(t);
  const [old, fresh] = [(await server.locks()).semaphore('s').initial(2), (await server.locks()).semaphore('s').initial(3)];
  const held = [await old.acquire(), await fresh.acquire()];
  assert.ok(await rejection(fresh.acquire({ wait: 0 })) instanceof NotAcquiredError, 'the limit is that of the first');
  assert.equal(await fresh.resize(3), true);
  held.push(await old.acquire());
  assert.ok(await rejection(old.acquire({ wait: 0 })) instanceof NotAcquiredError);
  const other = await rejection((await server.locks()).semaphore('s', 2).acquire({ wait: 0 }));
  assert.ok(other instanceof ReplyError && other.word === 'LIMITMISMATCH');
  for (const lock of held) await lock.release();
  assert.equal(await fresh.info(), undefined);
  assert.throws(() => fresh.initial(0), RangeError);
  assert.throws(() => fresh.initial(undefined), TypeError);
});

test('scenario: forgotten_hold', async (t) => {
  const server = await lockserver(t);
  const { told, logger } = loggerOf();
  const locks = await server.locks({ logger });
  await (async () => { await locks.acquire('k'); })(); // here
  await (async () => { await locks.using('used', () => {}); })();
  await (async () => { await (await locks.acquire('released')).release(); })();
  await (async () => {
    const lost = await locks.acquire('lost');
    await server.call('LOCK.FORCE', 'lost');
    await endOf(lost);
  })();
  await (async () => { await locks.semaphore('s', 1).acquire({ lease: 600_000 }); })();
  const forgotten = () => told.filter((it) => it.includes('was not released'));
  await eventually(() => {
    collect();
    return forgotten().length === 2;
  }, 'both are found');
  const warning = forgotten().find((it) => it.startsWith('warn'));
  const line = 1 + readFileSync(fileURLToPath(import.meta.url), 'utf8').split('\n').findIndex((it) => it.endsWith('// here'));
  assert.match(warning, /^warn lockserver locks:\w+: the lock "k" was not released, and stays held as long as the client lives; it was acquired at .*/);
  assert.ok(new RegExp(`seen\\.test\\.mjs:${line}:\\d+`).test(warning), warning);
  assert.match(forgotten().find((it) => it.startsWith('info')), /"s" .* until its lease ends/);
  assert.equal(await locks.locked('k'), true, 'it stays held');
  assert.equal(locks.stats().held, 2);
  const before = locks.stats().oldest;
  assert.ok(before > 0);
  await eventually(() => locks.stats().oldest > before, 'its age rises');
  const kept = await locks.acquire('kept');
  assert.match(kept.acquiredAt, /seen\.test\.mjs:\d+:\d+/);
  await locks.close();
  assert.equal(locks.stats().oldest, 0);
});

test('scenario: says_what_is_wrong', async (t) => {
  const server = await lockserver(t);
  const end = cleanup(t);
  const { told, logger } = loggerOf();
  const way = end(await Way.to(server));
  const locks = end(await Locks.connect(way.url, { logger, timeout: 1000 }));
  const held = await locks.acquire('till', { lease: 600_000 });
  const refused = await rejection(locks.acquire('till', { wait: 0 }));
  assert.ok(refused instanceof NotAcquiredError);
  assert.equal(refused.owner, held.owner);
  assert.match(refused.message, /"till": locks:\w+:1 of this client, with a lease that ends in \d+ ms/);
  const others = await rejection((await server.locks()).acquire('till', { wait: 0 }));
  assert.equal(others.owner, undefined);
  assert.equal(others.message, 'another owner holds "till"');
  const late = await rejection(locks.acquire('till', { signal: AbortSignal.timeout(10) }));
  assert.ok(late instanceof DeadlineError && late.message.includes('"till"'));
  const cancelled = await rejection(locks.acquire('till', { signal: AbortSignal.abort() }));
  assert.ok(cancelled instanceof CancelledError && cancelled.message.includes('"till"'));
  await server.call('LOCK.FORCE', 'till');
  const lost = await endOf(held);
  assert.ok(lost instanceof LockLostError);
  assert.deepEqual([lost.owner, lost.lease], [held.owner, 600_000]);
  assert.ok(lost.message.includes(held.owner) && lost.message.includes('lease of 600000 ms'));
  assert.ok(told.some((it) => it.startsWith('warn') && it.includes(lost.message)), told.join('\n'));
  const again = await locks.acquire('till');
  await again.release();
  const released = await rejection(again.release());
  assert.ok(released instanceof LockReleasedError && released.message.includes('"till"'));
  way.cut();
  await eventually(() => told.some((it) => it.startsWith('warn') && /no connection to 127\.0\.0\.1:\d+/.test(it)), 'a disconnection');
  const silent = await rejection(locks.acquire('till', { wait: 50 }));
  assert.ok(silent instanceof NoAnswerError && silent.message.includes('"till"'), silent.message);
  const outages = told.map((it) => /no connection to (\S+)/.exec(it)?.[1]).filter(Boolean);
  assert.equal(new Set(outages).size, outages.length, 'each outage is told once');
  const faulty = end(new Locks(server.url, { logger: { warn() { throw new Error('of a logger'); } } }));
  const forced = await faulty.acquire('k');
  await server.call('LOCK.FORCE', 'k');
  assert.equal((await endOf(forced)).reason, 'forced', 'a logger that fails changes nothing');
});

test('channels of node:diagnostics_channel are told of losses, disconnections and forgotten locks', async (t) => {
  const server = await lockserver(t);
  const end = cleanup(t);
  const heard = [];
  for (const name of ['lost', 'disconnected', 'connected', 'forgotten']) {
    const hear = (message) => heard.push({ name, ...message });
    subscribe(`lockserver:${name}`, hear);
    end(name, () => unsubscribe(`lockserver:${name}`, hear));
  }
  const way = end(await Way.to(server));
  const locks = end(await Locks.connect(way.url, { logger: false, name: 'heard' }));
  const of = (name) => heard.filter((it) => it.name === name && it.client === locks.name);
  const held = await locks.acquire('till', { lease: 600_000 });
  await server.call('LOCK.FORCE', 'till');
  const lost = await endOf(held);
  assert.equal(of('lost').length, 1);
  assert.equal(of('lost')[0].error, lost);
  assert.ok(of('lost')[0].held >= 0);
  assert.equal(of('connected').length, 1);
  assert.equal(of('connected')[0].address, `127.0.0.1:${way.port}`);
  way.breakAll();
  await eventually(() => of('connected').length === 2, 'it is connected again');
  assert.equal(of('disconnected').length, 1);
  assert.ok(of('disconnected')[0].error instanceof Error);
  assert.equal(of('disconnected')[0].address, `127.0.0.1:${way.port}`);
  await (async () => { await locks.acquire('k'); })();
  await eventually(() => {
    collect();
    return of('forgotten').length === 1;
  }, 'the forgotten one is found');
  const { keys, place, lease } = of('forgotten')[0];
  assert.deepEqual([keys, lease], [['k'], 0]);
  assert.match(place, /seen\.test\.mjs:\d+/);
});

test('warnings go to stderr without a logger, and nowhere with logger: false', async (t) => {
  const server = await lockserver(t);
  const warned = t.mock.method(console, 'warn', () => {});
  for (const options of [{}, { logger: false }]) {
    const lock = await (await server.locks(options)).acquire('k');
    await server.call('LOCK.FORCE', 'k');
    await endOf(lock);
  }
  assert.equal(warned.mock.callCount(), 1);
  assert.match(warned.mock.calls[0].arguments[0], /the lock "k" is lost: forced/);
});

test('on a plain Redis every first call says that it is no lockserver', async (t) => {
  const end = cleanup(t);
  const redis = spawn(process.env.ORACLE || 'redis-server', ['--port', '0', '--unixsocket', `/tmp/lockserver-node-${process.pid}.sock`, '--save', ''], { stdio: ['ignore', 'pipe', 'inherit'] });
  end(redis, async () => {
    const over = once(redis, 'exit');
    redis.kill('SIGKILL');
    await over;
  });
  let log = '';
  redis.stdout.on('data', (text) => { log += text; });
  await eventually(() => /eady to accept connections/.test(log), 'Redis is ready');
  const target = { kind: 'server', endpoints: [{ path: `/tmp/lockserver-node-${process.pid}.sock` }] };
  const calls = {
    connect: () => Locks.connect(target, { logger: false }),
    acquire: (locks) => locks.acquire('k'),
    tryAcquire: (locks) => locks.tryAcquire('k'),
    acquireAll: (locks) => locks.acquireAll(['a', 'b']),
    using: (locks) => locks.using('k', () => {}),
    locked: (locks) => locks.locked('k'),
    info: (locks) => locks.info('k'),
    forceUnlock: (locks) => locks.forceUnlock('k'),
    permits: (locks) => locks.semaphore('s', 1).acquire(),
    resize: (locks) => locks.semaphore('s', 1).resize(2),
    'set a latch': (locks) => locks.latch('batch').set(1),
    'count down': (locks) => locks.latch('batch').down(),
    'wait for a latch': (locks) => locks.latch('batch').wait(),
    'wait for a latch, at most': (locks) => locks.latch('batch').wait({ wait: 60_000 }),
    'info of permits': (locks) => locks.semaphore('s', 1).info(),
    'using permits': (locks) => locks.semaphore('s', 1).using(() => {}),
    count: (locks) => locks.latch('batch').count(),
    takeLimits: (locks) => locks.takeLimits([locks.limiter('l', { count: 1, period: 1 })]),
    'takeLimits, waiting': (locks) => locks.takeLimits([locks.limiter('l', { count: 1, period: 1 })], { wait: 60_000 }),
    give: (locks) => locks.limiter('l', { count: 1, period: 1 }).give(),
    'cancel an entry': (locks) => locks.delayed('d').cancel('i'),
    move: (locks) => locks.delayed('d').move('i', { delay: 1 }),
    get: (locks) => locks.delayed('d').get('i'),
    'count entries': (locks) => locks.delayed('d').count(),
    confirm: (locks) => locks.sale('shoe').confirm('ann', 'o'),
    replace: (locks) => locks.sale('shoe').create({ stock: 1, replace: true }),
    worker: (locks) => locks.worker('w', 'g', () => {}).run(),
    ready: (locks) => locks.ready(),
    take: (locks) => locks.limiter('l', { count: 1, period: 1 }).take(),
    'take, waiting': (locks) => locks.limiter('l', { count: 1, period: 1 }).take({ wait: 60_000 }),
    add: (locks) => locks.delayed('d').add({ a: 1 }, { delay: 1 }),
    list: (locks) => locks.delayed('d').list(),
    create: (locks) => locks.sale('shoe').create({ stock: 1 }),
    'info of a sale': (locks) => locks.sale('shoe').info(),
    buy: (locks) => locks.sale('shoe').buy('ann', 'o'),
    cancel: (locks) => locks.sale('shoe').cancel('ann', 'o'),
    extend: (locks) => locks.sale('shoe').extend('ann', 'o', 1000),
    cart: (locks) => locks.cart('ann', 'o', [{ voucher: 'shoe', pieces: 1 }]),
    ask: (locks) => locks.ask('k'),
    campaign: (locks) => locks.campaign('k', () => {}),
  };
  const tried = new Set(['Locks.connect']);
  const pipes = () => process.getActiveResourcesInfo().filter((it) => it === 'PipeWrap').length;
  const before = pipes();
  for (const [name, call] of Object.entries(calls)) {
    const locks = watched(end(new Locks(target, { logger: false })), (failed) => tried.add(failed));
    const error = await rejection(Promise.resolve(call(locks)));
    assert.ok(error instanceof NotLockserverError, `${name}: ${error}`);
    await locks.close();
  }
  await eventually(() => pipes() <= before, 'each connection over the unix socket is closed');
  const asks = namesOf(published(), (it) => it.asks).filter((it) => !/^(Lock\.|Entry\.|fence$)|^Locks\.close$|^Worker\.stop$/.test(it));
  assert.deepEqual([...tried].sort(), asks, 'all calls but those of a lock or an entry, which a plain Redis does not give');
});

test('with the keyPrefix of ioredis, redlock and lockserver/redlock keep each other out', async (t) => {
  const end = cleanup(t); // before the server ends: ioredis tells of no end while it tries to connect
  const server = await lockserver(t);
  const { Redis } = await import('ioredis');
  const redis = () => {
    const client = new Redis({ port: server.port, host: server.host, keyPrefix: 'app:' });
    return end(client, () => client.disconnect());
  };
  const settings = { retryCount: 0 };
  const [original, ours] = [new Original([redis()], settings), new Redlock([redis()], settings)];
  const first = await original.acquire(['k'], 60_000);
  assert.deepEqual(await server.call('KEYS', '*'), ['app:k']);
  await assert.rejects(ours.acquire(['k'], 60_000), { name: 'ExecutionError' });
  await first.release();
  const second = await ours.acquire(['k'], 60_000);
  assert.deepEqual(await server.call('KEYS', '*'), ['app:k']);
  await assert.rejects(original.acquire(['k'], 60_000), { name: 'ExecutionError' });
  await (await second.extend(90_000)).release();
  assert.deepEqual(await server.call('KEYS', '*'), []);
});

test('scenario: callers_token', async (t) => {
  const end = cleanup(t); // before the server ends: ioredis tells of no end while it tries to connect
  const server = await lockserver(t);
  const { Redis } = await import('ioredis');
  const redis = new Redis({ port: server.port, host: server.host });
  end(redis, () => redis.disconnect());
  // Two other processes want the lock; one has it, and says its value, the token of redlock.
  const program = `
    import { createRequire } from 'node:module';
    const { Redis } = createRequire(${JSON.stringify(import.meta.url)})('ioredis');
    const { Redlock } = await import(${JSON.stringify(import.meta.resolve('lockserver/redlock'))});
    const redlock = new Redlock([new Redis(${server.port}, ${JSON.stringify(server.host)})], { retryCount: 0 });
    const lock = await redlock.acquire(['k', 'l'], 600_000).catch((error) => error);
    console.log(lock.value ?? lock.name);
    process.stdin.resume().on('end', () => process.exit());`;
  const say = () => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: ['pipe', 'pipe', 'inherit'] });
    end(child, () => child.stdin.end());
    return once(child.stdout.setEncoding('utf8'), 'data').then(([text]) => text.trim());
  };
  const said = await Promise.all([say(), say()]);
  const [value] = said.filter((it) => it.startsWith('redlock:'));
  assert.deepEqual(said.filter((it) => it !== value), ['ExecutionError'], 'one holder');
  const redlock = new Redlock([redis], { retryCount: 0 });
  const of = (token) => new Lock(redlock, ['k', 'l'], token, [], Date.now() + 600_000);
  await assert.rejects(of(`${value}0`).release(), { name: 'ExecutionError' });
  await assert.rejects(of(`${value}0`).extend(1000), { name: 'ExecutionError' });
  assert.equal(await server.call('EXISTS', 'k', 'l'), 2);
  const extended = await of(value).extend(900_000);
  assert.ok(await server.call('PTTL', 'l') > 600_000);
  await extended.release();
  assert.equal(await server.call('EXISTS', 'k', 'l'), 0, 'the token is enough');
  await assert.rejects(of(value).release(), { name: 'ExecutionError' });
});
