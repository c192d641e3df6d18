//go:build oracle

package aof

import (
	"context"
	"io"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/persistence/disk"
	"lockserver/persistence/rdb"
	"lockserver/store"
	"lockserver/tests/testkit"
)

// writeForRedis writes a log into the directory that Redis uses by default. It has a base, an increment, the
// second increment of an aborted rewrite, all forms of units, and a binary value.
func writeForRedis(t *testing.T, dir string) {
	t.Helper()
	d, err := OpenDir(Location{FS: disk.OS{}, Dir: dir, Sub: "appendonlydir", Filename: "appendonly.aof"})
	require.NoError(t, err)
	_, err = d.Load(nothing{}, LoadOptions{})
	require.NoError(t, err)
	o := newWatch().options(Always)
	o.NowMS = func() int64 { return 1_700_000_000_000 }
	base := func(w io.Writer) error {
		out := rdb.NewWriter(w, rdb.WriterOptions{})
		out.SelectDB(0)
		out.Key([]byte("from base"), 0)
		out.String([]byte("1"))
		return out.Close()
	}
	l, err := d.Continue(o, base)
	require.NoError(t, err)
	l.SetTimestamps(true)
	l.Append(unit("SET lost-by-the-rewrite 1"))
	rw, err := l.BeginRewrite(true)
	require.NoError(t, err)
	require.NoError(t, rw.Run(base))
	l.Append(unit("SET a 1"))
	l.Append([]store.Effect{effect(0, "APPEND a 2"), effect(3, "RPUSH l x y"), effect(3, "RPOP l 1"), effect(0, "SET b 5")})
	l.Append([]store.Effect{{DB: 2, Args: [][]byte{[]byte("SET"), []byte("binary"), []byte("\x00\r\n*1\r\n\xff")}}})
	rw, err = l.BeginRewrite(true)
	require.NoError(t, err)
	require.ErrorIs(t, rw.Run(func(io.Writer) error { return io.ErrClosedPipe }), io.ErrClosedPipe)
	l.Append(unit("PEXPIREAT a 4102444800000"))
	require.NoError(t, l.Sync(context.Background()))
	require.NoError(t, l.Close())
}

// whenLoaded returns a client once the server does not answer -LOADING any more.
func whenLoaded(t *testing.T, redis *testkit.Redis) *testkit.Client {
	t.Helper()
	c := redis.Client(t)
	require.Eventually(t, func() bool { return !c.Do("PING").IsError() }, patience, time.Millisecond)
	return c
}

// TestRedisStartsOnIt: redis-check-aof finds no fault, and redis-server 7.0 loads the data.
func TestRedisStartsOnIt(t *testing.T) {
	dir := t.TempDir()
	writeForRedis(t, dir)
	out, err := exec.Command("redis-check-aof", filepath.Join(dir, "appendonlydir", "appendonly.aof.manifest")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "All AOF files and manifest are valid")

	redis := testkit.StartRedis(t, "--dir", dir, "--appendonly", "yes", "--appendfsync", "always")
	c := whenLoaded(t, redis)
	get := func(args ...string) string { return c.Do(args...).Str }
	require.Equal(t, "1", get("GET", "from base"))
	require.Equal(t, "", get("GET", "lost-by-the-rewrite"))
	require.Equal(t, "12", get("GET", "a"))
	require.Equal(t, "5", get("GET", "b"))
	require.EqualValues(t, 4102444800000, c.Do("PEXPIRETIME", "a").Int)
	c.Do("SELECT", "3")
	require.EqualValues(t, 1, c.Do("LLEN", "l").Int)
	c.Do("SELECT", "2")
	require.Equal(t, "\x00\r\n*1\r\n\xff", get("GET", "binary"))
	// Redis continues our files, and we continue its files.
	require.Equal(t, "OK", get("SET", "by-redis", "1"))
	redis.Kill()
	report, err := Check(disk.OS{}, dir)
	require.NoError(t, err)
	require.Len(t, report.Files, 3)
	d, err := OpenDir(Location{FS: disk.OS{}, Dir: dir, Sub: "appendonlydir", Filename: "appendonly.aof"})
	require.NoError(t, err)
	in := &keyLines{}
	_, err = d.Load(in, LoadOptions{})
	require.NoError(t, err)
	require.NoError(t, d.Close())
	require.Equal(t, []string{"(0 string from base)", "SELECT 0", "SET a 1", "APPEND a 2", "SELECT 3", "RPUSH l x y", "RPOP l 1",
		"SELECT 0", "SET b 5", "SELECT 2", "SET binary \x00\r\n*1\r\n\xff", "SELECT 0", "PEXPIREAT a 4102444800000",
		"SELECT 2", "SET by-redis 1"}, in.got)
}

