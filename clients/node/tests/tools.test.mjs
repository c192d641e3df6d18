// Semaphores, latches, rates, delayed entries, sales, campaigns, metrics.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  CancelledError, ClosedError, DeadlineError, DUE_FIELD, LockLostError, LockReleasedError, NoAnswerError, NotAcquiredError, ReplyError,
} from 'lockserver';
import { otelObserver } from 'lockserver/opentelemetry';
import { promObserver } from 'lockserver/prom-client';

import { endOf, eventually, lockserver, PATIENCE, rejection, sleep } from './harness.mjs';

const waiting = (server, n) => eventually(async () => (await server.call('LOCK.WAITERS')).length === n, `${n} wait`);

test('scenario: semaphore', async (t) => {
  const server = await lockserver(t);
  const locks = await server.locks();
  const pool = locks.semaphore('pool', 3);
  const [two, one] = [await pool.acquire({ permits: 2 }), await pool.acquire()];
  assert.ok(await rejection(pool.acquire({ wait: 0 })) instanceof NotAcquiredError);
  const waits = pool.acquire({ permits: 2, wait: 60_000 });
  await waiting(server, 1);
  assert.equal(await two.guard('SET', '{pool}n', 1), 'OK');
  await two.release();
  const next = await waits;
  const error = await rejection(locks.semaphore('pool', 5).acquire());
  assert.ok(error instanceof ReplyError && error.word === 'LIMITMISMATCH');
  assert.equal(await pool.resize(4), true);
  assert.equal(await locks.semaphore('pool', 4).using({ wait: 0 }, async () => 'inside'), 'inside');
  await server.call('LOCK.FORCE', 'pool', 'OWNER', one.owner);
  assert.equal((await endOf(one)).reason, 'forced');
  const fixed = await locks.semaphore('pool', 4).acquire({ lease: 60_000 });
  await fixed.renew(90_000);
  await fixed.release();
  await next.release();
  assert.equal(await server.call('EXISTS', 'pool'), 0);
  assert.equal(await pool.resize(4), false);
});

test('many share a semaphore, and never too many', async (t) => {
  const server = await lockserver(t);
  const clients = [await server.locks(), await server.locks()];
  let inside = 0;
  let most = 0;
  await Promise.all(Array.from({ length: 60 }, (_, i) => clients[i % 2].semaphore('pool', 4).using({ wait: 60_000 }, async () => {
    most = Math.max(most, ++inside);
    await sleep(2);
    inside--;
  })));
  assert.ok(most <= 4 && most > 1, `${most} at a time`);
});

test('scenario: latch', async (t) => {
  const server = await lockserver(t);
  const locks = await server.locks();
  const latch = locks.latch('batch');
  assert.equal(await latch.wait({ wait: 0 }), true, 'there is none');
  assert.equal(await latch.set(2), true);
  assert.equal(await latch.set(3), false);
  assert.equal(await latch.wait({ wait: 0 }), false);
  assert.equal(await latch.wait({ wait: 2000 }), false);
  const before = Number(/connected_clients:(\d+)/.exec(await server.call('INFO', 'clients'))[1]);
  const waits = Promise.all(Array.from({ length: 100 }, () => latch.wait()));
  const short = latch.wait({ wait: 2000 });
  const stop = new AbortController();
  const cancelled = rejection(latch.wait({ signal: stop.signal }));
  const late = rejection(latch.wait({ signal: AbortSignal.timeout(20) }));
  await eventually(async () => /blocked_clients:1\r/.test(await server.call('INFO', 'clients')), 'one connection waits');
  assert.ok(Number(/connected_clients:(\d+)/.exec(await server.call('INFO', 'clients'))[1]) <= before + 2);
  assert.equal(await short, false);
  stop.abort();
  assert.ok(await cancelled instanceof CancelledError);
  assert.ok(await late instanceof DeadlineError);
  assert.equal(await latch.down(), 1);
  assert.equal(await latch.count(), 1);
  assert.equal(await latch.down(), 0);
  assert.ok((await waits).every((it) => it === true));
  await latch.set(1);
  const again = latch.wait();
  await eventually(async () => /blocked_clients:1\r/.test(await server.call('INFO', 'clients')), 'it waits');
  await server.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  await eventually(async () => /blocked_clients:1\r/.test(await server.call('INFO', 'clients')), 'it waits again');
  await server.call('DEL', 'batch');
  assert.equal(await again, true);
  await latch.set(1);
  const closed = rejection(latch.wait());
  await locks.close();
  assert.ok(await closed instanceof ClosedError);
});

