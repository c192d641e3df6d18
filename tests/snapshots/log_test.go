//go:build oracle

package snapshots

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// logVariants are the ways in which a log can be written.
var logVariants = map[string][]string{
	"defaults":      nil,
	"always":        {"appendfsync", "always"},
	"commands":      {"aof-use-rdb-preamble", "no"},
	"times":         {"aof-timestamp-enabled", "yes"},
	"other names":   {"appenddirname", "the log", "appendfilename", "my log.aof"},
	"small nodes":   {"stream-node-max-entries", "1", "list-max-listpack-size", "1", "hash-max-listpack-entries", "0"},
	"not rewritten": {"auto-aof-rewrite-percentage", "0"},
}

// checkLog checks a log with Redis' own tool.
func checkLog(t *testing.T, p testkit.Program, dir, name, filename string) {
	t.Helper()
	out, err := exec.Command(p.Tool("redis-check-aof"), filepath.Join(dir, name, filename+".manifest")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "All AOF files and manifest are valid")
}

// rewriteLog rewrites a log and waits for the end.
func rewriteLog(t *testing.T, c *testkit.Client) {
	t.Helper()
	v := c.Do("BGREWRITEAOF")
	require.False(t, v.IsError(), "%s", v)
	require.Eventually(t, func() bool {
		info := c.Do("INFO", "persistence").Str
		return strings.Contains(info, "aof_rewrite_in_progress:0\r\n") && strings.Contains(info, "aof_rewrite_scheduled:0\r\n")
	}, time.Minute, 5*time.Millisecond)
	require.Contains(t, c.Do("INFO", "persistence").Str, "aof_last_bgrewrite_status:ok")
}

// locksAndSales runs commands that only lockserver has.
func locksAndSales(t *testing.T, c *testkit.Client, round int) {
	t.Helper()
	c.Do("SET", "seckill:stock:10", "300", "NX")
	for i := range 40 {
		id := fmt.Sprint(round, "-", i)
		require.Positive(t, c.Do("LOCK", "lock:"+strconv.Itoa(i), "owner", "PX", "3600000").Int)
		require.Equal(t, int64(0), c.Do("SECKILL", "10", "user-"+id, "order-"+id).Int)
		switch i % 3 {
		case 0:
			c.Do("UNLOCK", "lock:"+strconv.Itoa(i), "owner")
		case 1:
			c.Do("RENEW", "lock:"+strconv.Itoa(i), "owner", "PX", "7200000")
		}
	}
	for i := range 20 {
		id := fmt.Sprint(round, "-", i)
		require.Equal(t, id, c.Do("DELAY.ADD", "later", "PX", strconv.Itoa(i%2*3_600_000), "ID", id, "n", id).Str)
		require.Equal(t, int64(1), c.Do("LIMIT.TAKE", "limit", "1000000", "7", "3600000").Elems[0].Int)
	}
	c.Do("DELAY.ADD", "jobs", "EVERY", "3600000", "ID", fmt.Sprint(round), "n", "1")
	c.Do("DELAY.MOVE", "later", fmt.Sprint(round, "-1"), "PX", "0")
	c.Do("DELAY.CANCEL", "later", fmt.Sprint(round, "-3"))
	c.Do("LOCK", "short", "owner", "PX", "1")
	require.Len(t, c.Do("MLOCK", "2", "a", "b", "both", "PX", "3600000").Elems, 2)
	c.Do("MUNLOCK", "2", "a", "b", "both")
	c.Do("SECKILL.CREATE", "shoes", "STOCK", "10", "HOLD", "3600000", "REPLACE")
	for i := range 5 {
		user := "u" + strconv.Itoa(i)
		require.Equal(t, int64(0), c.Do("SECKILL", "shoes", user, "o"+user).Int)
	}
	c.Do("SECKILL.CONFIRM", "shoes", "u1", "ou1")
	c.Do("SECKILL.CANCEL", "shoes", "u2", "ou2")
	c.Do("NEXTID", "orders", "COUNT", "5")
}

// endRedis ends a Redis so that its log is complete.
func endRedis(c *testkit.Client) {
	c.Send("SHUTDOWN", "NOSAVE")
	_, _ = c.Next() // it closes the connection
}

// copyOf returns a copy of a directory. When Redis reads its own log it forgets some data: how much of a
// stream a group has read, and pending entries that were deleted. So the data after its restart is the one to
// compare with.
func copyOf(t *testing.T, dir string) string {
	t.Helper()
	copied := t.TempDir()
	require.NoError(t, os.CopyFS(copied, os.DirFS(dir)))
	return copied
}

// TestRedisContinuesOurLog: a real Redis starts with the directory of our log and has the same data. Then we
// read the log to which it has added.
func TestRedisContinuesOurLog(t *testing.T) { testkit.EachProgram(t, redisContinuesOurLog) }

