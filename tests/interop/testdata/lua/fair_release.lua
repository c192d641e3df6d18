-- RFairLock: give back one hold, and tell the waiter whose turn it is.
-- KEYS: lock, queue, patience, channel, latch. ARGV: message, lease in ms, owner, now in ms, PUBLISH or SPUBLISH, life of the latch.
local lock, queue, patience, channel, latch = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local before = redis.call('get', latch)
if before then
  return tonumber(before)
end
local head = redis.call('lindex', queue, 0)
while head do
  local till = redis.call('zscore', patience, head)
  if till and tonumber(till) > tonumber(ARGV[4]) then
    break
  end
  redis.call('zrem', patience, head)
  redis.call('lpop', queue)
  head = redis.call('lindex', queue, 0)
end
if redis.call('exists', lock) == 1 then
  if redis.call('hexists', lock, ARGV[3]) == 0 then
    return nil
  end
  if redis.call('hincrby', lock, ARGV[3], -1) > 0 then
    redis.call('pexpire', lock, ARGV[2])
    redis.call('set', latch, 0, 'px', ARGV[6])
    return 0
  end
  redis.call('del', lock)
end
if head then
  redis.call(ARGV[5], channel .. ':' .. head, ARGV[1])
end
redis.call('set', latch, 1, 'px', ARGV[6])
return 1
