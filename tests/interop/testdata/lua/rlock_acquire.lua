-- RLock, RSpinLock: take a lock that is free, or one's own again.
-- KEYS: lock. ARGV: lease in ms, owner. Replies nil when taken, else how long the lock will live on.
local lock, lease, owner = KEYS[1], ARGV[1], ARGV[2]
local mine = redis.call('hexists', lock, owner) == 1
if not mine and redis.call('exists', lock) == 1 then
  return redis.call('pttl', lock)
end
redis.call('hincrby', lock, owner, 1)
redis.call('pexpire', lock, lease)
return nil
