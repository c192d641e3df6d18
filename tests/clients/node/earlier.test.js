// What applications do with earlier versions of ioredis and node-redis: locks, scripts, transactions, messages, streams,
// sessions, a sale, and connections that break.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';

import { EARLIER } from './earlier.js';
import { SCRIPT, play } from './sale.js';
import { PATIENCE, Server, UNLOCK, eventually } from './server.js';

let server;
before(async () => { server = await Server.start(); });
after(() => server.close());

for (const { name, connect } of EARLIER) {
  describe(name, () => {
    const clients = [];
    const open = () => {
      clients.push(connect(server.port));
      return clients.at(-1);
    };
    let redis;
    before(() => { redis = open(); });
    beforeEach(() => redis.call('FLUSHALL'));
    after(() => clients.forEach((client) => client.close()));

    test('the lock of SET NX', async () => {
      let inside = 0;
      await Promise.all(Array.from({ length: 5 }, async (_, n) => {
        const client = open();
        const unlock = client.script(UNLOCK);
        for (let i = 0; i < 20; i++) {
          const owner = `${n}-${i}`;
          await eventually(async () => await client.call('SET', 'lock', owner, 'NX', 'PX', 60_000) === 'OK', 'the lock is free');
          assert.equal(++inside, 1);
          assert.equal(await unlock(['lock'], ['somebody else']), 0);
          inside--;
          assert.equal(await unlock(['lock'], [owner]), 1);
        }
      }));
      await redis.call('SET', 'lock', 'paused', 'NX', 'PX', 50);
      await eventually(async () => await redis.call('GET', 'lock') === null, 'the lease ends');
    });

    test('scripts', async () => {
      const echo = redis.script("return {KEYS[1], KEYS[2], ARGV[1], {1, {2.7}}, false, true}");
      assert.deepEqual(await echo(['a', 'b'], ['x']), ['a', 'b', 'x', [1, [2]], null, 1]);
      await redis.call('SCRIPT', 'FLUSH');
      assert.deepEqual(await echo(['a', 'b'], ['y']), ['a', 'b', 'y', [1, [2]], null, 1], 'sent again after NOSCRIPT');
      await assert.rejects(redis.script("return redis.error_reply('MY own error')")([], []), /MY own error/);
      await redis.call('SET', 'text', 'x');
      await assert.rejects(redis.script("return redis.call('incr', KEYS[1])")(['text'], []), /not an integer/);
    });

    test('transactions', async () => {
      assert.deepEqual(await redis.multi([['set', 'n', '1'], ['incr', 'n'], ['hset', 'h', 'f', 'v']]), ['OK', 2, 1]);
      await redis.call('WATCH', 'n');
      await open().call('INCR', 'n');
      assert.equal(await redis.multi([['set', 'n', '0']]), null);
      assert.equal(await redis.call('GET', 'n'), '3');
    });

    test('messages', async () => {
      const heard = await open().listen('news', 'new*');
      for (let i = 0; i < 100; i++) assert.equal(await redis.call('PUBLISH', 'news', String(i)), 2);
      await eventually(() => heard.length === 200, 'all messages');
      for (const prefix of ['news: ', 'new* news: ']) {
        assert.deepEqual(heard.filter((message) => message.startsWith(prefix)), Array.from({ length: 100 }, (_, i) => prefix + i));
      }
    });

    test('a consumer group of a stream', async () => {
      await redis.call('XGROUP', 'CREATE', 'orders', 'workers', '0', 'MKSTREAM');
      await assert.rejects(redis.call('XGROUP', 'CREATE', 'orders', 'workers', '0'), /BUSYGROUP/);
      for (let i = 0; i < 60; i++) await redis.call('XADD', 'orders', '*', 'order', String(i));
      const done = [];
      const finish = async (entries) => {
        for (const [id, fields] of entries) {
          assert.equal(await redis.call('XACK', 'orders', 'workers', id), 1);
          done.push(Number(fields[1]));
        }
      };
      const read = async (consumer, count) => (
        await redis.call('XREADGROUP', 'GROUP', 'workers', consumer, 'COUNT', count, 'STREAMS', 'orders', '>'))[0][1];
      assert.equal((await read('ann', 20)).length, 20);
      await finish(await read('ben', 100));
      const [pending, , , [[consumer, count]]] = await redis.call('XPENDING', 'orders', 'workers');
      assert.deepEqual([pending, consumer, count], [20, 'ann', '20']);
      const lost = (await redis.call('XPENDING', 'orders', 'workers', '-', '+', 100, 'ann')).map(([id]) => id);
      await finish(await redis.call('XCLAIM', 'orders', 'workers', 'ben', 0, ...lost));
      assert.deepEqual(done.sort((a, b) => a - b), Array.from({ length: 60 }, (_, i) => i));
      const waiting = open().call('XREADGROUP', 'GROUP', 'workers', 'ann', 'BLOCK', PATIENCE, 'STREAMS', 'orders', '>');
      await eventually(async () => (await redis.call('INFO', 'clients')).includes('blocked_clients:1'), 'it waits');
      const id = await redis.call('XADD', 'orders', '*', 'order', 'last');
      assert.deepEqual(await waiting, [['orders', [[id, ['order', 'last']]]]]);
    });

    test('sessions', async () => {
      assert.equal(await redis.call('HSET', 'session:1', 'id', '7', 'name', 'Ann'), 2);
      assert.equal(await redis.call('EXPIRE', 'session:1', 1800), 1);
      assert.ok(await redis.call('TTL', 'session:1') > 1700);
      assert.equal(await redis.call('HGET', 'session:1', 'name'), 'Ann');
      assert.deepEqual({ ...await redis.hash('session:1') }, { id: '7', name: 'Ann' });
      assert.equal(await redis.call('HINCRBY', 'session:1', 'id', 1), 8);
      await redis.call('PEXPIRE', 'session:1', 50);
      await eventually(async () => await redis.call('EXISTS', 'session:1') === 0, 'it ends');
    });

    test('the sale of the script', async () => {
      const doors = Array.from({ length: 5 }, () => {
        const sell = open().script(SCRIPT);
        return (...args) => sell([], args);
      });
      await play(redis.call, doors);
    });

    test('it connects again', async () => {
      const client = open();
      await client.call('SET', 'k', 'v');
      assert.ok(await redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes') >= 1);
      assert.equal(await eventually(() => client.call('GET', 'k').catch(() => null), 'it is connected'), 'v');
    });
  });
}