test('scenario: limiter', async (t) => {
  const server = await lockserver(t);
  await server.freeze();
  let connected = 0;
  const locks = await server.locks({ observers: [{ connected: (error) => { connected += Number(!error); } }] });
  const limiter = locks.limiter('api', { count: 10, period: 1000, burst: 2 });
  assert.deepEqual(await limiter.take(), { allowed: true, limit: 2, remaining: 1, retryAfter: 0, resetAfter: 100 });
  assert.equal((await limiter.take()).allowed, true);
  const refused = await limiter.take();
  assert.deepEqual([refused.allowed, refused.retryAfter], [false, 100]);
  assert.equal((await limiter.take({ cost: 0 })).allowed, true);
  const waits = limiter.take({ wait: 5000 });
  const stop = new AbortController();
  const cancelled = rejection(limiter.take({ wait: 5000, signal: stop.signal }));
  const waiters = async () => (await server.call('LOCK.WAITERS')).length;
  await eventually(async () => await waiters() === 2, 'two wait');
  assert.match(await server.call('INFO', 'clients'), /blocked_clients:0\r/, 'over the one connection');
  stop.abort();
  assert.ok(await cancelled instanceof CancelledError);
  await eventually(async () => await waiters() === 1, 'one waits');
  await server.advance(100);
  assert.equal((await waits).allowed, true);
  const slow = locks.limiter('slow', { count: 1, period: 3_600_000 });
  assert.equal((await slow.take()).allowed, true);
  const inVain = slow.take({ wait: 60_000 });
  await eventually(async () => (await server.call('LOCK.WAITERS')).length === 1, 'it waits');
  await server.advance(60_000);
  assert.deepEqual(await inVain, { allowed: false, limit: 1, remaining: 0, retryAfter: 3_540_000, resetAfter: 3_540_000 });
  await limiter.take({ cost: 2 });
  const over = limiter.take({ wait: PATIENCE });
  await eventually(async () => await waiters() === 1, 'it waits');
  const before = connected;
  for (const [, id] of (await server.call('CLIENT', 'LIST')).matchAll(/id=(\d+) [^\n]* name=locks:/g)) await server.call('CLIENT', 'KILL', 'ID', id);
  await eventually(() => connected > before, 'it is connected again');
  await (await locks.acquire('behind it')).release();
  assert.equal(await waiters(), 1, 'it keeps its place');
  await server.advance(100);
  assert.equal((await over).allowed, true);
});

