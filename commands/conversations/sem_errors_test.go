package conversations

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server"
	"lockserver/tests/testkit"
)

const (
	errWrongType = "-WRONGTYPE Operation against a key holding the wrong kind of value"
	errSyntax    = "-ERR syntax error"
	errPermits   = "-ERR PERMITS must be between 1 and 1000000000"
	errLimit     = "-ERR LIMIT must be between 1 and 1000000000"
	errInteger   = "-ERR value is not an integer or out of range"
	errOwner     = "-ERR lock owner must not be '$token', '$watchdog', '$mode', '$limit', '$readers' or 'mode', these fields are reserved"
)

// semErrors are wrong calls. s is a semaphore of 5 permits, and a holds 2 of them. nil does not exist.
var semErrors = []struct{ command, reply string }{
	{"SEM.ACQUIRE s", "-ERR wrong number of arguments for 'sem.acquire' command"},
	{"SEM.ACQUIRE s b LIMIT", errSyntax},
	{"SEM.ACQUIRE s b LIMIT 5 LIMIT 5", errSyntax},
	{"SEM.ACQUIRE s b PERMITS 1 PERMITS 1", errSyntax},
	{"SEM.ACQUIRE s b ONCE ONCE", errSyntax},
	{"SEM.ACQUIRE s b WAIT 1 WAIT 1", errSyntax},
	{"SEM.ACQUIRE s b PX 1 EX 1", errSyntax},
	{"SEM.ACQUIRE s b PX 1 PX 1", errSyntax},
	{"SEM.ACQUIRE s b SHARED", errSyntax},
	{"SEM.ACQUIRE s b LIMIT 0", errLimit},
	{"SEM.ACQUIRE s b LIMIT -1", errLimit},
	{"SEM.ACQUIRE s b LIMIT 1000000001", errLimit},
	{"SEM.ACQUIRE s b LIMIT x", errInteger},
	{"SEM.ACQUIRE s b LIMIT 9223372036854775808", errInteger},
	{"SEM.ACQUIRE s b PERMITS 0", errPermits},
	{"SEM.ACQUIRE s b PERMITS -5", errPermits},
	{"SEM.ACQUIRE s b PERMITS 1000000001", errPermits},
	{"SEM.ACQUIRE s b PERMITS 1.5", errInteger},
	{"SEM.ACQUIRE s b PERMITS 6", "-ERR semaphore 's' has limit 5, which is less than the 6 PERMITS asked for"},
	{"SEM.ACQUIRE s b PERMITS 6 WAIT 0", "-ERR semaphore 's' has limit 5, which is less than the 6 PERMITS asked for"},
	{"SEM.ACQUIRE s b LIMIT 6", "-LIMITMISMATCH semaphore 's' has limit 5, not 6"},
	{"SEM.ACQUIRE s b LIMIT 6 WAIT 0", "-LIMITMISMATCH semaphore 's' has limit 5, not 6"},
	{"SEM.ACQUIRE s b LIMIT 6 PERMITS 7", "-LIMITMISMATCH semaphore 's' has limit 5, not 6"},
	{"SEM.ACQUIRE s b INITIAL 6 PERMITS 6", "-ERR semaphore 's' has limit 5, which is less than the 6 PERMITS asked for"},
	{"SEM.ACQUIRE s b LIMIT 5 INITIAL 5", errSyntax},
	{"SEM.ACQUIRE s b INITIAL 5 LIMIT 5", errSyntax},
	{"SEM.ACQUIRE s b INITIAL 5 INITIAL 5", errSyntax},
	{"SEM.ACQUIRE s b INITIAL 0", errLimit},
	{"SEM.ACQUIRE s a LIMIT 6 PERMITS 3 ONCE", "-LIMITMISMATCH semaphore 's' has limit 5, not 6"},
	{"SEM.ACQUIRE nil b INITIAL 2 PERMITS 3", "-ERR semaphore 'nil' has limit 2, which is less than the 3 PERMITS asked for"},
	{"SEM.ACQUIRE nil b", "-ERR no such semaphore 'nil', the SEM.ACQUIRE that makes it needs a LIMIT"},
	{"SEM.ACQUIRE nil b WAIT 0", "-ERR no such semaphore 'nil', the SEM.ACQUIRE that makes it needs a LIMIT"},
	{"SEM.ACQUIRE nil b LIMIT 2 PERMITS 3", "-ERR semaphore 'nil' has limit 2, which is less than the 3 PERMITS asked for"},
	{"SEM.ACQUIRE s b WAIT -1", "-ERR timeout is negative"},
	{"SEM.ACQUIRE s b WAIT x", "-ERR timeout is not an integer or out of range"},
	{"SEM.ACQUIRE s b PX 0", "-ERR invalid expire time in 'sem.acquire' command"},
	{"SEM.ACQUIRE s b PX -1", "-ERR invalid expire time in 'sem.acquire' command"},
	{"SEM.ACQUIRE s b EX x", "-ERR invalid expire time in 'sem.acquire' command"},
	{"SEM.ACQUIRE s b PX 9223372036854775807", "-ERR invalid expire time in 'sem.acquire' command"},
	{"SEM.ACQUIRE s ''", "-ERR lock owner must not be empty"},
	{"SEM.ACQUIRE s $limit", errOwner},
	{"SEM.ACQUIRE s $mode", errOwner},
	{"SEM.ACQUIRE s $token", errOwner},
	{"SEM.ACQUIRE s mode", errOwner},
	{"LOCK k $limit", errOwner},
	{"SEM.RELEASE s", "-ERR wrong number of arguments for 'sem.release' command"},
	{"SEM.RELEASE s a PERMITS 0", errPermits},
	{"SEM.RELEASE s a PERMITS x", errInteger},
	{"SEM.RELEASE s a PERMITS 1 PERMITS 1", errSyntax},
	{"SEM.RELEASE s a TOKEN 0", errInteger},
	{"SEM.RELEASE s a TOKEN x", errInteger},
	{"SEM.RELEASE s a NOW", errSyntax},
	{"SEM.RELEASE s $limit", errOwner},
	{"SEM.RELEASE s ''", "-ERR lock owner must not be empty"},
	{"SEM.RELEASE s a PERMITS 3", "$nil"},
	{"SEM.RELEASE s a TOKEN 3", "$nil"},
	{"SEM.RELEASE s b", "$nil"},
	{"SEM.RELEASE nil a", "$nil"},
	{"SEM.RENEW s", "-ERR wrong number of arguments for 'sem.renew' command"},
	{"SEM.RENEW s a PX 0", "-ERR invalid expire time in 'sem.renew' command"},
	{"SEM.RENEW s a PX 1 EX 1", errSyntax},
	{"SEM.RENEW s a TOKEN -1", errInteger},
	{"SEM.RENEW s $mode", errOwner},
	{"SEM.RENEW s a TOKEN 1", "0"},
	{"SEM.RENEW nil a", "0"},
	{"SEM.RESIZE s", "-ERR wrong number of arguments for 'sem.resize' command"},
	{"SEM.RESIZE s 0", errLimit},
	{"SEM.RESIZE s -1", errLimit},
	{"SEM.RESIZE s 1000000001", errLimit},
	{"SEM.RESIZE s x", errInteger},
	{"SEM.RESIZE nil 5", "0"},
	{"SEM.INFO", "-ERR wrong number of arguments for 'sem.info' command"},
	{"SEM.INFO s COUNT 0", "-ERR value is out of range, must be positive"},
	{"SEM.INFO s COUNT x", "-ERR value is out of range, must be positive"},
	{"SEM.INFO s LIST", errSyntax},
	{"SEM.INFO nil", "$nil"},
	// A semaphore is no lock.
	{"LOCK s a", errWrongType},
	{"LOCK s b WAIT 0", errWrongType},
	{"LOCK s b SHARED", errWrongType},
	{"LOCK s a ONCE", errWrongType},
	{"UNLOCK s a", errWrongType},
	{"UNLOCK s a SHARED", errWrongType},
	{"RENEW s a", errWrongType},
	{"MLOCK 2 k s a", errWrongType},
	{"MUNLOCK 2 k s a", errWrongType},
	{"GUARD s 1 SET x 1", "-STALETOKEN the lock is not held with this token"},
}

