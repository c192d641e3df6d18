// A shop's lock, sale and session, in time that the test owns.

import assert from 'node:assert';
import { test } from 'node:test';
import { lockserver } from './lockserver.js';

test('a lock ends with its lease', async (t) => {
  const server = await lockserver(t);
  const [ann, ben] = [server.client(), server.client()];
  await server.freeze();
  const first = await ann.call('LOCK', 'till', 'ann', 'PX', 30000);
  let second;
  const waits = ben.call('LOCK', 'till', 'ben', 'PX', 30000, 'WAIT', 60000).then((token) => { second = token; });
  while (!(await ann.info('clients')).includes('blocked_clients:1'));
  await server.advance(29999);
  assert.equal(second, undefined);
  await server.advance(1);
  await waits;
  assert(second > first, 'fencing tokens rise');
  assert.equal(await ann.call('UNLOCK', 'till', 'ann'), null, 'it is ben\'s');
});

test('an order that is not paid goes back', async (t) => {
  const server = await lockserver(t);
  const shop = server.client();
  await server.freeze();
  await shop.call('SECKILL.CREATE', 'shoe', 'STOCK', 1, 'HOLD', 900000);
  assert.equal(await shop.call('SECKILL', 'shoe', 'ann', 'order-1'), 0);
  assert.equal(await shop.call('SECKILL', 'shoe', 'ben', 'order-2'), 1, 'sold out');
  await server.advance(15 * 60 * 1000);
  assert.equal(await shop.call('SECKILL', 'shoe', 'ben', 'order-2'), 0);
  assert.equal(await shop.call('SECKILL.CONFIRM', 'shoe', 'ann', 'order-1'), 0, 'too late');
});

test('a lost reply sells nothing twice', async (t) => {
  const server = await lockserver(t);
  const shop = server.client(); // ioredis sends again what was not answered
  await shop.call('SECKILL.CREATE', 'shoe', 'STOCK', 5, 'HOLD', 900000);
  const sold = await server.fault('DROPAFTER MATCH SECKILL TIMES 1', () => shop.call('SECKILL', 'shoe', 'ann', 'order-1'));
  assert.equal(sold, 0);
  assert.equal(await shop.get('seckill:stock:shoe'), '4');
});

test('a session lives as long as it is used', async (t) => {
  const server = await lockserver(t);
  const shop = server.client();
  await server.freeze();
  await shop.set('session:1', 'ann', 'EX', 1800);
  await server.advance(1799_000);
  assert.equal(await shop.getex('session:1', 'EX', 1800), 'ann'); // the next request
  await server.advance(1799_000);
  assert.equal(await shop.get('session:1'), 'ann');
  await server.advance(1001); // a key lives through the millisecond of its deadline
  assert.equal(await shop.get('session:1'), null);
});

test('a fault that never strikes fails', async (t) => {
  const server = await lockserver(t);
  const shop = server.client();
  await assert.rejects(server.fault('CLOSE MATCH GET', () => shop.ping()), /never struck/);
  await server.fault('ERROR BUSY MATCH SET', () => assert.rejects(shop.set('a', 1), /BUSY/));
});

// A shop with ten buyers. ioredis sends again what was not answered.
const sells = (command, sold) => async (shop) => {
  for (let buyer = 0; buyer < 10; buyer++) await shop.call(...command(buyer));
  assert.equal(Number(await shop.call(...sold)), 10, 'ten were bought');
};

test('chaos finds a retry without an id', async (t) => {
  const server = await lockserver(t);
  const kinds = { kinds: 'dropbefore,dropafter' };
  await assert.rejects(server.chaos(sells(() => ['INCR', 'sold'], ['GET', 'sold']), kinds),
    /LOCKSERVER_CHAOS_SEED=\d+; struck: .*incr#\d+:dropafter/);
  await server.chaos(sells((buyer) => ['SADD', 'orders', buyer], ['SCARD', 'orders']), kinds);
});