test('scenario: several_limiters', async (t) => {
  const server = await lockserver(t);
  await server.freeze();
  const locks = await server.locks();
  const second = locks.limiter('{r}second', { count: 2, period: 1000 });
  const day = locks.limiter('{r}day', { count: 3, period: 180_000 });
  const both = [second, day];
  assert.deepEqual(await locks.takeLimits(both, { cost: 2 }), { allowed: true, refusedBy: 0, remaining: 0, retryAfter: 0, resetAfter: 120_000 });
  await server.advance(1000);
  assert.deepEqual(await locks.takeLimits(both, { cost: 2 }), { allowed: false, refusedBy: 2, remaining: 1, retryAfter: 59_000, resetAfter: 119_000 });
  assert.equal((await second.take({ cost: 0 })).remaining, 2, 'the first one has given nothing');
  assert.deepEqual(await day.give(), { allowed: true, limit: 3, remaining: 2, retryAfter: 0, resetAfter: 59_000 });
  assert.equal((await day.give(3)).remaining, 3, 'never more than full');
  await day.take({ cost: 3 });
  const waits = locks.takeLimits(both, { wait: PATIENCE });
  const stop = new AbortController();
  const cancelled = rejection(locks.takeLimits(both, { wait: PATIENCE, signal: stop.signal }));
  const waiters = async () => (await server.call('LOCK.WAITERS')).length;
  await eventually(async () => await waiters() === 2, 'two wait');
  stop.abort();
  assert.ok(await cancelled instanceof CancelledError);
  await eventually(async () => await waiters() === 1, 'one waits');
  assert.equal((await second.take({ cost: 0 })).remaining, 2, 'it has taken nothing');
  await day.give();
  assert.equal((await waits).allowed, true);
  assert.equal((await second.take({ cost: 0 })).remaining, 1);
  const inVain = locks.takeLimits(both, { wait: 60_000 });
  await eventually(async () => await waiters() === 1, 'it waits');
  await server.advance(50_000);
  await server.call('DEL', '{r}day');
  assert.equal((await inVain).allowed, true, 'a limiter that is deleted is full');
  await day.take({ cost: 2 });
  const before = (await day.take({ cost: 0 })).remaining;
  await server.fault('DROPAFTER MATCH LIMIT.GIVE TIMES 1', async () => assert.ok(await rejection(day.give()) instanceof NoAnswerError));
  assert.equal((await day.take({ cost: 0 })).remaining, before + 1, 'it is sent once');
  await server.fault('DROPAFTER MATCH LIMIT.MTAKE TIMES 1', async () => assert.ok(await rejection(locks.takeLimits(both)) instanceof NoAnswerError));
  assert.equal((await day.take({ cost: 0 })).remaining, before);
});

test('scenario: delay', async (t) => {
  const server = await lockserver(t);
  const now = await server.freeze();
  const locks = await server.locks();
  const reminders = locks.delayed('reminders');
  assert.equal(await reminders.add({ order: 7 }, { delay: 30_000 }, 'order-7'), 'order-7');
  assert.equal(await reminders.add({ order: 7 }, { delay: 30_000 }, 'order-7'), undefined);
  const made = await reminders.add({ order: 8 }, { at: new Date(now + 60_000) });
  assert.deepEqual(await reminders.get('order-7'), { id: 'order-7', at: now + 30_000, fields: { order: '7' } });
  assert.deepEqual((await reminders.list()).map((it) => it.id), ['order-7', made]);
  assert.deepEqual((await reminders.list({ from: now + 40_000, count: 5 })).map((it) => it.fields), [{ order: '8' }]);
  assert.equal(await reminders.move('order-7', { delay: 90_000 }), true);
  await server.advance(60_000);
  assert.equal(await reminders.count(), 1);
  assert.equal(await server.call('XLEN', 'reminders'), 1);
  assert.equal(await reminders.cancel('order-7'), true);
  assert.equal(await reminders.cancel('order-7'), false);
  assert.equal(await reminders.get('order-7'), undefined);
});