// TestSemaphoreErrors: a wrong call answers so, and changes nothing.
func TestSemaphoreErrors(t *testing.T) {
	t.Parallel()
	clock := server.NewManualClock(begun)
	srv := serve(t, server.Options{Clock: clock})
	c := client(t, srv)
	do := func(command string) string {
		words := strings.Fields(command)
		for i, word := range words {
			if word == "''" {
				words[i] = ""
			}
		}
		return c.Do(words...).String()
	}
	require.NotContains(t, do("SEM.ACQUIRE s a LIMIT 5 PERMITS 2 PX 60000"), "-")
	before := do("HGETALL s") + do("PTTL s") + do("HPTTL s FIELDS 1 a")
	for _, e := range semErrors {
		require.Equal(t, e.reply, do(e.command), e.command)
		require.Equal(t, before, do("HGETALL s")+do("PTTL s")+do("HPTTL s FIELDS 1 a"), e.command)
		require.Equal(t, "1", do("DBSIZE"), e.command)
	}
	require.Zero(t, parked(srv))
}

// TestSemaphoreForeignFields: all commands ignore a field of HSET, unless its value is a holder's.
func TestSemaphoreForeignFields(t *testing.T) {
	t.Parallel()
	clock := server.NewManualClock(begun)
	srv := serve(t, server.Options{Clock: clock})
	c := client(t, srv)
	do := func(command string) string { return c.Do(strings.Fields(command)...).String() }
	const token = `^[1-9][0-9]+$`
	for _, many := range []int{0, 40} { // few holders, and so many that the semaphore keeps a tally
		for _, value := range []string{"1", "x", "$0:1:0", "$5:0:0", "$5:0:1", "$5:1:1", "$5:1:x", "$5:1", "$9007199254740991:1:0"} {
			require.Regexp(t, token, do("SEM.ACQUIRE s a LIMIT 50 PX 60000"))
			for i := range many {
				require.Regexp(t, token, do(fmt.Sprintf("SEM.ACQUIRE s other:%d PX 50000", i)))
			}
			shown := []string{"SEM.INFO s", "LOCK.INFO s", "SEM.INFO s COUNT 100", "LOCK.INFO s COUNT 100", "LOCK.LIST", "SEM.RELEASE s zed", "SEM.RENEW s zed PX 1000",
				"SEM.RENEW s a PX 60000", "LOCK.FORCE s OWNER zed"}
			before := repliesTo(c, shown)
			require.Equal(t, "1", do("HSET s zed "+value))
			require.Equal(t, before, repliesTo(c, shown), value)
			require.Equal(t, "$nil", before[5])
			require.Equal(t, "0", before[6])
			require.Equal(t, fmt.Sprintf("%q", value), do("HGET s zed"))

			require.Regexp(t, token, do("SEM.ACQUIRE s zed PX 1000"), "%s: it becomes a holder's", value)
			require.EqualValues(t, many+2, testkit.Entries(t, c.Do("SEM.INFO", "s", "COUNT", "1"))["holding"].Int, value)
			require.EqualValues(t, many+2, testkit.Entries(t, c.Do("SEM.INFO", "s"))["used"].Int, value)
			require.Equal(t, "0", do("SEM.RELEASE s zed"))

			require.Equal(t, "1", do("HSET s zed "+value))
			for i := range many {
				require.Equal(t, "0", do(fmt.Sprintf("SEM.RELEASE s other:%d", i)))
			}
			require.Equal(t, "0", do("SEM.RELEASE s a"))
			require.Equal(t, "0", do("EXISTS s"), "it goes with the last holder")

			require.Regexp(t, token, do("SEM.ACQUIRE s a LIMIT 1 PX 1000"))
			require.Equal(t, "1", do("HSET s zed "+value))
			require.Equal(t, "+QUEUED", do("SEM.ACQUIRE s b LIMIT 1 PX 60000 WAIT 0 NOTIFY"))
			clock.Advance(2 * time.Second)
			require.Equal(t, "0", do("SEM.RELEASE s b"), "it goes with the last lease")
			require.Equal(t, "0", do("EXISTS s"))
		}
	}
	require.Zero(t, parked(srv))
}

