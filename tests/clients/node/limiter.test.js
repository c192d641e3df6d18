// rate-limiter-flexible over ioredis and node-redis: its scripts and transactions count here as on Redis.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { Redis } from 'ioredis';
import { BurstyRateLimiter, RateLimiterQueue, RateLimiterRedis } from 'rate-limiter-flexible';
import { createClient } from 'redis';

import { Server, eventually } from './server.js';

let server;
before(async () => { server = await Server.start(); });
after(() => server.close());

const libraries = {
  ioredis: async () => {
    const client = new Redis({ port: server.port });
    return { client, options: {}, end: () => client.disconnect() };
  },
  'node-redis': async () => {
    const client = createClient({ socket: { port: server.port } });
    await client.connect();
    return { client, options: { useRedisPackage: true }, end: () => client.destroy() };
  },
};

for (const [name, connect] of Object.entries(libraries)) {
  describe(`rate-limiter-flexible, ${name}`, () => {
    let over;
    before(async () => { over = await connect(); });
    after(() => over.end());
    const limiter = (options) => new RateLimiterRedis({ storeClient: over.client, ...over.options, keyPrefix: name, ...options });

    test('points of a window', async () => {
      const l = limiter({ points: 3, duration: 3600 });
      for (const left of [2, 1, 0]) {
        const r = await l.consume('ann');
        assert.equal(r.remainingPoints, left);
        assert.equal(r.isFirstInDuration, left === 2);
        assert.ok(r.msBeforeNext > 3_500_000 && r.msBeforeNext <= 3_600_000);
      }
      await assert.rejects(l.consume('ann'), (r) => r.remainingPoints === 0 && r.consumedPoints === 4);
      assert.equal((await l.consume('ben', 2)).remainingPoints, 1, 'a key of its own');
      assert.equal((await l.get('ann')).consumedPoints, 4);
      assert.equal((await l.reward('ben', 2)).consumedPoints, 0);
      assert.equal((await l.penalty('ben', 3)).consumedPoints, 3);
      assert.equal(await l.delete('ann'), true);
      assert.equal(await l.get('ann'), null);
    });

    test('the window ends', async () => {
      const l = limiter({ points: 1, duration: 1, keyPrefix: `${name}-short` });
      await l.consume('ann');
      await eventually(async () => (await l.get('ann')) === null, 'the end of the window');
      assert.equal((await l.consume('ann')).remainingPoints, 0);
    });

    test('a key that is blocked', async () => {
      const l = limiter({ points: 1, duration: 60, blockDuration: 3600, keyPrefix: `${name}-block` });
      await l.consume('ann');
      await assert.rejects(l.consume('ann'), (r) => r.msBeforeNext > 3_500_000);
      await l.block('ben', 100);
      await assert.rejects(l.consume('ben'), (r) => r.msBeforeNext > 90_000 && r.msBeforeNext <= 100_000);
    });

    test('many at once are not more than allowed', async () => {
      const l = limiter({ points: 25, duration: 3600, keyPrefix: `${name}-many` });
      const results = await Promise.allSettled(Array.from({ length: 100 }, () => l.consume('ann')));
      assert.equal(results.filter((r) => r.status === 'fulfilled').length, 25);
      assert.equal((await l.get('ann')).consumedPoints, 100);
    });

    test('bursts and a queue', async () => {
      const bursty = new BurstyRateLimiter(limiter({ points: 1, duration: 3600, keyPrefix: `${name}-even` }),
        limiter({ points: 2, duration: 3600, keyPrefix: `${name}-burst` }));
      for (let i = 0; i < 3; i++) await bursty.consume('ann');
      await assert.rejects(bursty.consume('ann'));
      const queue = new RateLimiterQueue(limiter({ points: 2, duration: 1, keyPrefix: `${name}-queue` }));
      assert.deepEqual((await Promise.all([1, 2, 3, 4].map(() => queue.removeTokens(1)))).length, 4);
    });
  });
}
