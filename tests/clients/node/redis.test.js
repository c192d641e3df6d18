// node-redis: types, transactions, isolated connections, pools, scripts, messages, streams, scans, and its cache.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { RESP_TYPES, createClient, createClientPool, defineScript } from 'redis';

import { IS_REDIS, Server, UNLOCK, eventually } from './server.js';

let server;
before(async () => { server = await Server.start(); });
after(() => server.close());

const unlock = defineScript({
  SCRIPT: UNLOCK,
  NUMBER_OF_KEYS: 1,
  parseCommand(parser, key, token) {
    parser.pushKey(key);
    parser.push(token);
  },
  transformReply: (reply) => reply === 1,
});

for (const RESP of [2, 3]) {
  describe(`node-redis, RESP${RESP}`, () => {
    let redis;
    const clients = [];
    const connect = async (options = {}) => {
      const client = createClient({ socket: { port: server.port, host: server.host }, RESP, ...options });
      client.on('error', () => {});
      clients.push(client);
      return client.connect();
    };
    before(async () => {
      redis = await connect({ scripts: { unlock } });
      await redis.flushAll();
      await redis.scriptFlush();
    });
    after(() => clients.forEach((client) => client.destroy()));

    test('handshake', async () => {
      const locked = await Server.start('--requirepass', 'secret');
      try {
        const wrong = createClient({ url: `redis://:wrong@${locked.host}:${locked.port}`, RESP, socket: { reconnectStrategy: false } });
        wrong.on('error', () => {});
        await assert.rejects(wrong.connect(), /WRONGPASS/);
        const client = await createClient({ url: `redis://default:secret@${locked.host}:${locked.port}/3`, name: 'shop', RESP }).connect();
        assert.equal(await client.ping(), 'PONG');
        const info = await client.clientInfo();
        assert.equal(info.name, 'shop');
        assert.equal(info.db, 3);
        if (!IS_REDIS) assert.match(info.libName, /node-redis/); // of 7.2
        await client.close();
      } finally {
        await locked.close();
      }
    });

    test('types', async () => {
      assert.equal(await redis.set('s', 'v', { expiration: { type: 'PX', value: 50_000 }, condition: 'NX' }), 'OK');
      assert.equal(await redis.set('s', 'w', { GET: true }), 'v');
      const buffers = redis.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
      assert.deepEqual(await buffers.get('s'), Buffer.from('w'));
      await redis.hSet('h', { a: 1, b: 'two' });
      assert.deepEqual({ ...await redis.hGetAll('h') }, { a: '1', b: 'two' });
      await redis.zAdd('z', [{ score: 1, value: 'a' }, { score: 2.5, value: 'b' }]);
      assert.deepEqual(await redis.zRangeWithScores('z', 0, -1), [{ value: 'a', score: 1 }, { value: 'b', score: 2.5 }]);
      assert.equal(await redis.zScore('z', 'b'), 2.5);
      assert.equal(await redis.zScore('z', 'absent'), null);
      assert.deepEqual(await redis.zPopMax('z'), { value: 'b', score: 2.5 });
      await redis.sAdd('set', ['x', 'y']);
      assert.deepEqual([...await redis.sMembers('set')].sort(), ['x', 'y']);
      assert.deepEqual((await redis.smIsMember('set', ['x', 'q'])).map(Boolean), [true, false]);
      await redis.rPush('l', ['1', '2', '3']);
      assert.deepEqual(await redis.lmPop(['none', 'l'], 'RIGHT', { COUNT: 2 }), ['l', ['3', '2']]);
      await redis.geoAdd('g', [{ longitude: 13.361389, latitude: 38.115556, member: 'P' }]);
      const [position] = await redis.geoPos('g', 'P');
      assert.ok(Math.abs(Number(position.longitude) - 13.361389) < 1e-5);
      assert.equal(await redis.incrByFloat('f', 0.1), '0.1');
      assert.equal(await redis.expire('s', 100), 1);
      if (!IS_REDIS) assert.deepEqual(await redis.hExpire('h', 'a', 100), [1]); // of 7.4
      await assert.rejects(redis.incr('h'), /WRONGTYPE/);
      await assert.rejects(redis.sendCommand(['NOSUCH']), /unknown command/);
      assert.deepEqual({ ...await redis.configGet('maxmemory') }, { maxmemory: '0' });
      assert.ok((await redis.command()).length > 200);
      assert.ok((await redis.clientList()).length >= 1);
      assert.ok(await redis.memoryUsage('h') > 0);
    });

    test('pipelining and transactions', async () => {
      const replies = await Promise.all(Array.from({ length: 3000 }, () => redis.incr('n')));
      assert.deepEqual(replies, Array.from({ length: 3000 }, (_, i) => i + 1));
      assert.deepEqual(await redis.multi().set('t', '1').incr('t').get('t').exec(), ['OK', 2, '2']);
      assert.deepEqual(await redis.multi().incr('t').hGetAll('h').execAsPipeline().then((r) => r[0]), 3);
      await assert.rejects(redis.multi().set('t', 'x').incr('t').exec(), /1 commands failed/);
      await assert.rejects(redis.multi().set('t', 'y').addCommand(['NOSUCH']).exec(), /EXECABORT|unknown/);
      assert.equal(await redis.get('t'), 'x');
    });

    test('a watch on a connection of its own', async () => {
      const pool = createClientPool({ socket: { port: server.port }, RESP }, { minimum: 1, maximum: 5 });
      pool.on('error', () => {});
      await pool.connect();
      let failures = 0;
      const add = async () => {
        for (;;) {
          try {
            return await pool.execute(async (client) => {
              await client.watch('counter');
              const n = Number(await client.get('counter'));
              return client.multi().set('counter', String(n + 1)).exec();
            });
          } catch (e) {
            if (e.constructor.name !== 'WatchError') throw e;
            failures++;
          }
        }
      };
      await Promise.all(Array.from({ length: 60 }, add));
      assert.equal(await pool.get('counter'), '60');
      await pool.close();
    });

    test('scripts and functions', async () => {
      await redis.set('lock', 'me');
      assert.equal(await redis.unlock('lock', 'other'), false);
      assert.equal(await redis.unlock('lock', 'me'), true);
      await redis.scriptFlush();
      assert.deepEqual(await redis.multi().set('lock', 'me').unlock('lock', 'me').exec(), ['OK', true]);
      assert.deepEqual(await redis.eval('return {KEYS[1], ARGV[1], {1, 2.7}, false}', { keys: ['k'], arguments: ['a'] }), ['k', 'a', [1, 2], null]);
      assert.equal(await redis.evalRo("return redis.call('get', KEYS[1])", { keys: ['n'] }), '3000');
      await assert.rejects(redis.eval("return redis.error_reply('MY own error')"), /MY own error/);
      const code = "#!lua name=shop\nredis.register_function('take', function(k, a) return redis.call('decrby', k[1], a[1]) end)";
      assert.equal(await redis.functionLoad(code, { REPLACE: true }), 'shop');
      assert.equal(await redis.fCall('take', { keys: ['n'], arguments: ['1'] }), 2999);
      assert.equal((await redis.functionList())[0].library_name, 'shop');
      await redis.functionDelete('shop');
    });

    test('messages', async () => {
      const sub = await connect();
      const got = [];
      await sub.subscribe('news', (message, channel) => got.push(`${channel} ${message}`));
      await sub.pSubscribe('new*', (message) => got.push(message));
      await sub.sSubscribe('shard', (message) => got.push(`shard ${message}`));
      for (let i = 0; i < 100; i++) await redis.publish('news', String(i));
      await redis.sPublish('shard', 'hello');
      await eventually(() => got.length === 201, 'all messages');
      assert.deepEqual(got.filter((m) => m.startsWith('news')), Array.from({ length: 100 }, (_, i) => `news ${i}`));
      if (RESP === 3) assert.equal(await sub.get('n'), '2999', 'commands go on beside subscriptions');
      await sub.unsubscribe('news');
      await sub.pUnsubscribe();
      await eventually(async () => await redis.publish('news', 'x') === 0, 'unsubscribed');
    });

    test('streams', async () => {
      await redis.xGroupCreate('orders', 'g', '0', { MKSTREAM: true });
      for (let i = 0; i < 50; i++) await redis.xAdd('orders', '*', { user: String(i) });
      const read = async (consumer, from, COUNT) => {
        const reply = await redis.xReadGroup('g', consumer, { key: 'orders', id: from }, { COUNT });
        return reply ? reply[0].messages : [];
      };
      const done = [];
      const finish = async (list) => {
        for (const { id, message } of list) {
          assert.equal(await redis.xAck('orders', 'g', id), 1);
          done.push(Number(message.user));
        }
      };
      await finish((await read('alice', '>', 20)).slice(0, 5));
      await finish(await read('bob', '>', 100));
      assert.equal((await redis.xPending('orders', 'g')).pending, 15);
      for (let start = '0-0'; ;) {
        const { nextId, messages } = await redis.xAutoClaim('orders', 'g', 'bob', 0, start, { COUNT: 4 });
        await finish(messages);
        if ((start = nextId) === '0-0') break;
      }
      assert.deepEqual(done.sort((a, b) => a - b), Array.from({ length: 50 }, (_, i) => i));
      const [group] = await redis.xInfoGroups('orders');
      assert.equal(group.pending, 0);
      assert.equal(group.lag, 0);
      const waiting = (await connect()).xRead({ key: 'fresh', id: '$' }, { BLOCK: 4000 });
      await eventually(async () => (await redis.info('clients')).includes('blocked_clients:1'), 'it waits');
      const id = await redis.xAdd('fresh', '*', { k: 'v' });
      const [{ name, messages: [entry] }] = await waiting;
      assert.deepEqual([name, entry.id, { ...entry.message }], ['fresh', id, { k: 'v' }]);
    });

    test('scan iterators', async () => {
      const multi = redis.multi();
      for (let i = 0; i < 2000; i++) multi.set(`key:${i}`, String(i)).hSet('hash', `f${i}`, i).sAdd('members', String(i)).zAdd('scores', { score: i, value: `m${i}` });
      await multi.execAsPipeline();
      const collect = async (iterator) => {
        const all = [];
        for await (const part of iterator) all.push(...part);
        return all;
      };
      assert.equal(new Set(await collect(redis.scanIterator({ MATCH: 'key:*', COUNT: 100 }))).size, 2000);
      assert.deepEqual(await collect(redis.scanIterator({ TYPE: 'zset', MATCH: 'scores', COUNT: 1000 })), ['scores']);
      assert.equal((await collect(redis.hScanIterator('hash'))).length, 2000);
      assert.equal(new Set(await collect(redis.sScanIterator('members'))).size, 2000);
      assert.equal((await collect(redis.zScanIterator('scores', { MATCH: 'm1*' }))).length, 1111);
    });

    test('waiting', async () => {
      assert.equal(await redis.blPop('q', 0.01), null);
      const waiting = [(await connect()).blPop(['other', 'q'], 4), (await connect()).bzPopMin('zq', 4)];
      await eventually(async () => (await redis.info('clients')).includes('blocked_clients:2'), 'both wait');
      await redis.multi().rPush('q', 'x').zAdd('zq', { score: 1.5, value: 'm' }).exec();
      const [list, sorted] = await Promise.all(waiting);
      assert.deepEqual({ ...list }, { key: 'q', element: 'x' });
      assert.deepEqual({ ...sorted }, { key: 'zq', value: 'm', score: 1.5 });
    });
  });
}