// TestSemaphorePersistedHolder: a holder keeps its permits after HPERSIST.
func TestSemaphorePersistedHolder(t *testing.T) {
	t.Parallel()
	srv := serve(t, server.Options{Clock: server.NewManualClock(begun)})
	c := client(t, srv)
	do := func(command string) string { return c.Do(strings.Fields(command)...).String() }
	const token = `^[1-9][0-9]+$`
	require.Regexp(t, token, do("SEM.ACQUIRE s a LIMIT 1 PX 60000"))
	require.Equal(t, "[1]", do("HPERSIST s FIELDS 1 a"))
	require.Equal(t, "$nil", do("SEM.ACQUIRE s b PX 60000"))
	require.EqualValues(t, 1, testkit.Entries(t, c.Do("SEM.INFO", "s", "COUNT", "1"))["holding"].Int)
	require.Equal(t, "0", do("SEM.RELEASE s a"))
	require.Regexp(t, token, do("SEM.ACQUIRE s b LIMIT 1 PX 60000"))
}

// TestSemaphoreOtherLimits: programs with different limits, and a change of the limit while they run. Some of
// them say INITIAL.
func TestSemaphoreOtherLimits(t *testing.T) {
	t.Parallel()
	srv := serve(t, server.Options{Clock: server.NewManualClock(begun)})
	c, waiter := client(t, srv), client(t, srv)
	do := func(command string) string { return c.Do(strings.Fields(command)...).String() }
	const token = `^[1-9][0-9]+$`
	require.Regexp(t, token, do("SEM.ACQUIRE s web-1 INITIAL 2 EX 900"))
	require.Regexp(t, token, do("SEM.ACQUIRE s web-2 LIMIT 2 EX 900"))
	require.Equal(t, `"2"`, do("HGET s $limit"))
	waiter.Send("SEM.ACQUIRE", "s", "web-3", "INITIAL", "2", "EX", "900", "WAIT", "0")
	awaitParked(t, srv, 1)
	require.Equal(t, "+QUEUED", do("SEM.ACQUIRE s web-4 INITIAL 2 EX 900 WAIT 60000 NOTIFY ONCE"))
	require.Equal(t, "1", do("SEM.RESIZE s 1"))
	require.Equal(t, "+QUEUED", do("SEM.ACQUIRE s web-4 INITIAL 2 EX 900 WAIT 60000 NOTIFY ONCE"), "it keeps its place")
	require.Equal(t, "$nil", do("SEM.ACQUIRE s web-5 INITIAL 3 EX 900"), "the semaphore's own limit counts")
	require.Equal(t, "-LIMITMISMATCH semaphore 's' has limit 1, not 2", do("SEM.ACQUIRE s web-5 LIMIT 2 EX 900"))
	require.Regexp(t, token, do("SEM.ACQUIRE s web-2 LIMIT 2 EX 900 ONCE"), "a holder whose reply was lost holds")
	require.Equal(t, "0", do("SEM.RELEASE s web-1"))
	require.Equal(t, "$nil", do("SEM.ACQUIRE s web-5 INITIAL 3 EX 900"))
	require.Equal(t, "1", do("SEM.RESIZE s 3"))
	require.Regexp(t, token, waiter.Receive().String())
	require.Contains(t, do("SEM.INFO s"), `["limit" 3 "available" 0 "used" 3 `)
	require.Regexp(t, token, do("SEM.ACQUIRE s web-4 INITIAL 2 EX 900 WAIT 60000 NOTIFY ONCE"), "granted while it waited")
	require.Equal(t, "1", do("DEL s"))
	require.Regexp(t, token, do("SEM.ACQUIRE s web-1 INITIAL 4 EX 900"), "a new semaphore")
	require.Equal(t, `"4"`, do("HGET s $limit"))
}

