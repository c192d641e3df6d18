//go:build oracle

package snapshots

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/server"
	"lockserver/tests/testkit"
)

const fileName = "dump.rdb"

// newServer returns a lockserver with its snapshot in dir, and with additional directives ("rdbcompression",
// "no").
func newServer(t *testing.T, dir string, directives ...string) *server.Server {
	t.Helper()
	args := []string{"--port", "0", "--dir", dir, "--save", ""}
	for i := 0; i < len(directives); i += 2 {
		args = append(args, "--"+directives[i], directives[i+1])
	}
	command, err := config.ParseArgs(args, config.OSFiles())
	require.NoError(t, err)
	srv, err := server.New(server.Options{Directives: command.Config.Directives()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	return srv
}

// startServer is newServer with a start of the server.
func startServer(t *testing.T, dir string, directives ...string) *testkit.Client {
	t.Helper()
	srv := newServer(t, dir, directives...)
	require.NoError(t, srv.Start())
	return testkit.Dial(t, srv.Dial)
}

// startRedis starts a real Redis with its snapshot in dir, and waits until it has loaded it.
func startRedis(t *testing.T, p testkit.Program, dir string, args ...string) *testkit.Client {
	t.Helper()
	redis := p.Start(t, append([]string{"--dir", dir, "--dbfilename", fileName, "--enable-debug-command", "yes"}, args...)...)
	c := redis.Client(t)
	require.Eventually(t, func() bool { return c.Do("PING").Str == "PONG" }, time.Minute, 5*time.Millisecond)
	return c
}

func save(t *testing.T, c *testkit.Client) {
	t.Helper()
	require.Equal(t, "+OK", c.Do("SAVE").String())
}

// checkRDB checks the file with Redis' own tool.
func checkRDB(t *testing.T, p testkit.Program, dir string) {
	t.Helper()
	out, err := exec.Command(p.Tool("redis-check-rdb"), filepath.Join(dir, fileName)).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "RDB looks OK!")
}

func requireSame(t *testing.T, want, got testkit.Dataset) {
	t.Helper()
	require.NotEmpty(t, want)
	require.Empty(t, want.Diff(got, 0))
}

// variants are the ways in which a file can be written, with the directives that choose them.
var variants = map[string][]string{
	"defaults":       nil,
	"no compression": {"rdbcompression", "no"},
	"no checksum":    {"rdbchecksum", "no"},
	"nothing compact": {"hash-max-listpack-entries", "0", "set-max-intset-entries", "0", "stream-node-max-entries", "1",
		"list-max-listpack-size", "1"},
	"all compact": {"hash-max-listpack-entries", "10000", "hash-max-listpack-value", "10000", "set-max-intset-entries", "10000",
		"list-max-ziplist-size", "-5"},
	"nodes by bytes":   {"stream-node-max-entries", "0", "stream-node-max-bytes", "300"},
	"one endless node": {"stream-node-max-entries", "0", "stream-node-max-bytes", "0"},
}

func TestRedisLoadsOurs(t *testing.T) { testkit.EachProgram(t, redisLoadsOurs) }

func redisLoadsOurs(t *testing.T, p testkit.Program) {
	for name, directives := range variants {
		t.Run(name, func(t *testing.T) {
			m := newMaker(t)
			m.fill(3)
			dir := t.TempDir()
			ours := startServer(t, dir, directives...)
			m.send(t, ours)
			save(t, ours)
			checkRDB(t, p, dir)
			requireSame(t, testkit.ReadDataset(ours), testkit.ReadDataset(startRedis(t, p, dir)))
		})
	}
}

// TestLocksAndSalesAreOrdinaryKeys: the data of native commands can go to Redis and come back.
func TestLocksAndSalesAreOrdinaryKeys(t *testing.T) {
	testkit.EachProgram(t, locksAndSalesAreOrdinaryKeys)
}

func locksAndSalesAreOrdinaryKeys(t *testing.T, p testkit.Program) {
	dir := t.TempDir()
	ours := startServer(t, dir)
	token := ours.Do("LOCK", "door", "alice", "EX", "3600")
	require.Positive(t, token.Int, "%s", token)
	require.Equal(t, token, ours.Do("LOCK", "door", "alice", "EX", "7200"))
	ours.Do("SET", "seckill:stock:10", "300")
	for user := range 301 {
		require.Equal(t, int64(user/300), ours.Do("SECKILL", "10", fmt.Sprint("user-", user), fmt.Sprint("order-", user)).Int)
	}
	require.Equal(t, "+OK", ours.Do("SECKILL.CREATE", "11", "STOCK", "600", "LIMIT", "2", "HOLD", "3600000").String())
	for user := range 200 {
		require.Equal(t, int64(0), ours.Do("SECKILL", "11", fmt.Sprint("user-", user), fmt.Sprint("order-", user), "QTY", "2").Int)
	}
	require.Equal(t, int64(1), ours.Do("SECKILL.CANCEL", "11", "user-7", "order-7").Int)
	sale := ours.Do("SECKILL.INFO", "11")
	for i := range 300 {
		require.Equal(t, fmt.Sprint("id-", i), ours.Do("DELAY.ADD", "later", "PX", "3600000", "ID", fmt.Sprint("id-", i), "n", strconv.Itoa(i)).Str)
	}
	require.Equal(t, "nightly", ours.Do("DELAY.ADD", "jobs", "CRON", "0 3 * * *", "ID", "nightly", "n", "1").Str)
	nightly := ours.Do("DELAY.GET", "jobs", "nightly")
	later := ours.Do("DELAY.LIST", "later", "COUNT", "1000")
	require.Len(t, later.Elems, 300)
	require.Equal(t, "[1 5 4 0 3600000]", ours.Do("LIMIT.TAKE", "limit", "5", "1", "3600000").String())
	save(t, ours)
	checkRDB(t, p, dir)

	redis := startRedis(t, p, dir)
	requireSame(t, testkit.ReadDataset(ours), testkit.ReadDataset(redis))
	require.Equal(t, "gone 2 user-7", redis.Do("HGET", "seckill:orders:11", "order-7").Str)
	require.Equal(t, int64(199), redis.Do("ZCARD", "seckill:holds:11").Int)
	require.Equal(t, "2", redis.Do("HGET", "door", "alice").Str)
	require.Equal(t, strconv.FormatInt(token.Int, 10), redis.Do("HGET", "door", "$token").Str)
	require.Equal(t, "0", redis.Do("GET", "seckill:stock:10").Str)
	require.Equal(t, int64(300), redis.Do("SCARD", "seckill:order:10").Int)
	require.Equal(t, int64(500), redis.Do("XLEN", "stream.orders").Int)
	save(t, redis)

	back := startServer(t, dir)
	require.Equal(t, "$nil", back.Do("LOCK", "door", "bob").String())
	require.Equal(t, int64(0), back.Do("UNLOCK", "door", "alice", "TOKEN", strconv.FormatInt(token.Int, 10)).Int)
	require.Equal(t, int64(1), back.Do("UNLOCK", "door", "alice").Int)
	require.Greater(t, back.Do("LOCK", "door", "bob").Int, token.Int)
	require.Equal(t, int64(1), back.Do("SECKILL", "10", "user-0", "order-0").Int)
	require.Equal(t, sale, back.Do("SECKILL.INFO", "11"))
	require.Equal(t, later, back.Do("DELAY.LIST", "later", "COUNT", "1000"))
	require.Equal(t, nightly, back.Do("DELAY.GET", "jobs", "nightly"))
	require.Equal(t, int64(1), back.Do("DELAY.MOVE", "later", "id-299", "PX", "0").Int)
	require.Eventually(t, func() bool { return back.Do("XLEN", "later").Int == 1 }, time.Minute, time.Millisecond)
	require.Equal(t, int64(3), back.Do("LIMIT.TAKE", "limit", "5", "1", "3600000").Elems[2].Int)
	require.Equal(t, int64(0), back.Do("SECKILL", "11", "user-8", "order-8").Int)
	require.Equal(t, int64(2), back.Do("SECKILL", "11", "user-8", "order-9999").Int)
	require.Equal(t, int64(1), back.Do("SECKILL.CONFIRM", "11", "user-8", "order-8").Int)
}

// TestWeLoadRedis: we load Redis' file and save it, and Redis loads ours. Its digest of all data must be that
// of the first Redis.
func TestWeLoadRedis(t *testing.T) { testkit.EachProgram(t, weLoadRedis) }

func weLoadRedis(t *testing.T, p testkit.Program) {
	for name, directives := range variants {
		t.Run(name, func(t *testing.T) {
			m := newMaker(t)
			m.fill(3)
			dir := t.TempDir()
			var args []string
			for i := 0; i < len(directives); i += 2 {
				args = append(args, "--"+directives[i], directives[i+1])
			}
			redis := startRedis(t, p, dir, args...)
			m.send(t, redis)
			save(t, redis)
			want := testkit.ReadDataset(redis)

			ours := startServer(t, dir)
			requireSame(t, want, testkit.ReadDataset(ours))
			save(t, ours)
			checkRDB(t, p, dir)

			again := startRedis(t, p, dir)
			requireSame(t, want, testkit.ReadDataset(again))
			require.Equal(t, redis.Do("DEBUG", "DIGEST").Str, again.Do("DEBUG", "DIGEST").Str)
		})
	}
}

// TestWhatWeCannotHoldIsRefused: a file with data that we cannot hold is refused. If the rest were loaded,
// the next save would lose that data.
func TestWhatWeCannotHoldIsRefused(t *testing.T) {
	p := testkit.Installed(t)
	for _, c := range []struct {
		what    string
		command []string
		reason  string
	}{
		{"a library that works on that version of Redis only", []string{"FUNCTION", "LOAD", "#!lua name=mylib\n" +
			"if redis.REDIS_VERSION_NUM ~= 458767 then redis.nosuch() end redis.register_function('f', function() return 1 end)"},
			`Error registering functions: .* nonexistent global variable 'nosuch'`},
	} {
		t.Run(c.what, func(t *testing.T) {
			dir := t.TempDir()
			redis := startRedis(t, p, dir)
			for i := range 100 {
				redis.Do("SET", fmt.Sprint("key:", i), "v")
			}
			redis.Do("SELECT", "2")
			v := redis.Do(c.command...)
			require.False(t, v.IsError(), "%s", v)
			save(t, redis)
			path := filepath.Join(dir, fileName)
			before, err := os.ReadFile(path)
			require.NoError(t, err)

			err = newServer(t, dir).Start()
			require.Error(t, err)
			require.Regexp(t, c.reason, err.Error())
			require.Contains(t, err.Error(), path)

			after, err := os.ReadFile(path)
			require.NoError(t, err)
			require.True(t, bytes.Equal(before, after), "the file has changed")
			files, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Len(t, files, 1, "a server that did not start leaves nothing behind")
		})
	}
}
