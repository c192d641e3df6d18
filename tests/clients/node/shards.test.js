// ioredis and node-redis over three shards in one process: sell, lock, wait, attach, list, publish.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Cluster, Redis } from 'ioredis';
import { createCluster } from 'redis';

import { PATIENCE, Server, eventually } from './server.js';

const DOORS = Array.from({ length: 60 }, (_, i) => `door-${i}`);

let server;

before(async () => {
  server = await Server.start('--shards', '3');
});
after(() => server.close());

// Each library says in its own way which key decides: call(key, ...words), and all(...words) asks each shard.
const libraries = {
  async ioredis() {
    const client = new Cluster([{ host: server.host, port: server.port }]);
    await client.set('ready', '1');
    return {
      call: (key, ...words) => {
        const [name, ...rest] = words.map(String);
        return client.call(name, ...rest);
      },
      all: (...words) => Promise.all(client.nodes('master').map((node) => node.call(...words))),
      subscribe: async (channel, heard) => {
        client.on('message', (_, message) => heard(message));
        await client.subscribe(channel);
      },
      end: () => client.disconnect(),
    };
  },
  async 'node-redis'() {
    const client = createCluster({ rootNodes: [{ url: `redis://${server.host}:${server.port}` }] });
    client.on('error', () => {});
    await client.connect();
    return {
      call: (key, ...words) => client.sendCommand(key, false, words.map(String)),
      all: (...words) => Promise.all(client.masters.map(async (node) => (await client.nodeClient(node)).sendCommand(words))),
      subscribe: (channel, heard) => client.subscribe(channel, heard),
      end: () => client.destroy(),
    };
  },
};

// keyOf is the key of a row of LOCK.LIST: a map, or names and values.
const keyOf = (row) => (Array.isArray(row) ? row[row.indexOf('key') + 1] : row.key);

for (const [name, connect] of Object.entries(libraries)) {
  test(`${name} over shards`, { timeout: 2 * PATIENCE }, async (t) => {
    const client = await connect();
    t.after(() => client.end());
    await client.all('FLUSHALL');

    await t.test('keys are spread', async () => {
      await Promise.all(DOORS.map((door) => client.call(door, 'SET', door, `value of ${door}`)));
      assert.deepEqual(await Promise.all(DOORS.map((door) => client.call(door, 'GET', door))), DOORS.map((door) => `value of ${door}`));
      const sizes = await client.all('DBSIZE');
      assert.equal(sizes.length, 3);
      assert.ok(sizes.every((size) => size > 0), sizes.join());
      assert.equal(await client.call('a', 'EVAL', "return redis.call('SET', KEYS[1], 'x')", 1, 'a'), 'OK');
      await assert.rejects(client.call('a', 'RENAME', 'a', 'b'), /CROSSSLOT/); // node-redis splits MGET
      await client.all('FLUSHALL');
    });

    await t.test('locks', async () => {
      const lock = (door, owner, ...more) => client.call(door, 'LOCK', door, owner, 'PX', 600_000, ...more).then(Number);
      const tokens = await Promise.all(DOORS.map((door) => lock(door, 'ann')));
      assert.ok(tokens.every((token) => token > 0));
      assert.equal(await client.call(DOORS[0], 'LOCK', DOORS[0], 'ben'), null);
      const listed = (await client.all('LOCK.LIST')).flat().map(keyOf);
      assert.deepEqual(listed.sort(), [...DOORS].sort());
      // A waiter keeps the connection of its shard busy, so another client waits.
      const other = await connect();
      try {
        const later = DOORS.slice(0, 12).map((door) => other.call(door, 'LOCK', door, 'ben', 'PX', 600_000, 'WAIT', PATIENCE));
        // One connection waits for one lock at a time: the others are behind it.
        await eventually(async () => (await client.all('LOCK.WAITERS')).flat().length > 0, 'somebody waits');
        for (const [i, door] of DOORS.slice(0, 12).entries()) {
          assert.equal(Number(await client.call(door, 'UNLOCK', door, 'ann', 'TOKEN', tokens[i])), 1);
        }
        (await Promise.all(later)).forEach((token, i) => assert.ok(Number(token) > tokens[i]));
      } finally {
        other.end();
      }
      await assert.rejects(client.call('a', 'MLOCK', 2, 'a', 'b', 'ann', 'PX', 1000), /CROSSSLOT/);
    });

    await t.test('sales', async () => {
      for (const door of DOORS.slice(0, 12)) {
        const voucher = `{${door}}`;
        assert.equal(await client.call(voucher, 'SECKILL.CREATE', voucher, 'STOCK', 3, 'STREAM', `orders:${voucher}`), 'OK');
        const replies = await Promise.all([1, 2, 3, 4, 5].map((i) => client.call(voucher, 'SECKILL', voucher, `user-${i}`, `order-${i}`)));
        assert.deepEqual(replies.map(Number).sort(), [0, 0, 0, 1, 1]);
        assert.equal(Number(await client.call(voucher, 'XLEN', `orders:${voucher}`)), 3);
        assert.ok(Number(await client.call(voucher, 'NEXTID', voucher)) > 0);
      }
      await assert.rejects(client.call('shoe', 'SECKILL', 'shoe', 'ann', '1'), /put a hash tag into the name, as \{shoe\}/);
    });

    await t.test('messages reach all shards', async () => {
      const heard = [];
      await client.subscribe(`news of ${name}`, (message) => heard.push(message));
      await client.all('PUBLISH', `news of ${name}`, 'now');
      await eventually(() => heard.length === 3, 'each shard passes its message on');
    });
  });
}

test('an attached connection of each shard keeps its locks', async (t) => {
  const cluster = new Cluster([{ host: server.host, port: server.port }]);
  t.after(() => cluster.disconnect());
  await cluster.set('ready', '1');
  for (const node of cluster.nodes('master')) {
    const attached = new Redis({ host: node.options.host, port: node.options.port });
    t.after(() => attached.disconnect());
    assert.equal(Number(await attached.call('LOCK.ATTACH', 'keeper')), 0);
    let held = 0;
    for (const door of DOORS) {
      const token = await attached.call('LOCK', `kept:${door}`, 'keeper').catch((error) => error);
      if (token instanceof Error) assert.match(token.message, /^MOVED /);
      else held++;
    }
    assert.ok(held > 0);
    const attachedAgain = new Redis({ host: node.options.host, port: node.options.port });
    t.after(() => attachedAgain.disconnect());
    assert.equal(Number(await attachedAgain.call('LOCK.ATTACH', 'keeper')), held);
  }
});
