// ioredis and node-redis against one server in test mode that looks like a cluster, or like Sentinels: each writes, another
// member becomes the leader, and it writes again.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Cluster, Redis } from 'ioredis';
import { createCluster } from 'redis';

import { Server, eventually } from './server.js';

const clients = {
  'ioredis, cluster': ['cluster', async ({ host, port }) => {
    const client = new Cluster([{ host, port }], { clusterRetryStrategy: () => 20 });
    client.on('error', () => {}); // it connects again
    return { set: (key, value) => client.set(key, value), get: (key) => client.get(key), end: () => client.disconnect() };
  }],
  'ioredis, Sentinels': ['sentinel', async ({ host, port }) => {
    const client = new Redis({ sentinels: [{ host, port }], name: 'mymaster', sentinelRetryStrategy: () => 20, retryStrategy: () => 20 });
    client.on('error', () => {});
    return { set: (key, value) => client.set(key, value), get: (key) => client.get(key), end: () => client.disconnect() };
  }],
  'node-redis, cluster': ['cluster', async ({ host, port }) => {
    const client = createCluster({ rootNodes: [{ url: `redis://${host}:${port}` }] });
    client.on('error', () => {});
    await client.connect();
    return { set: (key, value) => client.set(key, value), get: (key) => client.get(key), end: () => client.destroy() };
  }],
};

for (const [name, [topology, connect]] of Object.entries(clients)) {
  test(`${name} follows the leader`, async (t) => {
    const server = await Server.start('--test-mode', 'yes', '--test-topology', topology);
    t.after(() => server.close());
    const control = new Redis(server.port, server.host);
    t.after(() => control.disconnect());
    const client = await connect(server);
    t.after(() => client.end());
    const leaders = new Set();
    for (const value of ['1', '2', '3', '4']) {
      await eventually(() => client.set('key', value).then(() => true, () => false), 'the leader is found');
      assert.equal(await client.get('key'), value);
      leaders.add(await control.call('TEST.FAILOVER'));
    }
    assert.equal(leaders.size, 3);
  });
}
