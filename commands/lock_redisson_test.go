package commands

import (
	"fmt"
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

// TestEffectsOfLocks: the changes that a native command makes to a lock and its companions are journaled as
// plain commands.
func TestEffectsOfLocks(t *testing.T) {
	f := newFixture(t, LockRows, StringRows, KeyRows, HashRows, ListRows, ZSetRows)
	f.want(`[1 2]`, "MLOCK", "2", "a", "b", "o", "PX", "100")
	require.Equal(t, []string{
		"0 HSET a o 1 $token 1", "0 PEXPIREAT a 1700000000099",
		"0 HSET b o 1 $token 2", "0 PEXPIREAT b 1700000000099",
	}, f.effects())
	f.want(`*nil`, "MLOCK", "2", "c", "b", "p")
	f.want(`1`, "LOCK.FORCE", "a")
	f.want(`[$nil 1]`, "MUNLOCK", "2", "a", "b", "o")
	f.want(`-STALETOKEN the lock is not held with this token`, "GUARD", "b", "2", "SET", "x", "1")
	require.Equal(t, []string{"0 DEL a", "0 DEL b"}, f.effects())
	require.Equal(t, []string{"redisson_lock__channel:{a} 0", "redisson_rwlock:{a} 1",
		"redisson_lock__channel:{b} 0", "redisson_rwlock:{b} 1"}, f.published)

	f.do("SET", "redisson_lock_token:{k}", "7")
	f.do("RPUSH", "redisson_lock_queue:{k}", "o", "p")
	f.do("ZADD", "redisson_lock_timeout:{k}", "1700000000900", "o", "1700000001000", "p")
	f.effects()
	f.want(`8`, "LOCK", "k", "o", "PX", "100")
	require.Equal(t, []string{
		"0 HSET k o 1 $token 8", "0 PEXPIREAT k 1700000000099", "0 SET redisson_lock_token:{k} 8 KEEPTTL",
		"0 LREM redisson_lock_queue:{k} 1 o", "0 ZREM redisson_lock_timeout:{k} o",
	}, f.effects())
	f.want(`+OK`, "GUARD", "k", "8", "SET", "x", "1")
	require.Equal(t, []string{"0 SET x 1"}, f.effects())
}

// TestRetryBehindAQueue: a LOCK that waits behind RFairLock's queue asks to be woken when the time of its
// head is over.
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

// TestLockAndItsCounterTogether: a lock and the counter of its tokens cannot be locked together, because the
// first of them would prevent the other.
func TestLockAndItsCounterTogether(t *testing.T) {
	f := newFixture(t, LockRows, StringRows, KeyRows, HashRows, ListRows, SetRows)
	const wrong = `-WRONGTYPE Operation against a key holding the wrong kind of value`
	for _, keys := range [][]string{
		{"redisson_lock_token:{foo}", "foo"},
		{"foo", "redisson_lock_token:{foo}"},
		{"redisson_lock_token:{foo}", "{foo}"},
		{"a{b", "x", "redisson_lock_token:a{b"},
		{"redisson_lock_token:redisson_lock_token:{k}", "other", "redisson_lock_token:{k}"},
	} {
		mlock := append(append([]string{"MLOCK", fmt.Sprint(len(keys))}, keys...), "me")
		f.want(wrong, mlock...)
		f.want(wrong, append(mlock, "PX", "100", "WAIT", "0")...)
		require.Empty(t, f.effects(), keys)
		f.want(`0`, append([]string{"EXISTS"}, keys...)...)
	}
	f.do("LOCK", "guarded", "me")
	f.effects()
	f.want(wrong, "GUARD", "guarded", "1", "MLOCK", "2", "redisson_lock_token:{foo}", "foo", "me")
	require.Empty(t, f.effects())

	f.want(`[2 3]`, "MLOCK", "2", "redisson_lock_token:foo", "foo", "me") // these are no lock and its counter
	f.want(`1`, "UNLOCK", "foo", "me")

	// A value of any other kind at the counter's key is refused, and left unchanged.
	for name, setup := range map[string][]string{
		"lock": {"LOCK", "redisson_lock_token:{foo}", "you"}, "hash": {"HSET", "redisson_lock_token:{foo}", "x", "y"},
		"list": {"RPUSH", "redisson_lock_token:{foo}", "1"}, "set": {"SADD", "redisson_lock_token:{foo}", "1"},
	} {
		f.do(setup...)
		f.effects()
		f.want(wrong, "LOCK", "foo", "me")
		f.want(wrong, "MLOCK", "2", "bar", "foo", "me")
		f.want(wrong, "MLOCK", "2", "foo", "bar", "me", "WAIT", "0")
		require.Empty(t, f.effects(), name)
		f.do("DEL", "redisson_lock_token:{foo}")
	}
}
