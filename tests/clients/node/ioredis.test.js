// ioredis: types, pipelines, transactions, scripts as methods, messages, streams, scans, waiting, and broken connections.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';

import { Redis } from 'ioredis';

import { PATIENCE, Server, UNLOCK, eventually } from './server.js';

let server;
before(async () => { server = await Server.start(); });
after(() => server.close());

for (const protocol of [2, 3]) {
  describe(`ioredis, RESP${protocol}`, () => {
    let redis;
    const clients = [];
    const connect = (options = {}) => {
      const client = new Redis({ port: server.port, protocol, ...options });
      clients.push(client);
      return client;
    };
    before(async () => {
      redis = connect();
      await redis.flushall();
      await redis.script('FLUSH');
    });
    after(() => clients.forEach((client) => client.disconnect()));

    test('handshake', async () => {
      const locked = await Server.start('--requirepass', 'secret');
      try {
        const wrong = new Redis({ port: locked.port, protocol, password: 'wrong', retryStrategy: null, lazyConnect: true });
        const seen = once(wrong, 'error');
        wrong.connect().catch(() => {});
        assert.match((await seen)[0].message, /WRONGPASS|NOAUTH/);
        wrong.disconnect();
        const client = new Redis({ port: locked.port, protocol, username: 'default', password: 'secret', db: 3, connectionName: 'shop' });
        assert.equal(await client.ping(), 'PONG');
        const info = await client.client('INFO');
        assert.match(info, / name=shop /);
        assert.match(info, / db=3 /);
        assert.match(info, new RegExp(` resp=${protocol}`));
        await client.quit();
      } finally {
        await locked.close();
      }
    });

    test('types', async () => {
      assert.equal(await redis.set('s', 'v', 'PX', 50_000, 'NX'), 'OK');
      assert.equal(await redis.set('s', 'v', 'NX'), null);
      assert.deepEqual(await redis.getBuffer('s'), Buffer.from('v'));
      await redis.hset('h', { a: 1, b: 'two' });
      assert.deepEqual(await redis.hgetall('h'), { a: '1', b: 'two' });
      assert.deepEqual(await redis.mget('s', 'absent'), ['v', null]);
      await redis.zadd('z', 1, 'a', 2.5, 'b');
      assert.deepEqual((await redis.zrange('z', 0, -1)), ['a', 'b']);
      assert.equal(await redis.zscore('z', 'b'), '2.5');
      assert.deepEqual((await redis.zrange('z', 0, -1, 'WITHSCORES')).flat(), ['a', '1', 'b', '2.5']);
      await redis.rpush('l', 1, 2, 3);
      assert.deepEqual(await redis.lrange('l', 0, -1), ['1', '2', '3']);
      assert.deepEqual((await redis.sadd('set', 'x', 'y'), (await redis.smembers('set')).sort()), ['x', 'y']);
      assert.deepEqual((await redis.geoadd('g', 13.361389, 38.115556, 'P'), await redis.geohash('g', 'P')), ['sqc8b49rny0']);
      assert.equal(await redis.incrbyfloat('f', 0.1), '0.1');
      await assert.rejects(redis.incr('h'), /WRONGTYPE/);
      await assert.rejects(redis.call('NOSUCH', 'x'), /unknown command/);
      assert.equal((await redis.info('server')).includes('redis_version:'), true);
      assert.deepEqual(await redis.config('GET', 'maxmemory'), ['maxmemory', '0']);
      const dump = await redis.dumpBuffer('z');
      assert.equal(await redis.restore('z2', 0, dump), 'OK');
      assert.equal(await redis.zcard('z2'), 2);
    });

    test('pipelines', async () => {
      const pipeline = redis.pipeline();
      for (let i = 0; i < 5000; i++) pipeline.incr('n');
      const replies = await pipeline.exec();
      assert.deepEqual(replies.at(-1), [null, 5000]);
      const [first, second, third] = await redis.pipeline().set('a', 1).lpush('a', 'x').incr('a').exec();
      assert.deepEqual(first, [null, 'OK']);
      assert.match(second[0].message, /WRONGTYPE/);
      assert.deepEqual(third, [null, 2]);
    });

    test('automatic pipelines', async () => {
      const auto = connect({ enableAutoPipelining: true });
      const replies = await Promise.all(Array.from({ length: 500 }, (_, i) => (i % 2 ? auto.get('auto') : auto.set('auto', i))));
      assert.equal(replies[499], '498');
    });

    test('transactions', async () => {
      assert.deepEqual(await redis.multi().set('t', 1).incr('t').get('t').exec(), [[null, 'OK'], [null, 2], [null, '2']]);
      await assert.rejects(redis.multi().set('t', 5).call('NOSUCH').exec(), /EXECABORT/);
      await redis.watch('t');
      await connect().incr('t');
      assert.equal(await redis.multi().set('t', 0).exec(), null);
      assert.equal(await redis.get('t'), '3');
      await redis.multi({ pipeline: false });
      assert.equal(await redis.incr('t'), 'QUEUED');
      assert.deepEqual(await redis.exec(), [[null, 4]]);
    });

    test('scripts as methods', async () => {
      const client = connect({ keyPrefix: `p${protocol}:` });
      client.defineCommand('unlock', { numberOfKeys: 1, lua: UNLOCK });
      client.defineCommand('echoes', { lua: 'return {KEYS[1], KEYS[2], ARGV[1], {1, {2.7}}, false, true}' });
      await client.set('lock', 'me');
      assert.equal(await redis.get(`p${protocol}:lock`), 'me');
      assert.equal(await client.unlock('lock', 'other'), 0);
      assert.equal(await client.unlock('lock', 'me'), 1);
      assert.deepEqual(await client.echoes(2, 'a', 'b', 'x'), [`p${protocol}:a`, `p${protocol}:b`, 'x', [1, [2]], null, 1]);
      assert.deepEqual(await client.echoesBuffer(2, 'a', 'b', Buffer.from([0, 255])).then((r) => r[2]), Buffer.from([0, 255]));
      await redis.script('FLUSH');
      await client.set('lock', 'me');
      const replies = await client.pipeline().unlock('lock', 'other').unlock('lock', 'me').exec();
      assert.deepEqual(replies, [[null, 0], [null, 1]], 'a pipeline loads what the server has forgotten');
      await assert.rejects(redis.eval("return redis.error_reply('MY own error')", 0), /MY own error/);
      await assert.rejects(redis.evalsha('0'.repeat(40), 0), /NOSCRIPT/);
    });

    test('messages', async () => {
      const sub = connect();
      const got = [];
      sub.on('message', (channel, message) => got.push(`${channel} ${message}`));
      sub.on('pmessage', (pattern, channel, message) => got.push(`${pattern} ${channel} ${message}`));
      assert.equal(await sub.subscribe('news', 'sport'), 2);
      assert.equal(await sub.psubscribe('new*'), 3);
      for (let i = 0; i < 100; i++) await redis.publish('news', i);
      await eventually(() => got.length === 200, 'all messages');
      assert.deepEqual(got.filter((m) => m.startsWith('news')), Array.from({ length: 100 }, (_, i) => `news ${i}`));
      assert.equal(await sub.unsubscribe('sport'), 2);
      const shard = connect();
      const arrived = once(shard, 'smessage');
      await shard.ssubscribe('shard');
      assert.equal(await redis.spublish('shard', 'hello'), 1);
      assert.deepEqual(await arrived, ['shard', 'hello']);
      const binary = connect();
      const bytes = once(binary, 'messageBuffer');
      await binary.subscribe('bytes');
      await redis.publish('bytes', Buffer.from([0, 255]));
      assert.deepEqual((await bytes)[1], Buffer.from([0, 255]));
    });

    test('streams', async () => {
      await redis.xgroup('CREATE', 'orders', 'g', '0', 'MKSTREAM');
      await assert.rejects(redis.xgroup('CREATE', 'orders', 'g', '0'), /BUSYGROUP/);
      for (let i = 0; i < 50; i++) await redis.xadd('orders', '*', 'user', i);
      const entries = (reply) => (reply === null ? [] : reply[0][1]);
      const read = async (consumer, from, count) => entries(
        await redis.xreadgroup('GROUP', 'g', consumer, 'COUNT', count, 'STREAMS', 'orders', from));
      const done = [];
      const finish = async (list) => {
        for (const [id, fields] of list) {
          assert.equal(await redis.xack('orders', 'g', id), 1);
          done.push(Number(fields[1]));
        }
      };
      await finish((await read('alice', '>', 20)).slice(0, 5));
      await finish(await read('bob', '>', 100));
      assert.equal((await redis.xpending('orders', 'g'))[0], 15);
      for (let start = '0-0'; ;) {
        const [next, list] = await redis.xautoclaim('orders', 'g', 'bob', 0, start, 'COUNT', 4);
        await finish(list);
        if ((start = next) === '0-0') break;
      }
      assert.deepEqual(done.sort((a, b) => a - b), Array.from({ length: 50 }, (_, i) => i));
      const waiting = connect().xread('BLOCK', PATIENCE, 'STREAMS', 'fresh', '$');
      await eventually(async () => (await redis.info('clients')).includes('blocked_clients:1'), 'it waits');
      const id = await redis.xadd('fresh', '*', 'k', 'v');
      assert.deepEqual(entries(await waiting), [[id, ['k', 'v']]]);
    });

    test('scan streams', async () => {
      const pipeline = redis.pipeline();
      for (let i = 0; i < 2000; i++) pipeline.set(`key:${i}`, i).hset('hash', `f${i}`, i).sadd('members', i).zadd('scores', i, `m${i}`);
      await pipeline.exec();
      const collect = async (stream) => (await stream.toArray()).flat();
      assert.equal(new Set(await collect(redis.scanStream({ match: 'key:*', count: 100 }))).size, 2000);
      assert.deepEqual(await collect(redis.scanStream({ match: 'scores', type: 'zset', count: 1000 })), ['scores']);
      assert.equal((await collect(redis.hscanStream('hash'))).length, 4000);
      assert.equal(new Set(await collect(redis.sscanStream('members'))).size, 2000);
      assert.equal((await collect(redis.zscanStream('scores', { match: 'm1*', count: 500 }))).length, 2 * 1111);
    });

    test('waiting', async () => {
      assert.equal(await redis.blpop('q', 0.01), null);
      const waiting = [connect().blpop('other', 'q', 20), connect().blmove('q2', 'r', 'LEFT', 'RIGHT', 20), connect().bzpopmin('zq', 20)];
      await eventually(async () => (await redis.info('clients')).includes('blocked_clients:3'), 'all wait');
      await redis.multi().rpush('q', 'x').rpush('q2', 'y').zadd('zq', 1.5, 'm').exec();
      assert.deepEqual(await Promise.all(waiting), [['q', 'x'], 'y', ['zq', 'm', '1.5']]);
    });

    test('monitor', async () => {
      const monitor = await redis.monitor();
      const seen = new Promise((resolve) => {
        monitor.on('monitor', (time, args) => args.includes('watched') && resolve(args));
      });
      await redis.set('watched', 'two words');
      assert.deepEqual(await seen, ['set', 'watched', 'two words']);
      monitor.disconnect();
    });
  });
}

test('ioredis connects again, subscribes again, and repeats what was not answered', async () => {
  const own = await Server.start();
  const redis = new Redis({ port: own.port, retryStrategy: () => 10, maxRetriesPerRequest: null });
  const sub = new Redis({ port: own.port, retryStrategy: () => 10, maxRetriesPerRequest: null });
  for (const client of [redis, sub]) client.on('error', () => {}); // refused connections meanwhile
  try {
    await sub.subscribe('news');
    await redis.set('k', 'v');
    const other = new Redis({ port: own.port });
    await other.client('KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    other.disconnect();
    assert.equal(await redis.get('k'), 'v');
    const offline = own.restart();
    const reply = redis.get('k');
    await offline;
    assert.equal(await reply, 'v');
    const got = once(sub, 'message');
    await eventually(() => redis.publish('news', 'hello'), 'subscribed again');
    assert.deepEqual(await got, ['news', 'hello']);
  } finally {
    redis.disconnect();
    sub.disconnect();
    await own.close();
  }
});
