package interop

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The logic of an RReadWriteLock's scripts, written anew. KEYS[1] is the lock; a read hold's string is
// "{lock}:<owner>:rwlock_timeout:<i>". An acquisition replies nil, or the PTTL of the lock.
const (
	readLock = `
local mode = redis.call('hget', KEYS[1], 'mode')
local holds = '{' .. KEYS[1] .. '}:' .. ARGV[2] .. ':rwlock_timeout:'
if mode == false then
	redis.call('hset', KEYS[1], 'mode', 'read')
	redis.call('hset', KEYS[1], ARGV[2], 1)
	redis.call('set', holds .. '1', 1)
	redis.call('pexpire', holds .. '1', ARGV[1])
	redis.call('pexpire', KEYS[1], ARGV[1])
	return nil
end
if mode == 'read' or mode == 'write' and redis.call('hexists', KEYS[1], ARGV[2] .. ':write') == 1 then
	local one = holds .. redis.call('hincrby', KEYS[1], ARGV[2], 1)
	redis.call('set', one, 1)
	redis.call('pexpire', one, ARGV[1])
	redis.call('pexpire', KEYS[1], math.max(redis.call('pttl', KEYS[1]), ARGV[1]))
	return nil
end
return redis.call('pttl', KEYS[1])`

	readUnlock = `
local mode = redis.call('hget', KEYS[1], 'mode')
if mode == false or redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
	return nil
end
local left = redis.call('hincrby', KEYS[1], ARGV[2], -1)
if left == 0 then
	redis.call('hdel', KEYS[1], ARGV[2])
end
redis.call('del', '{' .. KEYS[1] .. '}:' .. ARGV[2] .. ':rwlock_timeout:' .. (left + 1))
if redis.call('hlen', KEYS[1]) > 1 then
	local most = -3
	for _, field in ipairs(redis.call('hkeys', KEYS[1])) do
		local n = tonumber(redis.call('hget', KEYS[1], field))
		if type(n) == 'number' then
			for i = n, 1, -1 do
				most = math.max(most, redis.call('pttl', '{' .. KEYS[1] .. '}:' .. field .. ':rwlock_timeout:' .. i))
			end
		end
	end
	if most > 0 then
		redis.call('pexpire', KEYS[1], most)
		return 0
	end
	if mode == 'write' then
		return 0
	end
end
redis.call('del', KEYS[1])
redis.call('publish', 'redisson_rwlock:{' .. KEYS[1] .. '}', '0')
return 1`

	readRenew = `
if redis.call('hget', KEYS[1], ARGV[2]) == false then
	return 0
end
redis.call('pexpire', KEYS[1], ARGV[1])
for _, field in ipairs(redis.call('hkeys', KEYS[1])) do
	local n = tonumber(redis.call('hget', KEYS[1], field))
	if type(n) == 'number' then
		for i = n, 1, -1 do
			redis.call('pexpire', '{' .. KEYS[1] .. '}:' .. field .. ':rwlock_timeout:' .. i, ARGV[1])
		end
	end
end
return 1`

	writeLock = `
local mode, me = redis.call('hget', KEYS[1], 'mode'), ARGV[2] .. ':write'
if mode == false then
	redis.call('hset', KEYS[1], 'mode', 'write')
	redis.call('hset', KEYS[1], me, 1)
	redis.call('pexpire', KEYS[1], ARGV[1])
	return nil
end
if mode == 'write' and redis.call('hexists', KEYS[1], me) == 1 then
	redis.call('hincrby', KEYS[1], me, 1)
	redis.call('pexpire', KEYS[1], redis.call('pttl', KEYS[1]) + ARGV[1])
	return nil
end
return redis.call('pttl', KEYS[1])`

	writeUnlock = `
local me = ARGV[2] .. ':write'
if redis.call('hget', KEYS[1], 'mode') ~= 'write' or redis.call('hexists', KEYS[1], me) == 0 then
	return nil
end
if redis.call('hincrby', KEYS[1], me, -1) > 0 then
	redis.call('pexpire', KEYS[1], ARGV[1])
	return 0
end
redis.call('hdel', KEYS[1], me)
if redis.call('hlen', KEYS[1]) == 1 then
	redis.call('del', KEYS[1])
	redis.call('publish', 'redisson_rwlock:{' .. KEYS[1] .. '}', '1')
else
	redis.call('hset', KEYS[1], 'mode', 'read')
end
return 1`
)

// readWrite is a native server with a client of each kind, and a clock that stands still.
type readWrite struct {
	*native
}

func startReadWrite(t *testing.T) *readWrite {
	t.Helper()
	return &readWrite{startNative(t, "", time.UnixMilli(1_750_000_000_000))}
}

// script runs one of the scripts for an owner, with a lease of 5 seconds.
func (rw *readWrite) script(want, text, owner string) {
	rw.t.Helper()
	require.Equal(rw.t, want, rw.Client.Do("EVAL", text, "1", key, "5000", owner).String())
}

// says runs a native command and requires its reply; "token" is any token.
func (rw *readWrite) says(want, command string) {
	rw.t.Helper()
	got := rw.Client.Do(strings.Fields(strings.ReplaceAll(command+" ", " K ", " "+key+" "))...)
	if want == "token" {
		require.Greater(rw.t, got.Int, int64(1), "%s: %s", command, got)
		return
	}
	require.Equal(rw.t, want, got.String(), command)
}

