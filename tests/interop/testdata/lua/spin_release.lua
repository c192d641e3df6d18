-- RSpinLock: give back one hold; nobody listens.
-- KEYS: lock, latch of this request. ARGV: lease in ms, owner, life of the latch in ms. Replies as RLock's release.
local lock, latch = KEYS[1], KEYS[2]
local lease, owner, memory = ARGV[1], ARGV[2], ARGV[3]
local before = redis.call('get', latch)
if before then
  return tonumber(before)
end
if redis.call('hexists', lock, owner) == 0 then
  return nil
end
local left = redis.call('hincrby', lock, owner, -1)
local free = left > 0 and 0 or 1
if free == 1 then
  redis.call('del', lock)
else
  redis.call('pexpire', lock, lease)
end
redis.call('set', latch, free, 'px', memory)
return free
