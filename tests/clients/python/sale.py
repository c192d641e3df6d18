"""A flash sale in which every user tries twice, at the same time: more is never sold than there is, and no user has two pieces.

How a client buys is the test's business: by SCRIPT, or by SECKILL; both work on the same keys.
"""

from concurrent.futures import ThreadPoolExecutor

# What a purchase answers.
SOLD, SOLD_OUT, BOUGHT_ALREADY = 0, 1, 2

USERS = 150

# Sells one piece of voucher ARGV[1] to user ARGV[2] as order ARGV[3], and hands the order to the workers.
SCRIPT = """
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
return 0
"""


def play(r, buy):
    """Sells fewer pieces than there are users, and then more; buy(voucher, user, order) tries to buy one, from many threads."""
    for stock in (USERS * 2 // 3, USERS * 4 // 3):
        r.delete("seckill:order:10", "seckill:orders:10", "stream.orders")
        r.set("seckill:stock:10", stock)
        tries = [(f"user-{i // 2}", f"order-{i}") for i in range(2 * USERS)]  # the next thread buys for the same user
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda one: buy("10", *one), tries))
        assert set(answers) <= {SOLD, SOLD_OUT, BOUGHT_ALREADY}
        sold = {order: user for (user, order), answer in zip(tries, answers) if answer == SOLD}
        pieces = min(stock, USERS)
        assert len(sold) == pieces and len(set(sold.values())) == pieces
        assert r.get("seckill:stock:10") == str(stock - pieces) and r.scard("seckill:order:10") == pieces
        written = [(fields["id"], fields["userId"]) for _, fields in r.xrange("stream.orders")]
        assert len(written) == pieces and dict(written) == sold