test('recurring entries', async (t) => {
  const server = await lockserver(t);
  const now = await server.freeze();
  const reports = (await server.locks()).delayed('reports');
  const rule = { every: 60_000, times: 3, until: new Date(now + 7_200_000), missed: 'all' };
  const add = () => reports.add({ kind: 'beat' }, { at: now + 3_600_000, ...rule }, 'beat');
  assert.equal(await server.fault('DROPAFTER MATCH DELAY.ADD TIMES 1', add), 'beat');
  assert.equal(await reports.add({ kind: 'beat' }, { delay: 0, ...rule }, 'beat'), undefined);
  const beat = { id: 'beat', at: now + 3_600_000, fields: { kind: 'beat' }, rule: { ...rule, until: now + 7_200_000 } };
  assert.deepEqual(await reports.get('beat'), beat);
  const daily = { cron: '0 9 * * 1-5', zone: 'Europe/Berlin', missed: 'skip' };
  assert.equal(await reports.add({ kind: 'daily' }, daily, 'daily'), 'daily');
  const list = await reports.list();
  assert.deepEqual(list.find((it) => it.id === 'beat'), beat);
  const { at, rule: its } = list.find((it) => it.id === 'daily');
  assert.deepEqual(its, daily);
  assert.equal(new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', timeZone: 'Europe/Berlin' }).format(at), '09:00');
  assert.equal(await reports.cancel('daily'), true);
  await server.advance(3_660_000);
  assert.deepEqual(await reports.get('beat'), { ...beat, at: now + 3_720_000, rule: { ...beat.rule, times: 1 } });
  await server.advance(60_000);
  assert.equal(await reports.get('beat'), undefined, 'the rule has ended');
  const added = await server.call('XRANGE', 'reports', '-', '+');
  assert.deepEqual(added.map(([, fields]) => fields), [0, 1, 2].map((n) => ['kind', 'beat', DUE_FIELD, String(now + 3_600_000 + n * 60_000)]));
  await reports.add({ kind: 'hourly' }, { every: 3_600_000 }, 'hourly');
  assert.deepEqual((await reports.get('hourly')).rule, { every: 3_600_000, missed: 'once' });
  for (const [wrong, says] of [[{ cron: '61 * * * *' }, /CRON/], [{ cron: '0 9 * * *', zone: 'Berlin' }, /zone/], [{ every: 1, until: 1 }, /never/]]) {
    const error = await rejection(reports.add({ a: 1 }, wrong));
    assert.ok(error instanceof ReplyError && says.test(error.message), String(error));
  }
  assert.equal(await reports.count(), 1);
});

test('of the calls that wait, the one with the highest priority is served first', async (t) => {
  const server = await lockserver(t);
  const locks = await server.locks();
  const [held, permit] = [await locks.acquireAll(['{k}', '{k}other']), await locks.semaphore('permits', 1).acquire()];
  const came = [];
  const calls = [];
  const call = async (name, acquire) => {
    calls.push(acquire().then(async (lock) => {
      came.push(name);
      await lock.release();
    }));
    await waiting(server, calls.length);
  };
  await call('0', () => locks.acquire('{k}'));
  await call('2', () => locks.acquire('{k}', { priority: 2, wait: 600_000 }));
  await call('9', () => locks.acquireAll(['{k}', '{k}other'], { priority: 9 }));
  await call('2 again', () => locks.acquire('{k}', { priority: 2, shared: true }));
  assert.deepEqual((await locks.info('{k}')).waiters.map((it) => it.priority), [9, 2, 2, 0]);
  await held.release();
  await Promise.all(calls);
  assert.deepEqual(came.splice(0), ['9', '2', '2 again', '0']);
  calls.length = 0;
  await call('a permit', () => locks.semaphore('permits', 1).acquire());
  await call('an urgent permit', () => locks.semaphore('permits', 1).acquire({ priority: 1 }));
  await permit.release();
  await Promise.all(calls);
  assert.deepEqual(came, ['an urgent permit', 'a permit']);
  await (await locks.tryAcquire('{k}', { priority: 5 })).release(); // a call that does not wait may have a priority
});

test('scenario: delay_repeated', async (t) => {
  const server = await lockserver(t);
  const mails = (await server.locks()).delayed('mails');
  const ticket = await server.fault('DROPAFTER MATCH DELAY.ADD TIMES 2', () => mails.add({ to: 'ann' }, { at: 1 }));
  assert.equal(typeof ticket, 'string');
  assert.equal(await server.call('XLEN', 'mails'), 1, 'added once, though it was due before the second sending');
  assert.equal(await server.fault('DROPAFTER MATCH DELAY.ADD TIMES 1', () => mails.add({ to: 'ben' }, { delay: 0 }, 'mine')), 'mine');
  assert.equal(await mails.add({ to: 'ben' }, { delay: 600_000 }, 'mine'), 'mine', 'another call: the id is free');
  assert.equal(await mails.add({ to: 'ben' }, { delay: 600_000 }, 'mine'), undefined);
  assert.equal(await server.fault('DROPAFTER MATCH DELAY.MOVE TIMES 1', () => mails.move('mine', { delay: 900_000 })), true);
  assert.equal(await server.fault('DROPAFTER MATCH DELAY.CANCEL TIMES 2', () => mails.cancel('mine')), true);
  assert.equal(await mails.cancel('mine'), false);
  assert.equal(await mails.count(), 0);
  assert.equal(await server.call('XLEN', 'mails'), 2);
});

test('scenario: sale', async (t) => {
  const server = await lockserver(t);
  await server.call('SECKILL.CREATE', '{shoe}', 'STOCK', 4, 'LIMIT', 3, 'HOLD', 60_000, 'STREAM', 'orders:{shoe}');
  const sale = (await server.locks()).sale('{shoe}');
  assert.equal(await server.fault('DROPAFTER MATCH SECKILL TIMES 1', () => sale.buy('ann', 'o1', 3)), 'sold');
  assert.equal(await sale.buy('ann', 'o2'), 'bought already');
  assert.equal(await server.fault('DROPAFTER MATCH SECKILL.CANCEL TIMES 1', () => sale.cancel('ann', 'o1')), true);
  assert.equal(await sale.cancel('ann', 'o1'), true);
  assert.equal(await sale.confirm('ann', 'o1'), false);
  assert.equal(await sale.buy('ann', 'o1', 3), 'taken back');
  assert.equal(await sale.buy('ben', 'o3', 3), 'sold');
  assert.equal(await sale.buy('eve', 'o4', 3), 'sold out');
  assert.equal(await server.fault('DROPAFTER MATCH SECKILL.CONFIRM TIMES 1', () => sale.confirm('ben', 'o3')), true);
  assert.equal(await sale.cancel('ben', 'o3'), false);
  await assert.rejects(sale.confirm('eve', 'o3'), /belongs to another user/);
  await assert.rejects((await server.locks()).sale('{none}').buy('ann', 'o1'), /no such seckill/);
});

test('a hold is extended, a part of an order comes back, a cart is all or nothing', async (t) => {
  const server = await lockserver(t);
  await server.freeze();
  const locks = await server.locks();
  const [shoe, hat] = [locks.sale('{shop}shoe'), locks.sale('{shop}hat')];
  const terms = { stock: 5, limit: 5, hold: 60_000, holdMax: 150_000, stream: 'orders:{shop}' };
  assert.equal(await shoe.create(terms), true);
  assert.equal(await shoe.create(terms), true, 'the same terms');
  assert.equal(await shoe.create({ ...terms, holdMax: 60_001 }), false, 'others');
  assert.equal(await shoe.create({ ...terms, holdMax: undefined }), false, 'others');
  assert.equal((await shoe.info()).fields['hold-max'], 150_000);
  assert.equal(await hat.create({ stock: 2, limit: 5, stream: 'orders:{shop}' }), true);
  assert.equal(await shoe.buy('ann', 'o1', 3), 'sold');
  await server.advance(50_000);
  assert.equal(await server.fault('DROPAFTER MATCH SECKILL.EXTEND TIMES 1', () => shoe.extend('ann', 'o1', 60_000)), true, 'it is sent again');
  await server.advance(50_000); // behind the first end
  assert.equal((await shoe.info()).held, 3, 'the hold goes on');
  await assert.rejects(shoe.extend('ann', 'o1', 60_001), ReplyError, 'holdMax');
  assert.equal(await shoe.extend('ann', 'none', 1000), false);
  assert.equal(await shoe.cancel('ann', 'o1', 1), true);
  assert.deepEqual([(await shoe.info()).held, (await shoe.info()).stock], [2, 3]);
  await server.fault('DROPAFTER MATCH SECKILL.CANCEL TIMES 1', async () => assert.ok(await rejection(shoe.cancel('ann', 'o1', 1)) instanceof NoAnswerError));
  assert.equal((await shoe.info()).held, 1, 'it is sent once');
  await assert.rejects(shoe.cancel('ann', 'o1', 2), ReplyError, 'more than the order has');
  assert.equal(await shoe.cancel('ann', 'o1', 1), true);
  assert.equal(await shoe.cancel('ann', 'o1', 1), false);
  const parts = [{ voucher: '{shop}shoe' }, { voucher: '{shop}hat', pieces: 2 }];
  assert.deepEqual(await server.fault('DROPAFTER MATCH SECKILL.CART TIMES 1', () => locks.cart('ben', 'o2', parts)), { outcome: 'sold', part: undefined });
  assert.deepEqual(await locks.cart('ben', 'o2', parts), { outcome: 'sold', part: undefined }, 'a retry has the first answer');
  assert.deepEqual(await locks.cart('eve', 'o3', parts), { outcome: 'sold out', part: 1 });
  assert.deepEqual([(await shoe.info()).stock, (await hat.info()).stock], [4, 0], 'nothing of the second cart');
  assert.equal(await hat.extend('ben', 'o2', 70_000), true, 'one hold for both');
  await assert.rejects(locks.cart('ann', 'o4', []), RangeError);
  await assert.rejects(locks.cart('ann', 'o4', [{ voucher: '{shop}shoe', pieces: 0 }]), RangeError);
  await assert.rejects(locks.cart('ann', 'o4', [{ vouchers: 'x' }]), TypeError);
});

test('a holder is asked to let go', async (t) => {
  const server = await lockserver(t);
  const [locks, other] = [await server.locks(), await server.locks()];
  assert.equal(await other.ask('k'), 0, 'no holder');
  const lock = await locks.acquire('k');
  const heard = [];
  const off = lock.onAsked((reason) => heard.push(['one', reason]));
  lock.onAsked((reason) => heard.push(['two', reason]));
  assert.equal(await other.ask('k', 'a deploy begins'), 1);
  await eventually(() => heard.length === 2, 'both hear it');
  assert.deepEqual(heard, [['one', 'a deploy begins'], ['two', 'a deploy begins']]);
  assert.equal(lock.ended, undefined, 'the lock stays as it is');
  off();
  assert.equal(await other.ask('k'), 1);
  await eventually(() => heard.length === 3, 'the second one hears it');
  assert.deepEqual(heard[2], ['two', '']);
  const late = await new Promise((resolve) => { lock.onAsked(resolve); });
  assert.equal(late, '', 'one that came before is told');
  const pool = locks.semaphore('pool', 2);
  const permits = [await pool.acquire(), await pool.acquire()];
  const asked = Promise.all(permits.map((it) => new Promise((resolve) => { it.onAsked(resolve); })));
  assert.equal(await other.ask('pool', 'all'), 2);
  assert.deepEqual(await asked, ['all', 'all']);
  // A program that releases what it is asked for.
  const kind = await locks.acquire('kind');
  kind.onAsked(() => { void kind.release(); });
  const next = other.acquire('kind', { wait: PATIENCE });
  await other.ask('kind', 'please');
  await (await next).release();
  assert.throws(() => kind.onAsked(() => {}), LockReleasedError);
  await lock.release();
  assert.equal(heard.length, 3, `${heard}`);
});

test('scenario: leader', async (t) => {
  const server = await lockserver(t);
  const [one, two] = [await server.locks(), await server.locks()];
  let terms = 0;
  const led = [];
  const over = one.campaign('leader', async (lock) => {
    led.push(lock.token);
    if (++terms === 2) return 'enough';
    await endOf(lock);
    throw new Error('that is not passed on');
  });
  await eventually(() => terms === 1, 'it leads');
  const stop = new AbortController();
  const other = rejection(two.campaign('leader', { signal: stop.signal }, () => assert.fail('it never leads')));
  await waiting(server, 1);
  stop.abort(new Error('stopped'));
  assert.ok(await other instanceof CancelledError);
  await waiting(server, 0);
  await server.call('LOCK.FORCE', 'leader');
  assert.equal(await over, 'enough');
  assert.ok(led[1] > led[0]);
  await assert.rejects(one.campaign('leader', () => { throw new Error('of the leader'); }), /of the leader/);
  let leads = false;
  const closing = rejection(one.campaign('leader', async (lock) => {
    leads = true;
    throw await endOf(lock);
  }));
  await eventually(() => leads, 'it leads');
  await one.close();
  const closed = await closing;
  assert.ok(closed instanceof LockLostError && closed.reason === 'closed');
});

test('observers hear what becomes of locks', async (t) => {
  const server = await lockserver(t);
  const prom = await import('prom-client');
  const { MeterProvider, MetricReader } = await import('@opentelemetry/sdk-metrics');
  const register = new prom.default.Registry();
  const metrics = promObserver(prom.default, { register, client: 'billing' });
  class Reader extends MetricReader {
    async onForceFlush() {}
    async onShutdown() {}
  }
  const reader = new Reader();
  const meters = new MeterProvider({ readers: [reader] });
  const otel = otelObserver(meters.getMeter('test'));
  const faulty = { acquired() { throw new Error('of an observer'); } };
  const locks = await server.locks({ observers: [faulty, metrics, otel] });
  metrics.watch(locks);
  otel.watch(locks);
  await locks.using('a', async () => {});
  const lost = await locks.acquire('b');
  await server.call('LOCK.FORCE', 'b');
  await endOf(lost);
  await locks.acquire('c');
  await rejection(locks.acquire('c', { wait: 0 }));
  const { oldest, ...figures } = locks.stats();
  assert.deepEqual(figures, { held: 1, waiting: 0, owed: 0, attached: true });
  assert.ok(oldest > 0);
  const text = await register.metrics();
  for (const line of [
    'lockserver_client_locks_acquired_total{client="billing"} 3',
    'lockserver_client_locks_refused_total{client="billing",reason="not_acquired"} 1',
    'lockserver_client_locks_lost_total{client="billing",reason="forced"} 1',
    'lockserver_client_lock_wait_seconds_count{client="billing"} 4',
    'lockserver_client_lock_hold_seconds_count{client="billing"} 1',
    'lockserver_client_locks_held{client="billing"} 1',
    'lockserver_client_locks_waiting{client="billing"} 0',
    'lockserver_client_attached{client="billing"} 1',
    'lockserver_client_oldest_hold_seconds{client="billing"} ',
  ]) assert.ok(text.includes(line), `${line}\n${text}`);
  const { resourceMetrics } = await reader.collect();
  const found = Object.fromEntries(resourceMetrics.scopeMetrics[0].metrics.map((it) => [it.descriptor.name, it.dataPoints]));
  assert.equal(found['lockserver.client.lock.acquired'][0].value, 3);
  assert.equal(found['lockserver.client.lock.refused'][0].attributes['error.type'], 'not_acquired');
  assert.equal(found['lockserver.client.lock.lost'][0].attributes.reason, 'forced');
  assert.equal(found['lockserver.client.lock.wait.duration'].reduce((n, it) => n + it.value.count, 0), 4);
  assert.equal(found['lockserver.client.lock.held'][0].value, 1);
  assert.equal(found['lockserver.client.attached'][0].value, 1);
  await meters.shutdown();
});
