package conversations

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The edges of locks, as they are promised: what happens in the cases that are tried last. Each row of
// the promise has its scripts here, played on every transport, on a clock that stands still; where a script
// cannot show it, tests names the functions that do. lock_script_test.go has the ordinary life of a lock.

const (
	heldByScript = "-ERR the owner holds this lock by scripts of Redisson, which have to release it"
	wrongType    = "-WRONGTYPE Operation against a key holding the wrong kind of value"
	invalidLease = "-ERR invalid expire time in 'lock' command"
)

var lockEdges = []struct {
	row     string
	scripts []script
	tests   []string
}{
	{row: "a lease of 0, a negative one, no integer, or an end that overflows: refused, nothing changed", scripts: []script{
		{"of a free lock", `
		A LOCK k a PX 0 -> ` + invalidLease + `
		A LOCK k a PX -5 -> ` + invalidLease + `
		A LOCK k a PX ten -> ` + invalidLease + `
		A LOCK k a PX 10.0 -> ` + invalidLease + `
		A LOCK k a PX "" -> ` + invalidLease + `
		A LOCK k a EX 0 WAIT 100 -> ` + invalidLease + `
		A LOCK k a PX 9223372036854775807 -> ` + invalidLease + `
		A LOCK k a PX 9223370286854775808 -> ` + invalidLease + `
		A LOCK k a EX 9223372036854775 -> ` + invalidLease + `
		A LOCK k a EX 9223372036854775807 -> ` + invalidLease + `
		A LOCK k a EX -9223372036854775808 -> ` + invalidLease + `
		A EXISTS k -> 0
		parked 0
		A LOCK k a PX 9223370286854775807 -> token`},
		{"of one's own", `
		A LOCK k a PX 1000 -> token=1
		A LOCK k a PX 0 -> ` + invalidLease + `
		A LOCK k a EX 9223372036854775807 -> ` + invalidLease + `
		A RENEW k a PX -1 -> -ERR invalid expire time in 'renew' command
		A RENEW k a EX 9223372036854775807 -> -ERR invalid expire time in 'renew' command
		A HGET k a -> "1"
		A PTTL k -> 1000`},
		{"of one that is held: the lease is refused before a waiter queues", `
		A LOCK k a PX 1000 -> token
		B LOCK k b PX 0 WAIT 0 -> ` + invalidLease + `
		B LOCK k b PX 9223372036854775807 WAIT 0 -> ` + invalidLease + `
		parked 0`},
		{"one that fits when the wait begins and overflows when it ends", `
		A LOCK k a PX 1000 -> token
		B LOCK k b PX 9223370286854775800 WAIT 0 -> waits
		C LOCK k c PX 500 WAIT 0 -> waits
		+1000ms
		B <- ` + invalidLease + `
		C <- token`},
		{"of MLOCK", `
		A MLOCK 2 k l a PX 0 -> -ERR invalid expire time in 'mlock' command
		A MLOCK 2 k l a EX 9223372036854775807 -> -ERR invalid expire time in 'mlock' command
		A EXISTS k l -> 0`},
	}},
	{row: "no hash, a count that is none, or Redisson's read-write lock: WRONGTYPE, nothing changed", scripts: []script{
		{"no hash", `
		A SADD k a -> 1
		A LOCK k a -> ` + wrongType + `
		A LOCK k a PX 100 WAIT 100 -> ` + wrongType + `
		A UNLOCK k a -> ` + wrongType + `
		A RENEW k a -> ` + wrongType + `
		A LOCK.FORCE k -> ` + wrongType + `
		A SMEMBERS k -> ["a"]`},
		{"a count that is none", `
		A HSET k a many -> 1
		A LOCK k a -> ` + wrongType + `
		A LOCK k b -> ` + wrongType + `
		A UNLOCK k a -> ` + wrongType + `
		A UNLOCK k b -> ` + wrongType + `
		A RENEW k b -> ` + wrongType + `
		A LOCK.FORCE k -> ` + wrongType + `
		A HSET k a -1 -> 0
		A LOCK k a -> ` + wrongType + `
		A HSET k a 1.5 -> 0
		A LOCK k b WAIT 0 -> ` + wrongType + `
		A HGETALL k -> ["a" "1.5"]`},
		{"more owners than one", `
		A HSET k a 1 b 1 -> 2
		A LOCK k a -> ` + wrongType + `
		A UNLOCK k b -> ` + wrongType + `
		A LOCK k c -> ` + wrongType + `
		A HGETALL k -> ["a" "1" "b" "1"]`},
		{"a read-write lock, for any caller", `
		A HSET k mode read u:1 1 -> 2
		A LOCK k u:1 -> ` + heldByScript + `
		A LOCK k other -> $nil
		A UNLOCK k u:1 -> ` + heldByScript + `
		A RENEW k u:1 -> ` + heldByScript + `
		B LOCK k other WAIT 0 -> waits
		A LOCK.FORCE k -> 1
		B <- 1750000000000000
		A LOCK.FORCE k -> 1
		A HSET k mode 1 u:1 1 -> 2
		A HDEL k u:1 -> 1
		A LOCK k x -> ` + wrongType + `
		A HGETALL k -> ["mode" "1"]`},
		{"a lock and the counter of its tokens together, in either order and in any way", `
		A MLOCK 2 redisson_lock_token:{foo} foo me -> ` + wrongType + `
		A MLOCK 2 foo redisson_lock_token:{foo} me WAIT 0 -> ` + wrongType + `
		A LOCK bar me -> 1750000000000000
		A GUARD bar 1750000000000000 MLOCK 2 redisson_lock_token:{foo} foo me -> ` + wrongType + `
		A MULTI -> +OK
		A MLOCK 2 redisson_lock_token:{foo} foo me -> +QUEUED
		A EXEC -> [` + wrongType + `]
		A EVAL return(redis.pcall('MLOCK',2,'redisson_lock_token:{foo}','foo','me')) 0 -> ` + wrongType + `
		parked 0
		A EXISTS foo redisson_lock_token:{foo} -> 0
		A LOCK redisson_lock_token:{foo} me -> token
		B LOCK foo you WAIT 0 -> ` + wrongType + `
		A HGET redisson_lock_token:{foo} me -> "1"`},
		{"one of several keys", `
		A SET l v -> +OK
		A MLOCK 2 k l a -> ` + wrongType + `
		A MLOCK 2 l k a WAIT 0 -> ` + wrongType + `
		A EXISTS k -> 0
		A LOCK k a PX 1000 -> token
		A MUNLOCK 2 k l a -> ` + wrongType + `
		A HGET k a -> "1"`},
	}},
	{row: "an owner that is empty, $token or mode: an error that says so; otherwise any bytes", scripts: []script{
		{"reserved", `
		A LOCK k "" WAIT 0 -> -ERR lock owner must not be empty
		A LOCK k $token PX 5 -> -ERR lock owner must not be '$token', '$watchdog', '$mode', '$limit', '$readers' or 'mode', these fields are reserved
		A LOCK k mode -> -ERR lock owner must not be '$token', '$watchdog', '$mode', '$limit', '$readers' or 'mode', these fields are reserved
		A UNLOCK k $token -> -ERR lock owner must not be '$token', '$watchdog', '$mode', '$limit', '$readers' or 'mode', these fields are reserved
		A UNLOCK k "" TOKEN 1 -> -ERR lock owner must not be empty
		A RENEW k "" -> -ERR lock owner must not be empty
		A MLOCK 1 k "" -> -ERR lock owner must not be empty
		A MUNLOCK 1 k mode -> -ERR lock owner must not be '$token', '$watchdog', '$mode', '$limit', '$readers' or 'mode', these fields are reserved
		A EXISTS k -> 0`},
		{"names that only look like them", `
		A LOCK k $TOKEN -> token
		A UNLOCK k $TOKEN -> 1
		A LOCK k Mode -> token
		A UNLOCK k Mode -> 1
		A LOCK k $token: -> token
		A UNLOCK k $token: -> 1`},
	}, tests: []string{"TestOwnersAreBytes"}},
	{row: "the holder's key is overwritten under waiters: they get WRONGTYPE", scripts: []script{
		{"by a string", `
		A LOCK k a -> token
		B LOCK k b WAIT 0 -> waits
		C LOCK k c PX 5 WAIT 9000 -> waits
		D SET k v -> +OK
		B <- ` + wrongType + `
		C <- ` + wrongType + `
		parked 0
		A UNLOCK k a -> ` + wrongType + `
		+60s
		A GET k -> "v"
		A PTTL k -> -1`},
		{"by another type that is renamed over it", `
		A LOCK k a -> token
		B LOCK k b WAIT 0 -> waits
		D SADD s x -> 1
		D RENAME s k -> +OK
		B <- ` + wrongType + `
		D TYPE k -> +set`},
		{"by a hash that is no lock", `
		A LOCK k a -> token
		B LOCK k b WAIT 0 -> waits
		D HSET k a x -> 0
		B <- ` + wrongType + `
		parked 0`},
		{"under one who waits for several", `
		A LOCK k a -> token
		B MLOCK 2 j k b WAIT 0 -> waits
		D SET k v -> +OK
		B <- ` + wrongType + `
		parked 0
		D EXISTS j -> 0`},
	}},
	{row: "WAIT in MULTI: as without WAIT; grants happen after the whole unit", scripts: []script{
		{"nothing waits inside", `
		A LOCK k a PX 1000 -> 1750000000000000
		B MULTI -> +OK
		B LOCK k b WAIT 0 -> +QUEUED
		B LOCK j b WAIT 5000 -> +QUEUED
		B MLOCK 2 j k b WAIT 0 -> +QUEUED
		B EXEC -> [$nil 1750000000000001 *nil]
		parked 0`},
		{"who waits outside is granted after it, not in between", `
		A LOCK k a PX 5000 -> 1750000000000000
		B LOCK k b PX 700 WAIT 0 -> waits
		C MULTI -> +OK
		C UNLOCK k a -> +QUEUED
		C LOCK k c -> +QUEUED
		C EXISTS k -> +QUEUED
		C EXEC -> [1 $nil 0]
		B <- 1750000000000001
		C PTTL k -> 700`},
		{"what is free at its end is granted once", `
		A LOCK k a PX 5000 -> 1750000000000000
		B LOCK k b WAIT 0 -> waits
		D LOCK k d WAIT 0 -> waits
		A MULTI -> +OK
		A UNLOCK k a -> +QUEUED
		A HSET k x 1 -> +QUEUED
		A DEL k -> +QUEUED
		A EXEC -> [1 1 1]
		B <- 1750000000000001
		parked 1`},
		{"a WAIT that is none is refused when it is queued up", `
		A MULTI -> +OK
		A LOCK k a WAIT -1 -> +QUEUED
		A LOCK k a WAIT 1 -> +QUEUED
		A EXEC -> [-ERR timeout is negative 1750000000000000]`},
	}},
	{row: "WAIT in a Lua script: as without WAIT; grants happen after the whole unit", scripts: lockLuaEdges},
	{row: "a grant races the waiter's disconnect: passed to the next waiter, the dead one never counts", scripts: []script{
		{"gone before the release", `
		A LOCK k a -> token
		B LOCK k b WAIT 0 -> waits
		C LOCK k c WAIT 0 -> waits
		close B
		A UNLOCK k a -> 1
		C <- token
		A HEXISTS k b -> 0`},
		{"killed in the batch that releases", `
		A LOCK k a -> token
		B CLIENT ID -> 2
		B LOCK k b WAIT 0 -> waits
		C LOCK k c WAIT 0 -> waits
		A pipelines CLIENT KILL ID 2 ; UNLOCK k a ; HEXISTS k c
		A <- 1
		A <- 1
		A <- 1
		C <- token
		B <- closed`},
		{"killed in the batch that has granted", `
		A LOCK k a -> token
		B CLIENT ID -> 2
		B LOCK k b WAIT 0 -> waits
		C LOCK k c WAIT 0 -> waits
		A pipelines UNLOCK k a ; HEXISTS k b ; CLIENT KILL ID 2
		A <- 1
		A <- 1
		A <- 1
		C <- token`},
		{"the last of the queue", `
		A LOCK k a -> token
		B LOCK k b WAIT 0 -> waits
		close B
		A UNLOCK k a -> 1
		A EXISTS k -> 0`},
		{"of several locks", `
		A LOCK k a -> token
		B MLOCK 2 k l b WAIT 0 -> waits
		C MLOCK 2 l k c WAIT 0 -> waits
		close B
		A UNLOCK k a -> 1
		C <- [1750000000000001 1750000000000002]`},
	}, tests: []string{"TestWaiterGoesAsTheLockIsReleased", "TestGrantBehindUnreadRepliesIsTakenBack", "TestGrantThatWasReadIsKept"}},
	{row: "timeout and release in the same millisecond: exactly one outcome", scripts: []script{
		{"the wait and the lease end together: the wait has ended", `
		A LOCK k a PX 500 -> token
		B LOCK k b WAIT 500 -> waits
		+500ms
		B <- $nil
		A EXISTS k -> 0
		B LOCK k b -> token`},
		{"and a waiter that is left gets it", `
		A LOCK k a PX 500 -> token
		B LOCK k b WAIT 500 -> waits
		C LOCK k c PX 100 WAIT 501 -> waits
		+500ms
		B <- $nil
		C <- token
		+100ms
		A EXISTS k -> 0`},
		{"released in the last millisecond", `
		A LOCK k a -> token
		B LOCK k b WAIT 500 -> waits
		+499ms
		A UNLOCK k a -> 1
		+1ms
		B <- token
		B UNLOCK k b -> 1`},
		{"the wait is over, not noticed yet, when the lock is released", `
		A LOCK k a -> token
		B LOCK k b WAIT 500 -> waits
		!500ms
		A UNLOCK k a -> 1
		B <- token
		+0ms
		B UNLOCK k b -> 1
		B PING -> +PONG`},
	}, tests: []string{"TestTimeoutRacesRelease"}},
	{row: "a command pipelined after a waiting LOCK: runs after it is answered; pushes still flow", scripts: []script{
		{"granted", `
		A LOCK k a -> token
		B LOCK k b WAIT 0 -> waits
		B pipelines SET x 1 ; UNLOCK k b ; EXISTS k x
		A EXISTS x -> 0
		+1000ms
		A EXISTS x -> 0
		A UNLOCK k a -> 1
		B <- token
		B <- +OK
		B <- 1
		B <- 1`},
		{"timed out", `
		A LOCK k a -> token
		B pipelines LOCK k b WAIT 100 ; INCR x ; INCR x
		parked 1
		+99ms
		A EXISTS x -> 0
		+1ms
		B <- $nil
		B <- 1
		B <- 2`},
		{"refused", `
		A LOCK k a -> token
		B pipelines LOCK k b WAIT 0 ; INCR x
		parked 1
		A SET k v -> +OK
		B <- ` + wrongType + `
		B <- 1`},
		{"pushes do not wait", `
		A LOCK k a -> token
		B SUBSCRIBE never -> ["subscribe" "never" 1]
		C pipelines HELLO 3 ; SUBSCRIBE news
		C <- {"server":"redis" "version":"7.4.1" "proto":3 "id":3 "mode":"standalone" "role":"master" "modules":[]}
		C <- >["subscribe" "news" 1]
		C LOCK k c WAIT 0 -> waits
		C sends PING
		A PUBLISH news 1 -> 1
		C <- >["message" "news" "1"]
		A PUBLISH news 2 -> 1
		C <- >["message" "news" "2"]
		parked 1
		A UNLOCK k a -> 1
		C <- token
		C <- +PONG`},
	}},
	{row: "CLIENT UNBLOCK: TIMEOUT answers nil, ERROR -UNBLOCKED", scripts: []script{
		{"LOCK", `
		A LOCK k a -> token
		B CLIENT ID -> 2
		B LOCK k b WAIT 60000 -> waits
		A CLIENT UNBLOCK 2 -> 1
		B <- $nil
		B LOCK k b WAIT 0 -> waits
		A CLIENT UNBLOCK 2 ERROR -> 1
		B <- -UNBLOCKED client unblocked via CLIENT UNBLOCK
		parked 0
		A UNLOCK k a -> 1
		A EXISTS k -> 0`},
		{"the next one moves up", `
		A LOCK k a -> token
		B CLIENT ID -> 2
		B LOCK k b WAIT 0 -> waits
		C LOCK k c WAIT 0 -> waits
		A pipelines CLIENT UNBLOCK 2 ; UNLOCK k a
		A <- 1
		A <- 1
		B <- $nil
		C <- token`},
		{"who was granted cannot be unblocked", `
		A LOCK k a -> token
		B CLIENT ID -> 2
		B LOCK k b WAIT 0 -> waits
		A pipelines UNLOCK k a ; CLIENT UNBLOCK 2 ERROR
		A <- 1
		A <- 0
		B <- token`},
		{"MLOCK", `
		A LOCK k a -> token
		B CLIENT ID -> 2
		B MLOCK 2 j k b WAIT 0 -> waits
		A CLIENT UNBLOCK 2 TIMEOUT -> 1
		B <- *nil
		B MLOCK 2 j k b WAIT 0 -> waits
		A CLIENT UNBLOCK 2 ERROR -> 1
		B <- -UNBLOCKED client unblocked via CLIENT UNBLOCK
		A EXISTS j -> 0`},
	}},
	{row: "WATCH: a grant, a renewal, an unlock, the end of the lease and force abort the EXEC; joining the queue does not",
		scripts: lockWatchEdges},
	{row: "memory is full: everything else is evicted, under any policy, and no lock", tests: []string{"TestLocksSurviveEviction"}},
	{row: "restart: leases are absolute times, what has expired meanwhile is gone, watchdogs ended with their connections",
		tests: []string{"TestLeasesAfterARestart"}},
}

func TestLockEdges(t *testing.T) {
	var all []script
	for _, edge := range lockEdges {
		require.True(t, len(edge.scripts) > 0 || len(edge.tests) > 0, edge.row)
		for _, s := range edge.scripts {
			all = append(all, script{edge.row + "/" + s.name, s.text})
		}
	}
	play(t, nil, "", all)
}

// TestEdgesNameTestsThatExist: the two files contain each test that a row of lockEdges names.
func TestEdgesNameTestsThatExist(t *testing.T) {
	t.Parallel()
	var code strings.Builder
	for _, file := range []string{"../../server/lock_race_test.go", "../../server/lock_edges_more_test.go"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		code.Write(text)
	}
	for _, edge := range lockEdges {
		for _, name := range edge.tests {
			require.Regexp(t, `(?m)^func `+regexp.QuoteMeta(name)+`\(t \*testing\.T\)`, code.String(), edge.row)
		}
	}
}
