// Beside the application's own client, of each library, in each of its forms: where the server is, TLS, users.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { Queue, QueueEvents, Worker } from 'bullmq';
import { Cluster, Redis } from 'ioredis';
import ioredis4 from 'ioredis4';
import ioredis5 from 'ioredis5';
import { Locks, ReplyError, targetOf } from 'lockserver';
import { lockserver, TestServer } from 'lockserver/node-test';
import { createClient, createClientPool, createCluster, createSentinel } from 'redis';
import { createClient as createClient4 } from 'redis4';
import { Redlock } from 'lockserver/redlock';

import { cleanup, eventually, Operator, rejection, Server, Way } from './harness.mjs';

const quiet = (client) => client.on('error', () => {});

/** Uses a lock beside the library's own client. */
async function use(locks, end) {
  end(locks);
  const lock = await locks.acquire('k', { wait: 30_000 });
  assert.equal(await lock.guard('SET', 'n', lock.token), 'OK');
  await lock.release();
  return lock;
}

describe('where the server is', () => {
  const clients = {
    'ioredis 6': (s, end) => end(quiet(new Redis(s.port, s.host, { db: 3 }))),
    'ioredis 5': (s, end) => end(quiet(new ioredis5.Redis({ port: s.port, host: s.host, db: 3, lazyConnect: true }))),
    'ioredis 4': (s, end) => end(quiet(new ioredis4(`redis://${s.host}:${s.port}/3`, { lazyConnect: true }))),
    'node-redis 6': (s) => quiet(createClient({ socket: { host: s.host, port: s.port }, database: 3 })),
    'node-redis 6 by url': (s) => quiet(createClient({ url: `redis://${s.host}:${s.port}/3` })),
    'node-redis 4': (s) => quiet(createClient4({ url: `redis://${s.host}:${s.port}/3` })),
    'a URL': (s) => `redis://${s.host}:${s.port}/3`,
  };
  for (const [name, make] of Object.entries(clients)) {
    test(name, async (t) => {
      const server = await lockserver(t);
      const opened = [];
      t.after(() => opened.forEach((it) => it.disconnect()));
      const client = make(server, (it) => {
        opened.push(it);
        return it;
      });
      const locks = await Locks.connect(client);
      const lock = await locks.acquire('k');
      assert.match(await server.call('INFO', 'keyspace'), /^db3:keys=1/m);
      await lock.release();
      await locks.close();
    });
  }

  test('a unix socket', () => {
    assert.deepEqual(targetOf(new Redis('/tmp/a.sock', { lazyConnect: true })).endpoints, [{ path: '/tmp/a.sock' }]);
    assert.deepEqual(targetOf(createClient({ socket: { path: '/tmp/a.sock', tls: false } })).endpoints, [{ path: '/tmp/a.sock' }]);
  });

  test('a translation of addresses', () => {
    const map = { '10.0.0.1:6379': { host: '127.0.0.1', port: 7001 } };
    const by = { sentinels: [{ host: 'a', port: 1 }], name: 'mymaster', natMap: map, lazyConnect: true };
    assert.deepEqual(targetOf(new Redis(by)).translate('10.0.0.1:6379'), { host: '127.0.0.1', port: 7001 });
    const cluster = targetOf(createCluster({ rootNodes: [{ url: 'redis://a:1' }], nodeAddressMap: (it) => map[it] }));
    assert.deepEqual(cluster.translate('10.0.0.1:6379'), { host: '127.0.0.1', port: 7001 });
    assert.deepEqual(cluster.endpoints, [{ host: 'a', port: 1 }]);
  });

  test('credentials of a provider', async (t) => {
    const server = await lockserver(t);
    await server.call('CONFIG', 'SET', 'requirepass', 'secret');
    const credentials = async () => ({ username: 'default', password: 'secret' });
    const client = createClient({ socket: { host: server.host, port: server.port }, credentialsProvider: { type: 'async-credentials-provider', credentials } });
    await use(await Locks.connect(client), (it) => t.after(() => it.close()));
  });
});

describe('another member becomes the leader', () => {
  const clients = {
    'ioredis, cluster': ['cluster', ({ host, port }) => quiet(new Cluster([{ host, port }], { lazyConnect: true }))],
    'node-redis, cluster': ['cluster', ({ host, port }) => createCluster({ rootNodes: [{ url: `redis://${host}:${port}` }] })],
    'ioredis, Sentinels': ['sentinel', ({ host, port }) => quiet(new Redis({ sentinels: [{ host, port }], name: 'mymaster', lazyConnect: true }))],
    'node-redis, Sentinels': ['sentinel', ({ host, port }) => ({ name: 'mymaster', sentinelRootNodes: [{ host, port }] })],
  };
  for (const [name, [topology, make]] of Object.entries(clients)) {
    test(name, { timeout: 60_000 }, async (t) => {
      const server = await TestServer.start({ args: ['--test-topology', topology] });
      t.after(() => server.close());
      const locks = await Locks.connect(make(server), { timeout: 30_000 });
      t.after(() => locks.close());
      const held = await locks.acquire('held');
      const waits = locks.acquire('held');
      const leaders = new Set();
      for (let i = 0; i < 4; i++) {
        const leader = await server.call('TEST.FAILOVER');
        leaders.add(leader);
        const operator = await Operator.to(Number(leader.split(':')[1]));
        t.after(() => operator.close());
        await locks.using('door', { wait: 30_000 }, async (lock) => assert.ok(lock.token > 0));
        await eventually(() => held.guard('INCR', 'n').catch(() => undefined), 'it is held');
        await eventually(async () => await operator.info('lock_waiters_notify') === '1', 'it waits again');
        assert.equal(held.ended, undefined);
      }
      assert.equal(leaders.size, 3);
      await held.release();
      await (await waits).release();
    });
  }
  test('a pool and a Sentinel client of node-redis do not say where the server is', () => {
    assert.throws(() => targetOf(createClientPool({ url: 'redis://a' })), /does not say/);
    const client = createSentinel({ name: 'mymaster', sentinelRootNodes: [{ host: 'a', port: 1 }] });
    assert.throws(() => targetOf(client), /options of createSentinel/);
  });
});

