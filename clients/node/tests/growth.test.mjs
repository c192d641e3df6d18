// What a client keeps does not grow with what it has done.

import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { Locks, ReplyError } from 'lockserver';
import { lockserver, TestServer } from 'lockserver/node-test';
import { Redlock } from 'lockserver/redlock';

import { endOf, eventually, rejection } from './harness.mjs';

/** The sizes of all maps, sets and arrays that an object reaches, by the way to them. */
function sizes(root) {
  const found = {};
  const seen = new Set();
  const visit = (value, way) => {
    if (typeof value !== 'object' || value === null || seen.has(value) || Buffer.isBuffer(value)) return;
    seen.add(value);
    if (value instanceof Map || value instanceof Set) found[way] = (found[way] ?? 0) + value.size;
    else if (Array.isArray(value)) found[way] = (found[way] ?? 0) + value.length;
    if (/^(Socket|TCP|Timeout|AbortSignal|TLSSocket)$/.test(value.constructor?.name ?? '')) return;
    const inside = value instanceof Map ? [...value.values()] : value instanceof Set || Array.isArray(value) ? [...value] : undefined;
    if (inside) for (const it of inside) visit(it, `${way}[]`);
    else for (const [name, it] of Object.entries(value)) visit(it, `${way}.${name}`);
  };
  visit(root, '');
  return Object.fromEntries(Object.entries(found).filter(([, size]) => size > 0));
}

test('nothing grows with the calls that were made', async (t) => {
  const server = await lockserver(t);
  const [locks, other] = [await server.locks({ logger: false }), await server.locks()];
  const stop = new AbortController();
  const { signal } = stop; // one signal of the program for all calls
  const figures = () => [sizes(locks), getEventListeners(signal, 'abort').length];
  const round = async (n) => {
    const key = `k${n}`;
    await locks.using(key, { signal }, (lock) => lock.guard('EXISTS', 'none'));
    const forced = await locks.acquire(key, { signal });
    await server.call('LOCK.FORCE', key);
    await endOf(forced);
    await endOf(await locks.acquire(key, { signal, lease: 5 }));
    const held = await other.acquire(key);
    await rejection(locks.acquire(key, { wait: 0, signal }));
    await rejection(locks.acquire(key, { wait: 1, signal }));
    await rejection(locks.acquireAll([key, 'x'], { signal: AbortSignal.timeout(1) }));
    await held.release();
    const outer = await locks.acquire(key);
    await (await locks.acquire(key, { within: outer })).release();
    await outer.release();
    await locks.semaphore(`s${n}`, 1).using({ signal }, () => {});
    await locks.latch(`l${n}`).wait({ wait: 1000, signal });
    await locks.limiter(`r${n}`, { count: 1, period: 1000 }).take({ signal });
    await locks.limiter(`r${n}`, { count: 1, period: 1000 }).take({ wait: 1, signal }).catch(() => {});
    await locks.campaign(`c${n}`, { signal }, () => {});
  };
  const settled = () => eventually(() => locks.stats().owed === 0 && locks.stats().waiting === 0, 'all is answered');
  await round(0);
  await settled();
  const before = figures();
  for (let n = 1; n <= 20; n++) await round(n);
  await settled();
  assert.deepEqual(figures(), before);
});

test('addresses of members that are gone are forgotten', async (t) => {
  const server = await TestServer.start({ args: ['--test-topology', 'cluster'] });
  t.after(() => server.close());
  const locks = new Locks({ kind: 'cluster', endpoints: [{ host: server.host, port: server.port }] }, { logger: false });
  await locks.ready();
  const [route] = locks.shards.routes;
  for (let port = 1; port <= 50; port++) await locks.shards.moved(new ReplyError(`MOVED 1 127.0.0.1:${port}`));
  for (const [, id] of (await server.call('CLIENT', 'LIST')).matchAll(/id=(\d+) [^\n]* name=locks:/g)) await server.call('CLIENT', 'KILL', 'ID', id);
  await eventually(() => route.known.size < 10, 'they are forgotten');
  await (await locks.acquire('k')).release();
  await locks.close();
});

test('redlock keeps nothing of locks that have ended', async (t) => {
  let redis;
  t.after(() => redis.quit()); // before the server ends
  const server = await lockserver(t);
  const { Redis } = await import('ioredis');
  redis = new Redis({ port: server.port, host: server.host });
  const redlock = new Redlock([redis], { retryCount: 0 });
  const round = async (n) => {
    await (await redlock.acquire([`k${n}`], 60_000)).release();
    const expires = await redlock.acquire([`k${n}`], 5).catch(() => undefined); // it may have ended already
    await eventually(async () => await server.call('EXISTS', `k${n}`) === 0, 'it expires');
    if (expires) await rejection(expires.release());
    await redlock.using([`k${n}`], 60_000, async () => {});
  };
  await round(0);
  const before = sizes(redlock.members);
  for (let n = 1; n <= 20; n++) await round(n);
  assert.deepEqual(sizes(redlock.members), before);
});
