package commands

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCompanionNames(t *testing.T) {
	for _, tt := range []struct{ lock, name string }{
		{"k", "redisson_lock_queue:{k}"},
		{"", "redisson_lock_queue:{}"},
		{"a}b", "redisson_lock_queue:{a}b}"},
		{"{a}b", "redisson_lock_queue:{a}b"},
		{"x{", "redisson_lock_queue:x{"},
	} {
		name := companion(nil, redissonQueue, []byte(tt.lock))
		require.Equal(t, tt.name, string(name))
		if tt.lock == "" {
			continue
		}
		bare, whole := LocksOf(name)
		require.Contains(t, []string{string(bare), string(whole)}, tt.lock)
	}
	bare, whole := LocksOf([]byte("redisson_lock_queue"))
	require.Empty(t, bare)
	require.Empty(t, whole)
}

// What a native command does to a lock and its companions is journaled as plain commands.
func TestEffectsOfLocks(t *testing.T) {
	f := newFixture(t, LockRows, StringRows, KeyRows, HashRows, ListRows, ZSetRows)
	f.want(`[1 2]`, "MLOCK", "2", "a", "b", "o", "PX", "100")
	require.Equal(t, []string{
		"0 HSET a o 1 $token 1", "0 PEXPIREAT a 1700000000100",
		"0 HSET b o 1 $token 2", "0 PEXPIREAT b 1700000000100",
	}, f.effects())
	f.want(`*nil`, "MLOCK", "2", "c", "b", "p")
	f.want(`1`, "LOCK.FORCE", "a")
	f.want(`[$nil 1]`, "MUNLOCK", "2", "a", "b", "o")
	f.want(`-STALETOKEN the lock is not held with this token`, "GUARD", "b", "2", "SET", "x", "1")
	require.Equal(t, []string{"0 DEL a", "0 DEL b"}, f.effects())
	require.Equal(t, []string{"redisson_lock__channel:{a} 0", "redisson_lock__channel:{b} 0"}, f.published)

	f.do("SET", "redisson_lock_token:{k}", "7")
	f.do("RPUSH", "redisson_lock_queue:{k}", "o", "p")
	f.do("ZADD", "redisson_lock_timeout:{k}", "1700000000900", "o", "1700000001000", "p")
	f.effects()
	f.want(`8`, "LOCK", "k", "o", "PX", "100")
	require.Equal(t, []string{
		"0 HSET k o 1 $token 8", "0 PEXPIREAT k 1700000000100", "0 SET redisson_lock_token:{k} 8 KEEPTTL",
		"0 LREM redisson_lock_queue:{k} 1 o", "0 ZREM redisson_lock_timeout:{k} o",
	}, f.effects())
	f.want(`+OK`, "GUARD", "k", "8", "SET", "x", "1")
	require.Equal(t, []string{"0 SET x 1"}, f.effects())
}

// A LOCK that waits behind RFairLock's queue asks to be woken when its head's time is up.
func TestRetryBehindAQueue(t *testing.T) {
	f := newFixture(t, LockRows, ListRows, ZSetRows)
	f.do("RPUSH", "redisson_lock_queue:{k}", "stale", "p", "q")
	f.do("ZADD", "redisson_lock_timeout:{k}", "5", "stale", "1700000000900.5", "p", "1700000001000", "q")
	require.Zero(t, f.client(2).do("LOCK", "k", "o", "WAIT", "0").Kind)
	require.Equal(t, []string{"k 1700000000901"}, f.retries)
}

func TestLockAllocations(t *testing.T) {
	f := newFixture(t, LockRows)
	require.Zero(t, f.allocsOf("LOCK", "k", "o", "PX", "1000"), "re-entry")
	require.Zero(t, f.allocsOf("LOCK", "k", "p"), "held by another")
	require.Zero(t, f.allocsOf("UNLOCK", "other", "o"))
	require.Zero(t, f.allocsOf("RENEW", "k", "o", "EX", "9", "TOKEN", "1"))
}
