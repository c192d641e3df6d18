-- RFairLock: take the lock if it is free and nobody stands before us, else (ARGV[5] = '1') stand in line.
-- KEYS: lock, queue (list), patience (sorted set: until when each waiter counts, by the clients' clocks).
-- ARGV: lease in ms, owner, how long a waiter counts in ms, now in ms, 1 to wait or 0 to try only.
-- Replies nil when taken; else 1 to who only tries, and to a waiter the ms after which to look again.
local lock, queue, patience = KEYS[1], KEYS[2], KEYS[3]
local lease, owner, life, now, waits = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5] == '1'

local head = redis.call('lindex', queue, 0)
while head do
  local till = redis.call('zscore', patience, head)
  if till and tonumber(till) > now then
    break
  end
  redis.call('zrem', patience, head)
  redis.call('lpop', queue)
  head = redis.call('lindex', queue, 0)
end

if redis.call('exists', lock) == 0 and (not head or head == owner) then
  redis.call('lpop', queue)
  redis.call('zrem', patience, owner)
  for _, other in ipairs(redis.call('zrange', patience, 0, -1)) do
    redis.call('zincrby', patience, -life, other)
  end
  redis.call('hset', lock, owner, 1)
  redis.call('pexpire', lock, lease)
  return nil
end
if redis.call('hexists', lock, owner) == 1 then
  redis.call('hincrby', lock, owner, 1)
  redis.call('pexpire', lock, lease)
  return nil
end
if not waits then
  return 1
end

local known = redis.call('zscore', patience, owner)
if known then
  return known - life - now
end
local last = redis.call('lindex', queue, -1)
local before = last and redis.call('zscore', patience, last)
local ahead = before and before - now or redis.call('pttl', lock)
redis.call('zadd', patience, ahead + life + now, owner)
redis.call('rpush', queue, owner)
return ahead