// TestSemaphoreTypes: commands on semaphores at keys that hold something else.
func TestSemaphoreTypes(t *testing.T) {
	t.Parallel()
	clock := server.NewManualClock(begun)
	srv := serve(t, server.Options{Clock: clock})
	c := client(t, srv)
	do := func(command string) string { return c.Do(strings.Fields(command)...).String() }
	for _, setup := range []string{
		"SET k x", "RPUSH k x", "SADD k x", "ZADD k 1 x", "XADD k * f v", "HSET k f v", "HSET k $mode sem a $1:1:0",
		"HSET k $mode sem $limit 0 a $1:1:0", "HSET k $mode sem $limit x a $1:1:0", "HSET k $mode sem $limit 1000000001 a $1:1:0",
		"HSET k $mode sem $limit 5 a 1", "HSET k $mode sem $limit 5 a $1:0:1", "HSET k $mode sem $limit 5 a $1:1:0 mode read",
		"HSET k $mode other $limit 5 a $1:1:0", "LOCK k b PX 60000", "LOCK k b SHARED PX 60000", "HSET k mode read b 1",
	} {
		do("FLUSHALL")
		require.NotContains(t, do(setup), "-ERR", setup)
		before := do("DUMP k")
		for _, command := range []string{"SEM.ACQUIRE k a LIMIT 5", "SEM.ACQUIRE k a LIMIT 5 WAIT 0", "SEM.RELEASE k a", "SEM.RENEW k a"} {
			require.Equal(t, errWrongType, do(command), "%s: %s", setup, command)
		}
		if !strings.Contains(setup, "$limit 5 a") || strings.Contains(setup, "mode read") || strings.Contains(setup, "other") {
			for _, command := range []string{"SEM.RESIZE k 5", "SEM.INFO k"} {
				require.Equal(t, errWrongType, do(command), "%s: %s", setup, command)
			}
		}
		require.Equal(t, before, do("DUMP k"), setup)
	}
	// Fields that a last holder has left behind mean nothing.
	for _, left := range []string{"HSET k $mode sem $limit 3", "HSET k $mode read", "HSET k $token 5"} {
		do("FLUSHALL")
		do(left)
		require.Equal(t, "$nil", do("SEM.INFO k"), left)
		require.Equal(t, "0", do("SEM.RESIZE k 4"), left)
		require.Equal(t, "$nil", do("SEM.RELEASE k a"), left)
		require.Contains(t, do("SEM.ACQUIRE k a"), "-ERR no such semaphore", left)
		require.NotContains(t, do("SEM.ACQUIRE k a LIMIT 8 PX 1000"), "-", left)
		require.Equal(t, `"8"`, do("HGET k $limit"), left)
		require.Equal(t, "3", do("HLEN k"), left)
	}
	do("FLUSHALL")
	do("HSET k $mode sem $limit 3")
	require.NotContains(t, do("LOCK k a PX 1000"), "-")
	require.Equal(t, "2", do("HLEN k"))
	require.Zero(t, parked(srv))
}

// repliesTo returns the replies to commands, as texts.
func repliesTo(c *testkit.Client, commands []string) (all []string) {
	for _, command := range commands {
		all = append(all, c.Do(strings.Fields(command)...).String())
	}
	return all
}
