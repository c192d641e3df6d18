// redlock over one server and over three, one of which goes away.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { Redlock } from '@sesamecare-oss/redlock';
import { Redis } from 'ioredis';

import { Server, eventually } from './server.js';

async function over(n, story) {
  const servers = await Promise.all(Array.from({ length: n }, () => Server.start()));
  const clients = servers.map((s) => new Redis({ port: s.port, maxRetriesPerRequest: 0, retryStrategy: () => 50 }));
  clients.forEach((client) => client.on('error', () => {}));
  try {
    await story(servers, clients);
  } finally {
    clients.forEach((client) => client.disconnect());
    await Promise.all(servers.map((s) => s.close()));
  }
}

for (const n of [1, 3]) {
  test(`redlock over ${n}`, () => over(n, async (servers, clients) => {
    const redlock = new Redlock(clients, { retryCount: 0 });
    const patient = new Redlock(clients, { retryCount: 10_000, retryDelay: 2, retryJitter: 5, automaticExtensionThreshold: 1500 });
    const lock = await redlock.acquire(['a', 'b'], 60_000);
    await assert.rejects(redlock.acquire(['b'], 1000));
    const longer = await lock.extend(120_000);
    assert.ok(longer.expiration > Date.now() + 60_000);
    assert.ok(await clients[0].pttl('a') > 60_000);
    await longer.release();
    assert.equal(await clients[0].exists('a', 'b'), 0);

    let inside = 0;
    await Promise.all(Array.from({ length: 20 }, () => patient.using(['counter'], 30_000, async () => {
      assert.equal(++inside, 1);
      await sleep(1);
      inside--;
    })));

    // A lease of 2 s is extended as long as the work takes, first after half a second.
    let extended = 0;
    await patient.using(['long'], 2000, async (signal, context) => {
      await eventually(() => context.extensions >= 2, 'extensions');
      extended = context.extensions;
      assert.equal(signal.aborted, false);
    });
    assert.ok(extended >= 2);
    await clients[0].flushall();
  }));
}

test('redlock over 3 without one, and without two', () => over(3, async (servers, clients) => {
  const redlock = new Redlock(clients, { retryCount: 5, retryDelay: 20 });
  await redlock.acquire(['a'], 60_000);
  await servers[1].kill();
  const lock = await redlock.acquire(['b'], 60_000);
  await assert.rejects(redlock.acquire(['a'], 1000), 'the others still know it');
  await lock.release();
  await servers[2].kill();
  await assert.rejects(redlock.acquire(['c'], 60_000), 'one of three is no majority');
}));
