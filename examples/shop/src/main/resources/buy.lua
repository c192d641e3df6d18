-- KEYS: stock, buyers; ARGV: user, order. 0: sold, 1: sold out, 2: bought already.
if redis.call('HEXISTS', KEYS[2], ARGV[1]) == 1 then
    return 2
end
if tonumber(redis.call('GET', KEYS[1])) < 1 then
    return 1
end
redis.call('DECR', KEYS[1])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
return 0