func redisContinuesOurLog(t *testing.T, p testkit.Program) {
	for name, directives := range logVariants {
		t.Run(name, func(t *testing.T) {
			dir, sub, filename := t.TempDir(), "appendonlydir", "appendonly.aof"
			directives := append([]string{"appendonly", "yes", "dbfilename", ""}, directives...)
			var redisArgs []string
			for i := 0; i < len(directives); i += 2 {
				switch directives[i] {
				case "appenddirname":
					sub = directives[i+1]
				case "appendfilename":
					filename = directives[i+1]
				}
				if strings.HasPrefix(directives[i], "a") {
					redisArgs = append(redisArgs, "--"+directives[i], directives[i+1])
				}
			}
			srv := newServer(t, dir, directives...)
			require.NoError(t, srv.Start())
			ours := testkit.Dial(t, srv.Dial)
			for round := range 3 {
				m := newMaker(t)
				m.prefix = strconv.Itoa(round) + ":"
				m.fill(1)
				m.send(t, ours)
				ours.Do("SELECT", "0")
				locksAndSales(t, ours, round)
				if round == 1 && name != "not rewritten" {
					rewriteLog(t, ours)
				}
			}
			require.Eventually(t, func() bool { return ours.Do("EXISTS", "short").Int == 0 }, time.Minute, time.Millisecond)
			want := testkit.ReadDataset(ours)
			require.NoError(t, srv.Close())
			checkLog(t, p, dir, sub, filename)

			redis := startRedis(t, p, dir, redisArgs...)
			requireSame(t, want, testkit.ReadDataset(redis))
			redis.Do("SELECT", "0")
			redis.Do("SET", "from", "Redis")
			rewriteLog(t, redis)
			m := newMaker(t)
			m.prefix = "redis:"
			m.fill(1)
			m.send(t, redis)
			endRedis(redis)
			again, back := startRedis(t, p, copyOf(t, dir), redisArgs...), startServer(t, dir, directives...)
			if before72(again) {
				removeIdleConsumers(t, again)
				removeIdleConsumers(t, back)
			}
			requireSame(t, testkit.ReadDataset(again), testkit.ReadDataset(back))
		})
	}
}

// before72 reports whether a server is Redis 7.0 or older. Its log of a stream has an XCLAIM for each pending
// entry, even for a deleted one. Such an XCLAIM claims nothing, but since Redis 7.2 it creates its consumer.
func before72(c *testkit.Client) bool {
	return regexp.MustCompile(`redis_version:([0-6]\.|7\.[01]\.)`).MatchString(c.Do("INFO", "server").Str)
}

// removeIdleConsumers removes the consumers without pending entries.
func removeIdleConsumers(t *testing.T, c *testkit.Client) {
	t.Helper()
	for place, entry := range testkit.ReadDataset(c) {
		if entry.Type != "stream" {
			continue
		}
		c.Do("SELECT", strconv.Itoa(place.DB))
		for _, group := range c.Do("XINFO", "GROUPS", place.Key).Elems {
			for _, consumer := range c.Do("XINFO", "CONSUMERS", place.Key, group.Elems[1].Str).Elems {
				require.Equal(t, "pending", consumer.Elems[2].Str)
				if consumer.Elems[3].Int == 0 {
					require.Zero(t, c.Do("XGROUP", "DELCONSUMER", place.Key, group.Elems[1].Str, consumer.Elems[1].Str).Int)
				}
			}
		}
	}
}

// TestWeContinueRedisLog: we load Redis' own log. For some commands Redis writes other effects than we do.
func TestWeContinueRedisLog(t *testing.T) { testkit.EachProgram(t, weContinueRedisLog) }

func weContinueRedisLog(t *testing.T, p testkit.Program) {
	for _, rewritten := range []bool{false, true} {
		t.Run(fmt.Sprint("rewritten=", rewritten), func(t *testing.T) {
			dir := t.TempDir()
			redis := startRedis(t, p, dir, "--appendonly", "yes", "--appendfsync", "always", "--aof-timestamp-enabled", "yes")
			m := newMaker(t)
			m.fill(2)
			m.send(t, redis)
			redis.Do("SELECT", "0")
			if rewritten {
				rewriteLog(t, redis)
			}
			for _, line := range []string{
				"SADD popped a b c d e f g", "SPOP popped 3", "SET dying x PX 10000000", "GETEX dying EX 20000", "INCRBYFLOAT f 1.5", "HINCRBYFLOAT h f 2.25",
				"XADD s * a 1", "XADD s * a 2", "XGROUP CREATE s g 0", "XREADGROUP GROUP g me COUNT 1 STREAMS s >", "XAUTOCLAIM s g you 0 0",
				"MULTI", "SET t1 a", "INCR t2", "EXEC", "LMOVE s2 s3 LEFT RIGHT", "EXPIRE popped 5000", "SORT popped ALPHA STORE sorted",
				"ZADD z 1 a 2 b 3 c", "ZPOPMIN z", "ZRANGESTORE z2 z 0 -1", "BITFIELD bits SET u8 0 200", "GEOADD g 1 2 x", "PFADD hll a b c",
				"FLUSHDB", "SET after flush", "COPY after copied", "SWAPDB 0 3", "RESTORE r 0 \x00\xc0\x05\x0a\x00\x5d\xc7\x80\xde\xe1\x24\x43\x7e",
			} {
				redis.Do(strings.Fields(line)...)
			}
			endRedis(redis)
			again := startRedis(t, p, copyOf(t, dir), "--appendonly", "yes")
			requireSame(t, testkit.ReadDataset(again), testkit.ReadDataset(startServer(t, dir, "appendonly", "yes")))
			checkLog(t, p, dir, "appendonlydir", "appendonly.aof")
		})
	}
}