test('node-redis caches on its side and sees changes', async () => {
  const redis = await createClient({ socket: { port: server.port }, RESP: 3, clientSideCache: { ttl: 0, maxEntries: 100 } }).connect();
  const other = await createClient({ socket: { port: server.port } }).connect();
  for (let i = 0; i < 50; i++) {
    await other.set('cached', String(i));
    await eventually(async () => await redis.get('cached') === String(i), 'the change is seen');
  }
  const commands = async () => Number(/total_commands_processed:(\d+)/.exec(await other.info('stats'))[1]);
  const begin = await commands();
  for (let i = 0; i < 200; i++) assert.equal(await redis.get('cached'), '49');
  assert.ok(await commands() - begin < 50, 'it asks once');
  await other.flushAll();
  await eventually(async () => await redis.get('cached') === null, 'the flush is seen');
  redis.destroy();
  other.destroy();
});

test('node-redis connects again', async () => {
  const own = await Server.start();
  const redis = createClient({ socket: { port: own.port, reconnectStrategy: () => 10 } });
  redis.on('error', () => {});
  try {
    await redis.connect();
    await redis.set('k', 'v');
    const other = await createClient({ socket: { port: own.port } }).connect();
    await other.sendCommand(['CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes']);
    other.destroy();
    assert.equal(await redis.get('k'), 'v');
    await own.restart();
    assert.equal(await redis.get('k'), 'v');
  } finally {
    redis.destroy();
    await own.close();
  }
});
