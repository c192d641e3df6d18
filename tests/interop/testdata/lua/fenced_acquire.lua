-- RFencedLock: RLock's acquire that counts its acquisitions. KEYS: lock, token. ARGV: lease in ms, owner.
-- Replies {-1, token} when taken, else {how long the lock will live on, -1}.
local lock, lease, owner = KEYS[1], ARGV[1], ARGV[2]
if redis.call('exists', lock) == 1 and redis.call('hexists', lock, owner) == 0 then
  return {redis.call('pttl', lock), -1}
end
local token = redis.call('incr', KEYS[2])
redis.call('hincrby', lock, owner, 1)
redis.call('pexpire', lock, lease)
return {-1, token}