// TestReadersAndWritersExcludeEachOther: native readers and writers exclude those of Redisson, in any order
// of arrival.
func TestReadersAndWritersExcludeEachOther(t *testing.T) {
	rw := startReadWrite(t)
	const none, busy = "$nil", "5000"
	rw.says("token", "LOCK K n PX 5000")
	rw.script(busy, readLock, "r")
	rw.script(busy, writeLock, "w")
	rw.script(none, readUnlock, "r")
	rw.says("1", "UNLOCK K n")

	rw.says("token", "LOCK K n SHARED PX 5000")
	rw.script(busy, writeLock, "w")
	rw.script(none, readLock, "r")
	rw.script(none, readLock, "r")
	rw.says("$nil", "LOCK K x")
	rw.says("token", "LOCK K m SHARED PX 5000")
	rw.script("0", readUnlock, "r")
	rw.script("0", readUnlock, "r")
	rw.script(none, readUnlock, "r")
	// Next to a field of Redisson, time counts as in Redis. A native lease ends a millisecond before its key.
	rw.script("4999", writeLock, "w")
	rw.says("$nil", "LOCK K x")
	rw.says("1", "UNLOCK K n")
	rw.script(busy, writeLock, "w")
	rw.says("1", "UNLOCK K m")
	rw.says("0", "DBSIZE")

	rw.script(none, readLock, "r")
	rw.says("$nil", "LOCK K x")
	rw.says("token", "LOCK K n SHARED PX 5000")
	rw.script("0", readUnlock, "r")
	rw.script("4999", writeLock, "w")
	rw.says("1", "UNLOCK K n")
	rw.says("0", "DBSIZE")

	rw.script(none, readLock, "r")
	rw.says("token", "LOCK K n SHARED PX 5000")
	rw.says("1", "UNLOCK K n")
	rw.says("$nil", "LOCK K x")
	rw.script(busy, writeLock, "w")
	rw.script("1", readUnlock, "r")
	rw.says("0", "DBSIZE")

	rw.script(none, writeLock, "w")
	rw.says("$nil", "LOCK K x")
	rw.says("$nil", "LOCK K x SHARED")
	rw.script(none, readLock, "w")
	rw.script("1", writeUnlock, "w")
	rw.says("$nil", "LOCK K x")
	rw.says("token", "LOCK K x SHARED PX 5000")
	rw.script("0", readUnlock, "w")
	rw.says("1", "UNLOCK K x")
	rw.says("0", "DBSIZE")
}

// TestUpAndDownBesideScripts: Redisson's scripts see a native reader that becomes a writer, and a reader
// again.
func TestUpAndDownBesideScripts(t *testing.T) {
	rw := startReadWrite(t)
	rw.says("token", "LOCK K n SHARED PX 5000")
	rw.script("$nil", readLock, "r")
	rw.says("$nil", "LOCK K n")
	rw.script("0", readUnlock, "r")
	rw.says("token", "LOCK K n PX 5000")
	rw.script("5000", readLock, "r")
	rw.says("0", "UNLOCK K n")
	rw.script("$nil", readLock, "r")
	rw.says("1", "UNLOCK K n")
	rw.script("1", readUnlock, "r")
	rw.says("0", "DBSIZE")
}

// TestLeasesBesideScripts: the lease of a native reader does not depend on Redisson's readers beside it.
func TestLeasesBesideScripts(t *testing.T) {
	rw := startReadWrite(t)
	rw.says("token", "LOCK K n SHARED PX 60000")
	rw.script("$nil", readLock, "r")
	rw.says("59999", "PTTL K") // counted as by Redis: see TestReadersAndWritersExcludeEachOther
	rw.script("0", readUnlock, "r")
	rw.says("59999", "PTTL K")
	rw.script("$nil", readLock, "r")
	rw.script("1", readRenew, "r")
	rw.script("0", readUnlock, "r")
	rw.says("59999", "PTTL K")

	rw.script("$nil", readLock, "r")
	rw.says("1", "RENEW K n PX 1000")
	rw.says("5000", "PTTL K")
	rw.clock.Advance(time.Second)
	rw.says("0", "RENEW K n")
	rw.says("$nil", "LOCK K x")
	rw.says("4000", "PTTL K")
	rw.script("1", readUnlock, "r")
	rw.says("0", "DBSIZE")
}

// TestWaitersOfBothKinds: native waiters get their turn when the scripts release the lock, and Redisson's
// waiters get messages of native releases.
func TestWaitersOfBothKinds(t *testing.T) {
	rw := startReadWrite(t)
	rw.script("$nil", readLock, "r")
	waiter := rw.owner("x")
	waiter.Send("LOCK", key, "x", "WAIT", "0", "PX", "5000")
	require.Eventually(t, func() bool { return rw.blocked("x") }, time.Minute, time.Millisecond)
	rw.script("1", readUnlock, "r")
	require.Positive(t, waiter.Receive().Int)
	ear := rw.owner("ear")
	ear.Do("SUBSCRIBE", "redisson_rwlock:{"+key+"}")
	rw.says("token", "LOCK K x SHARED PX 5000")
	rw.says("0", "UNLOCK K x")
	require.Equal(t, "1", ear.Receive().Elems[2].Str) // the message that lets the readers try
	rw.says("1", "UNLOCK K x")
	require.Equal(t, "0", ear.Receive().Elems[2].Str)
	rw.says("token", "LOCK K x")
	rw.says("1", "LOCK.FORCE K")
	require.Equal(t, "1", ear.Receive().Elems[2].Str)

	rw.script("$nil", writeLock, "w")
	waiter.Send("LOCK", key, "x", "SHARED", "WAIT", "0")
	require.Eventually(t, func() bool { return rw.blocked("x") }, time.Minute, time.Millisecond)
	rw.says("1", "LOCK.FORCE K")
	require.Positive(t, waiter.Receive().Int)
}
