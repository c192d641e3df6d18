// The native commands through ioredis and node-redis, which have no methods for them.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Redis } from 'ioredis';
import { createClient } from 'redis';

import { EARLIER } from './earlier.js';
import { play } from './sale.js';
import { Server, eventually } from './server.js';

let server;
before(async () => { server = await Server.start('--lock-watchdog-timeout', '2000'); });
after(() => server.close());

test('LOCK and WAIT: one at a time, with rising tokens', async () => {
  const clients = Array.from({ length: 5 }, () => new Redis({ port: server.port, maxRetriesPerRequest: 0 }));
  const tokens = [];
  let inside = 0;
  await Promise.all(clients.map(async (redis, i) => {
    for (let round = 0; round < 20; round++) {
      const token = await redis.call('LOCK', 'door', `worker-${i}`, 'PX', 20_000, 'WAIT', 0);
      assert.equal(++inside, 1);
      tokens.push(token);
      await redis.ping();
      inside--;
      assert.equal(await redis.call('UNLOCK', 'door', `worker-${i}`, 'TOKEN', token), 1);
    }
  }));
  assert.deepEqual(tokens, [...new Set(tokens)].sort((a, b) => a - b));
  assert.equal(await clients[0].call('UNLOCK', 'door', 'nobody'), null);
  clients.forEach((client) => client.disconnect());
});

test('the watchdog follows the connection', async () => {
  const [holder, other] = [new Redis({ port: server.port }), new Redis({ port: server.port })];
  const first = await holder.call('LOCK', 'watched', 'alice');
  for (let i = 0; i < 5; i++) assert.equal(await other.call('LOCK', 'watched', 'bob', 'WAIT', 1000), null); // more than two leases
  holder.disconnect();
  const second = await eventually(() => other.call('LOCK', 'watched', 'bob', 'WAIT', 1000), 'the lease ends');
  assert.ok(second > first);
  other.disconnect();
});

// waitersOf is how many wait for the lock, as another client sees it.
const waitersOf = async (redis, key) => (await redis.call('LOCK.WAITERS')).filter((waiter) => JSON.stringify(waiter).includes(`["${key}",`)).length;

test('ioredis gives up a LOCK by commandTimeout and keeps the connection: the lock is granted to a caller that has gone', async () => {
  const holder = new Redis({ port: server.port });
  await holder.call('LOCK', 'late', 'bob', 'PX', 60_000);
  const impatient = new Redis({ port: server.port, commandTimeout: 200 });
  const unlock = () => impatient.call('UNLOCK', 'late', 'alice').catch((error) => assert.equal(error.message, 'Command timed out')); // on a busy machine
  await assert.rejects(impatient.call('LOCK', 'late', 'alice', 'WAIT', 0, 'ONCE'), { message: 'Command timed out' });
  await eventually(async () => await waitersOf(holder, 'late') === 1, 'it waits still');
  assert.equal(await holder.call('UNLOCK', 'late', 'bob'), 1);
  const [, owner, , , , , , , , renewed] = await eventually(() => holder.call('LOCK.INFO', 'late'), 'the lock is granted');
  assert.deepEqual([owner, renewed], ['alice', 1], 'and renewed as long as the connection lives');
  await unlock();
  await eventually(async () => await holder.call('LOCK.INFO', 'late') === null, 'it is released');

  // An UNLOCK over the same connection, sent at once, runs as soon as the LOCK is answered.
  await holder.call('LOCK', 'late', 'bob', 'PX', 60_000);
  await assert.rejects(impatient.call('LOCK', 'late', 'alice', 'PX', 60_000, 'WAIT', 0, 'ONCE'), { message: 'Command timed out' });
  await assert.rejects(impatient.call('UNLOCK', 'late', 'alice'), { message: 'Command timed out' }, 'it stands behind the LOCK');
  assert.equal(await holder.call('UNLOCK', 'late', 'bob'), 1);
  await eventually(async () => await holder.call('LOCK.INFO', 'late') === null, 'what was granted is released');

  // To give up at once, end the connection.
  await holder.call('LOCK', 'late', 'bob', 'PX', 60_000);
  await assert.rejects(impatient.call('LOCK', 'late', 'alice', 'WAIT', 0, 'ONCE'), { message: 'Command timed out' });
  impatient.disconnect();
  await eventually(async () => await waitersOf(holder, 'late') === 0, 'the waiter has left the queue');
  holder.disconnect();
});

test('node-redis waits for a LOCK that was sent, whatever timeout the command has; socketTimeout ends the connection', async () => {
  const holder = new Redis({ port: server.port });
  await holder.call('LOCK', 'slow', 'bob', 'PX', 60_000);
  const patient = await createClient({ socket: { port: server.port }, commandOptions: { timeout: 100 } }).connect();
  assert.equal(await patient.sendCommand(['LOCK', 'slow', 'alice', 'WAIT', '1000', 'ONCE']), null, 'the server ends the wait');
  const impatient = createClient({ socket: { port: server.port, socketTimeout: 200 } });
  const told = [];
  impatient.on('error', (error) => told.push(error));
  await impatient.connect();
  await assert.rejects(impatient.sendCommand(['LOCK', 'slow', 'alice', 'WAIT', '0', 'ONCE']), /Socket timeout/);
  await eventually(async () => await waitersOf(holder, 'slow') === 0, 'the waiter has left the queue');
  assert.ok(told.length > 0);
  patient.destroy();
  impatient.destroy();
  holder.disconnect();
});

for (const RESP of [2, 3]) {
  test(`SECKILL, node-redis, RESP${RESP}`, async () => {
    const redis = await createClient({ socket: { port: server.port }, RESP }).connect();
    await redis.flushAll();
    await redis.set('seckill:stock:10', '100');
    const replies = await Promise.all(Array.from({ length: 300 }, (_, i) => redis.sendCommand(['SECKILL', '10', `user-${i % 150}`, `order-${i}`])));
    assert.equal(replies.filter((reply) => reply === 0).length, 100);
    assert.equal(await redis.get('seckill:stock:10'), '0');
    assert.equal(await redis.xLen('stream.orders'), 100);
    redis.destroy();
  });
}

for (const { name, connect } of EARLIER) {
  test(`LOCK, UNLOCK and a sale by SECKILL, ${name}`, async () => {
    const clients = Array.from({ length: 5 }, () => connect(server.port));
    await clients[0].call('FLUSHALL');
    let inside = 0;
    let last = 0;
    await Promise.all(clients.map(async (redis, i) => {
      for (let round = 0; round < 10; round++) {
        const token = await redis.call('LOCK', 'gate', `worker-${i}`, 'PX', 20_000, 'WAIT', 0);
        assert.equal(++inside, 1);
        assert.ok(token > last, 'tokens rise');
        last = token;
        await redis.call('PING');
        inside--;
        assert.equal(await redis.call('UNLOCK', 'gate', `worker-${i}`, 'TOKEN', token), 1);
      }
    }));
    await play(clients[0].call, clients.map((redis) => (...words) => redis.call('SECKILL', ...words)));
    clients.forEach((client) => client.close());
  });
}
