package costbench

import (
	"crypto/sha1"
	"encoding/hex"
)

// The native commands are compared with Lua scripts that do the same work, as users of Redis do. The scripts
// are written anew, with the logic of Redisson's RLock and of the usual flash-sale script.
const (
	getScript = `return redis.call('get', KEYS[1])`

	// KEYS: the lock. ARGV: lease in ms, owner. Nil: acquired; else the rest of the holder's lease.
	lockScript = `
if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
  redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
return redis.call('pttl', KEYS[1])`

	// KEYS: the lock, its channel. ARGV: message, lease in ms, owner. Nil: not the
	// owner; 0: still held; 1: released.
	unlockScript = `
if redis.call('hexists', KEYS[1], ARGV[3]) == 0 then
  return nil
end
local holds = redis.call('hincrby', KEYS[1], ARGV[3], -1)
if holds > 0 then
  redis.call('pexpire', KEYS[1], ARGV[2])
  return 0
end
redis.call('del', KEYS[1])
redis.call('publish', KEYS[2], ARGV[1])
return 1`

	// ARGV: voucher, user, order. 0: sold; 1: no stock; 2: bought already.
	saleScript = `
local stock = 'seckill:stock:' .. ARGV[1]
local buyers = 'seckill:order:' .. ARGV[1]
if tonumber(redis.call('get', stock)) <= 0 then
  return 1
end
if redis.call('sismember', buyers, ARGV[2]) == 1 then
  return 2
end
redis.call('incrby', stock, -1)
redis.call('sadd', buyers, ARGV[2])
redis.call('xadd', 'stream.orders', '*', 'userId', ARGV[2], 'voucherId', ARGV[1], 'id', ARGV[3])
return 0`
)

// scriptHash returns the name of a script for EVALSHA.
func scriptHash(script string) string {
	sum := sha1.Sum([]byte(script))
	return hex.EncodeToString(sum[:])
}