// TestRedisChecksATornLog: redis-check-aof would cut off the same torn end as we do.
func TestRedisChecksATornLog(t *testing.T) {
	whole := inFile("SET a 1") + inFile("MULTI", "SET b 2", "SET c 3", "EXEC")
	for _, tail := range []string{inFile("SET d 4")[:12], inFile("MULTI", "SET d 4"), inFile("MULTI", "SET d 4", "EXEC")[:40], "*2"} {
		dir := t.TempDir()
		sub := filepath.Join(dir, "log")
		_, err := disk.OS{}.MakeDir(sub)
		require.NoError(t, err)
		write(t, disk.OS{}, filepath.Join(sub, "a.aof.manifest"), manifestOf("i x"))
		write(t, disk.OS{}, filepath.Join(sub, "x"), whole+tail)
		check := exec.Command("redis-check-aof", filepath.Join(sub, "a.aof.manifest"))
		out, err := check.CombinedOutput()
		require.Error(t, err, "%s", out)
		p := placeOn(disk.OS{})
		p.Dir = dir
		_, got, err := load(t, p, LoadOptions{CutTorn: true})
		require.NoError(t, err)
		require.NotNil(t, got.Cut)
		require.Equal(t, whole, content(t, disk.OS{}, filepath.Join(sub, "x")))
		out, err = exec.Command("redis-check-aof", filepath.Join(sub, "a.aof.manifest")).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
}

// TestRedisTakesDamageOtherwise checks the behaviour of Redis that D90 and D91 describe.
func TestRedisTakesDamageOtherwise(t *testing.T) {
	whole := inFile("SET a 1")
	lay := func(text string) Location {
		p := Location{FS: disk.OS{}, Dir: t.TempDir(), Sub: "appendonlydir", Filename: "appendonly.aof"}
		sub := filepath.Join(p.Dir, p.Sub)
		_, err := disk.OS{}.MakeDir(sub)
		require.NoError(t, err)
		write(t, disk.OS{}, filepath.Join(sub, "appendonly.aof.manifest"), manifestOf("i x"))
		write(t, disk.OS{}, filepath.Join(sub, "x"), text)
		return p
	}
	zeros := lay(whole + "\x00\x00\x00\x00")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, "redis-server", "--port", "0", "--unixsocket",
		filepath.Join(zeros.Dir, "s"), "--save", "", "--appendonly", "yes", "--dir", zeros.Dir).CombinedOutput()
	require.Error(t, err)
	require.NoError(t, ctx.Err(), "it started")
	require.Contains(t, string(out), "Bad file format reading the append only file")
	in, got, err := load(t, zeros, LoadOptions{CutTorn: true})
	require.NoError(t, err)
	require.EqualValues(t, 4, got.Cut.Bytes)
	require.Equal(t, []string{"SET a 1"}, in.got)

	long := lay(whole + "*3\r\n$3\r\nSET\r\n$1\r\nb\r\n$9999\r\n1\r\n" + inFile("SET c 1", "SET d 1"))
	_, _, err = load(t, long, LoadOptions{CutTorn: true})
	require.ErrorIs(t, err, ErrCorrupt)
	c := whenLoaded(t, testkit.StartRedis(t, "--dir", long.Dir, "--appendonly", "yes"))
	require.EqualValues(t, 1, c.Do("DBSIZE").Int)
}
