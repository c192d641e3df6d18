-- RFairLock: a waiter gives up; who stands behind it counts that much less long. KEYS: queue, patience. ARGV: owner, its ms.
local behind = false
for _, waiter in ipairs(redis.call('lrange', KEYS[1], 0, -1)) do
  if behind then
    redis.call('zincrby', KEYS[2], -tonumber(ARGV[2]), waiter)
  end
  behind = behind or waiter == ARGV[1]
end
redis.call('zrem', KEYS[2], ARGV[1])
return redis.call('lrem', KEYS[1], 0, ARGV[1])
