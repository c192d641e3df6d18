-- RLock: give back one hold.
-- KEYS: lock, channel, latch of this request. ARGV: message, lease in ms, owner, PUBLISH or SPUBLISH, life of the latch in ms.
-- Replies nil (not the owner), 0 (still held) or 1 (free now); a request that is sent twice gets its first answer again.
local lock, channel, latch = KEYS[1], KEYS[2], KEYS[3]
local message, lease, owner, publish, memory = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local before = redis.call('get', latch)
if before then
  return tonumber(before)
end
if redis.call('hexists', lock, owner) == 0 then
  return nil
end
local free = 0
if redis.call('hincrby', lock, owner, -1) > 0 then
  redis.call('pexpire', lock, lease)
else
  redis.call('del', lock)
  redis.call(publish, channel, message)
  free = 1
end
redis.call('set', latch, free, 'px', memory)
return free
