// Two shops, as two processes would be, with a server in test mode.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lockserver } from 'lockserver/node-test';
import { Fleet } from '../../clients/node/tests/harness.mjs';
import { startShop } from './shop.mjs';

const post = async (shop, path, body = {}) => {
  const response = await fetch(`${shop.url}${path}`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
  const text = await response.text();
  return { status: response.status, body: text && JSON.parse(text), headers: response.headers };
};

async function until(condition, what) {
  for (const end = Date.now() + 60_000; !(await condition()); await new Promise((resolve) => setTimeout(resolve, 5))) {
    if (Date.now() > end) throw new Error(`waited too long for: ${what}`);
  }
}

async function shops(t, n = 2) {
  const server = await lockserver(t);
  const booked = [];
  const inside = new SharedArrayBuffer(8);
  const book = (entry) => { booked.push(entry.fields.id); };
  const all = await Promise.all(Array.from({ length: n }, () => startShop({ url: server.url, book, inside })));
  return { server, booked, inside: new Int32Array(inside), all, close: () => Promise.all(all.map((shop) => shop.close())) };
}

test('a sale never sells too much, and each order is booked', async (t) => {
  const { all, booked, close } = await shops(t);
  assert.equal((await post(all[0], '/sales/shoe', { stock: 10 })).status, 201);
  const answers = await Promise.all(Array.from({ length: 40 }, (_, i) => post(all[i % 2], '/sales/shoe/orders', { user: `user-${i}`, order: `order-${i}` })));
  const sold = answers.flatMap(({ status }, i) => (status === 201 ? [`order-${i}`] : []));
  assert.equal(sold.length, 10);
  assert.ok(answers.every(({ status }) => status === 201 || status === 409));
  await until(() => booked.length >= 10, 'all orders are booked');
  assert.deepEqual([...booked].sort(), sold.sort());
  await close();
});

test('a report is made by one thread at a time', async (t) => {
  const { all, inside, close } = await shops(t);
  const answers = await Promise.all(Array.from({ length: 40 }, (_, i) => post(all[i % 2], '/reports/7')));
  assert.deepEqual(answers.map(({ body }) => Number(body.text.split(' ').pop())).sort((a, b) => a - b), Array.from({ length: 40 }, (_, i) => i + 1));
  assert.equal(inside[1], 1, 'the most that were inside');
  await close();
});

test('a caller who is too fast, wrong values, and a lock of another owner', async (t) => {
  const { server, all: [shop], close } = await shops(t, 1);
  await post(shop, '/sales/shoe', { stock: 10 });
  await server.freeze();
  for (let i = 0; i < 5; i++) assert.notEqual((await post(shop, '/sales/shoe/orders', { user: 'ann', order: `o${i}` })).status, 429);
  const refused = await post(shop, '/sales/shoe/orders', { user: 'ann', order: 'o6' });
  assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '1']);
  await server.resume();
  const wrong = await post(shop, '/sales/shoe/orders', { user: 'ben' });
  assert.equal(wrong.status, 400);
  assert.match(wrong.body.error, /an order is a text, and not undefined/);
  assert.equal((await post(shop, '/stock/1', { add: 5 })).body.count, 5);
  const locks = await server.locks();
  await locks.acquire('stock:1');
  const held = await post(shop, '/stock/1', { add: 5 });
  assert.equal(held.status, 409);
  assert.match(held.body.error, /"stock:1"/);
  await close();
});

test('the leader of a group is killed during a sale', async (t) => {
  const fleet = await Fleet.group('cluster');
  t.after(() => fleet.close());
  const booked = new Set();
  const url = { kind: 'cluster', endpoints: fleet.nodes };
  const all = await Promise.all([0, 1].map(() => startShop({ url, book: (entry) => { booked.add(entry.fields.id); } })));
  assert.equal((await post(all[0], '/sales/shoe', { stock: 30 })).status, 201);
  /** A customer asks again, with the same order, until there is an answer. */
  const customer = async (i) => {
    for (const end = Date.now() + 90_000; ; await new Promise((resolve) => setTimeout(resolve, 50))) {
      const { status } = await post(all[i % 2], '/sales/shoe/orders', { user: `user-${i}`, order: `order-${i}` });
      if (status === 201 || status === 409) return status;
      assert.ok(Date.now() < end, `order-${i} has no answer but ${status}`);
    }
  };
  const first = await Promise.all(Array.from({ length: 10 }, (_, i) => customer(i)));
  const rest = Promise.all(Array.from({ length: 50 }, (_, i) => customer(i + 10)));
  await fleet.do('kill');
  const reports = await Promise.all([0, 1, 0, 1].map(async (i) => {
    for (;;) {
      const { status, body } = await post(all[i], '/reports/7');
      if (status === 200) return Number(body.text.split(' ').pop());
    }
  }));
  const statuses = [...first, ...(await rest)];
  const sold = statuses.flatMap((status, i) => (status === 201 ? [`order-${i}`] : []));
  assert.equal(sold.length, 30, 'neither too many nor too few');
  assert.equal(new Set(reports).size, 4, 'each report has a number of its own');
  await fleet.do('mend');
  await until(() => booked.size >= 30, 'all orders are booked');
  assert.deepEqual([...booked].sort(), sold.sort());
  await Promise.all(all.map((shop) => shop.close()));
});