for (const authClients of ['no', 'yes']) {
  test(`scenario: limits_of_the_user, TLS, tls-auth-clients ${authClients}`, async (t) => {
    const end = cleanup(t);
    const server = end(await Server.startSecure(authClients));
    const certificate = authClients === 'yes' ? 'client' : undefined;
    const clients = (tls) => [
      quiet(new Redis({ host: 'localhost', port: server.port, tls, lazyConnect: true })),
      createClient({ socket: { host: 'localhost', port: server.port, tls: true, ...tls } }),
    ];
    for (const client of clients(server.tls(certificate))) {
      const locks = end(await Locks.connect(client));
      const lock = await locks.acquire('k');
      assert.equal(await lock.guard('SET', 'big', 'x'.repeat(1_000_000)), 'OK');
      assert.equal((await lock.guard('GET', 'big')).length, 1_000_000);
      await lock.release();
    }
    const strangers = [server.tls(certificate, 'other')];
    if (authClients === 'yes') strangers.push(server.tls(), server.tls('stranger'));
    for (const tls of strangers) {
      for (const client of clients(tls)) await assert.rejects(Locks.connect(client, { timeout: 1000 }));
    }
  });
}

test('scenario: limits_of_the_user, few rights', async (t) => {
  const server = await lockserver(t);
  await server.call('ACL', 'SETUSER', 'app', 'on', '>secret', '~lock:*', '&__lock__:*', '-@all', '+@lock', '+hello', '+auth', '+ping', '+client|setname', '+set', '+echo');
  const end = cleanup(t);
  const client = (password) => new Redis({ port: server.port, username: 'app', password, lazyConnect: true });
  const locks = end(await Locks.connect(client('secret')));
  const lock = await locks.acquire('lock:1');
  assert.equal(await lock.guard('SET', 'lock:data', 1), 'OK');
  const denied = await rejection(lock.guard('SET', 'other', 1));
  assert.ok(denied instanceof ReplyError && denied.word === 'NOPERM');
  assert.ok(await rejection(locks.acquire('other')) instanceof ReplyError);
  await lock.release();
  const refused = await rejection(Locks.connect(client('wrong')));
  assert.ok(refused instanceof ReplyError && refused.word === 'WRONGPASS', `${refused}`);
});

test('BullMQ and a lock of ours, on one server', async (t) => {
  const end = cleanup(t);
  const server = end(await Server.start());
  const connection = { host: server.host, port: server.port };
  const queue = end(new Queue('bills', { connection }));
  const events = end(new QueueEvents('bills', { connection, lastEventId: '0' }));
  await events.waitUntilReady();
  const locks = end(await Locks.connect(new Redis({ ...connection, lazyConnect: true })));
  let inside = 0;
  let most = 0;
  const worker = end(new Worker('bills', (job) => locks.using(`account:${job.data.account}`, { wait: 60_000 }, async (lock) => {
    most = Math.max(most, ++inside);
    const n = await lock.guard('INCR', `n:${job.data.account}`);
    inside--;
    return n;
  }), { connection, concurrency: 10, drainDelay: 1 }));
  worker.on('error', () => {});
  const jobs = await queue.addBulk(Array.from({ length: 100 }, () => ({ name: 'bill', data: { account: 1 } })));
  const results = await Promise.all(jobs.map((job) => job.waitUntilFinished(events)));
  assert.deepEqual(results.sort((a, b) => a - b), Array.from({ length: 100 }, (_, i) => i + 1));
  assert.equal(most, 1);
});

test('the application may close its client', async (t) => {
  const server = await lockserver(t);
  const end = cleanup(t);
  const way = end(await Way.to(server));
  const client = quiet(new Redis(way.port));
  const locks = end(await Locks.connect(client));
  const lock = await locks.acquire('k');
  client.disconnect();
  assert.equal(await lock.guard('EXISTS', 'none'), 0);
  await lock.release();
});

for (const [name, load] of Object.entries({ 'ioredis 6': 'ioredis', 'ioredis 5': 'ioredis5', 'ioredis 4': 'ioredis4' })) {
  test(`redlock's form ends with its client, also if that waits to connect again, ${name}`, async (t) => {
    const server = await lockserver(t);
    const end = cleanup(t);
    const way = end(await Way.to(server));
    const module = await import(load);
    const redis = quiet(new (module.Redis ?? module.default)({ port: way.port, retryStrategy: () => 600_000 }));
    end(redis, () => redis.disconnect());
    const redlock = new Redlock([redis], { retryCount: 0 });
    await (await redlock.acquire(['k'], 60_000)).release();
    assert.equal(redlock.members.size, 1);
    way.down = true;
    way.breakAll();
    await eventually(() => redis.status === 'reconnecting', 'it waits to connect again');
    redis.disconnect();
    assert.equal(redis.status, 'reconnecting', 'it does not say that it has ended');
    await eventually(() => redlock.members.size === 0, 'what was opened for it is closed');
    way.down = false;
    const names = async () => [...String(await server.call('CLIENT', 'LIST')).matchAll(/name=redlock:/g)].length;
    await eventually(async () => await names() === 0, 'no connection is left');
  });
}
