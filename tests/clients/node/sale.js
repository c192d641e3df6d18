// A flash sale in which every user tries twice, at the same time: more is never sold than there is, and no user has two
// pieces. How a client buys is the test's business: by SCRIPT, or by SECKILL; both work on the same keys.

import assert from 'node:assert/strict';

// What a purchase answers.
const SOLD = 0, SOLD_OUT = 1, BOUGHT_ALREADY = 2;

const USERS = 150;

// SCRIPT sells one piece of voucher ARGV[1] to user ARGV[2] as order ARGV[3], and hands the order to the workers.
export const SCRIPT = `
local voucher, user, order = ARGV[1], ARGV[2], ARGV[3]
local stock = 'seckill:stock:' .. voucher
local buyers = 'seckill:order:' .. voucher
if tonumber(redis.call('get', stock)) <= 0 then
  return 1
end
if redis.call('sismember', buyers, user) == 1 then
  return 2
end
redis.call('incrby', stock, -1)
redis.call('sadd', buyers, user)
redis.call('xadd', 'stream.orders', '*', 'userId', user, 'voucherId', voucher, 'id', order)
return 0`;

// play sells fewer pieces than there are users, and then more, and checks what is left of both. call sends a command;
// each of the doors tries to buy, given voucher, user and order, by a connection of its own.
export async function play(call, doors) {
  for (const stock of [USERS * 2 / 3, USERS * 4 / 3]) {
    await call('DEL', 'seckill:order:10', 'seckill:orders:10', 'stream.orders');
    await call('SET', 'seckill:stock:10', String(stock));
    const sold = new Map();
    await Promise.all(Array.from({ length: 2 * USERS }, async (_, i) => {
      const [user, order] = [`user-${i >> 1}`, `order-${i}`]; // the next door buys for the same user
      const answer = await doors[i % doors.length]('10', user, order);
      if (answer === SOLD) sold.set(order, user);
      else assert.ok([SOLD_OUT, BOUGHT_ALREADY].includes(answer), `answer ${answer}`);
    }));
    const pieces = Math.min(stock, USERS);
    assert.equal(sold.size, pieces);
    assert.equal(new Set(sold.values()).size, pieces, 'users with one piece');
    assert.equal(await call('GET', 'seckill:stock:10'), String(stock - pieces));
    assert.equal(await call('SCARD', 'seckill:order:10'), pieces);
    const written = (await call('XRANGE', 'stream.orders', '-', '+')).map(([, fields]) => [fields[fields.indexOf('id') + 1], fields[fields.indexOf('userId') + 1]]);
    assert.equal(written.length, pieces);
    assert.deepEqual(new Map(written), sold);
  }
}
