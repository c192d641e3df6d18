//go:build oracle

package snapshots

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/tests/testkit"
)

// carry moves every key of database 0 from one server to another by DUMP and RESTORE, with its
// deadline, and returns the payloads.
func carry(t *testing.T, from, to *testkit.Client) map[string]string {
	t.Helper()
	payloads := map[string]string{}
	for _, key := range from.Do("KEYS", "*").Elems {
		payload := from.Do("DUMP", key.Str)
		require.Equal(t, resp.Bulk, payload.Kind, "%q: %s", key.Str, payload)
		payloads[key.Str] = payload.Str
		args := []string{"RESTORE", key.Str, "0", payload.Str}
		if at := from.Do("PEXPIRETIME", key.Str).Int; at > 0 {
			args = []string{"RESTORE", key.Str, strconv.FormatInt(at, 10), payload.Str, "ABSTTL", "REPLACE"}
		}
		require.Equal(t, "+OK", to.Do(args...).String(), "%q", key.Str)
	}
	return payloads
}

// database0 returns the content of database 0.
func database0(c *testkit.Client) testkit.Dataset {
	data := testkit.ReadDataset(c)
	for place := range data {
		if place.DB != 0 {
			delete(data, place)
		}
	}
	c.Do("SELECT", "0")
	return data
}

// value returns the value in a payload, without the version and the checksum at its end: each server writes
// its own version (D45).
func value(payload string) string { return payload[:len(payload)-2-8] }

// oneForm reports whether a value of this encoding has only one uncompressed payload. The members of a hash
// table have a random order, and the nodes of a long list depend on its history.
func oneForm(encoding string) bool { return encoding != "hashtable" && encoding != "quicklist" }

// TestPayloadsOfRedis: payloads of Redis go into lockserver, and lockserver's payloads of the same values go
// into another Redis. Both Redis servers have the same digest of all data. Where a value can be written in
// only one way, the bytes are the same.
func TestPayloadsOfRedis(t *testing.T) { testkit.EachProgram(t, payloadsOfRedis) }

func payloadsOfRedis(t *testing.T, p testkit.Program) {
	for _, directives := range [][]string{nil, {"rdbcompression", "no"}} {
		t.Run(strings.Join(directives, " "), func(t *testing.T) {
			m := newMaker(t)
			m.fill(3)
			var args []string
			for i := 0; i < len(directives); i += 2 {
				args = append(args, "--"+directives[i], directives[i+1])
			}
			redis, again := startRedis(t, p, t.TempDir(), args...), startRedis(t, p, t.TempDir())
			m.send(t, redis)
			redis.Do("SELECT", "0")
			for _, db := range []string{"3", "15"} {
				redis.Do("SELECT", db)
				redis.Do("FLUSHDB")
			}
			redis.Do("SELECT", "0")
			ours := startServer(t, t.TempDir(), directives...)
			theirs := carry(t, redis, ours)
			requireSame(t, database0(redis), database0(ours))
			mine := carry(t, ours, again)
			requireSame(t, database0(redis), database0(again))
			require.Equal(t, redis.Do("DEBUG", "DIGEST").Str, again.Do("DEBUG", "DIGEST").Str)

			same := 0
			for key, payload := range theirs {
				encoding := ours.Do("OBJECT", "ENCODING", key).Str
				if directives == nil || !oneForm(encoding) { // each server compresses differently
					continue
				}
				// In Redis a hash or sorted set that has shrunk stays in its large encoding, until it is
				// loaded.
				if was := redis.Do("OBJECT", "ENCODING", key).Str; was != encoding && was != "quicklist" {
					continue
				}
				if payload[0] != mine[key][0] { // a newer format, which Redis 7.0 would not accept
					continue
				}
				require.True(t, value(payload) == value(mine[key]), "%q, %s", key, encoding)
				same++
			}
			t.Logf("%d payloads, %d of one form", len(theirs), same)
			require.Equal(t, directives != nil, same > 20)
		})
	}
}

// TestPayloadsOfOurs: data that was made in lockserver goes into Redis, including locks.
func TestPayloadsOfOurs(t *testing.T) { testkit.EachProgram(t, payloadsOfOurs) }

func payloadsOfOurs(t *testing.T, p testkit.Program) {
	m := newMaker(t)
	m.fill(3)
	ours, redis := startServer(t, t.TempDir()), startRedis(t, p, t.TempDir())
	m.send(t, ours)
	require.Positive(t, ours.Do("LOCK", "door", "alice", "EX", "3600").Int)
	carry(t, ours, redis)
	requireSame(t, database0(ours), database0(redis))
	require.Equal(t, "1", redis.Do("HGET", "door", "alice").Str)
}

// TestPayloadsOfFieldTimes: deadlines of fields go to Redis 7.4 and come back. Redis 7.0 refuses such a
// payload because of its version. After the deadlines are removed the payload has version 10 again.
func TestPayloadsOfFieldTimes(t *testing.T) { testkit.EachProgram(t, payloadsOfFieldTimes) }

func payloadsOfFieldTimes(t *testing.T, p testkit.Program) {
	ours, redis := startServer(t, t.TempDir()), startRedis(t, p, t.TempDir())
	at := time.Now().UnixMilli() + 3_600_000
	ours.Do("HSET", "h", "lasting", "1", "dying", "2")
	require.Equal(t, "[1]", ours.Do("HPEXPIREAT", "h", strconv.FormatInt(at, 10), "FIELDS", "1", "dying").String())
	payload := ours.Do("DUMP", "h").Str
	knows := redis.Do("COMMAND", "INFO", "hpexpire").Elems[0].Kind == resp.Array
	if knows {
		require.Equal(t, "+OK", redis.Do("RESTORE", "h", "0", payload).String())
		payload = redis.Do("DUMP", "h").Str
		requireFieldTimes(t, redis, "h", at)
	} else {
		require.Equal(t, "-ERR DUMP payload version or checksum are wrong", redis.Do("RESTORE", "h", "0", payload).String())
	}
	require.Equal(t, "+OK", ours.Do("RESTORE", "copy", "0", payload).String())
	requireFieldTimes(t, ours, "copy", at)

	ours.Do("HPERSIST", "copy", "FIELDS", "1", "dying")
	require.Equal(t, "+OK", redis.Do("RESTORE", "h", "0", ours.Do("DUMP", "copy").Str, "REPLACE").String())
	require.Equal(t, "2", redis.Do("HGET", "h", "dying").Str)
}

// requireFieldTimes fails unless the hash is as TestPayloadsOfFieldTimes makes it.
func requireFieldTimes(t *testing.T, c *testkit.Client, key string, at int64) {
	t.Helper()
	require.Equal(t, `["1" "2"]`, c.Do("HMGET", key, "lasting", "dying").String())
	times := c.Do("HPEXPIRETIME", key, "FIELDS", "2", "lasting", "dying")
	require.Equal(t, "[-1 "+strconv.FormatInt(at, 10)+"]", times.String())
}
