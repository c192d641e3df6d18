//go:build oracle

package replication

import (
	"bufio"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server"
	"lockserver/tests/testkit"
)

// startRedis starts a real Redis with a port.
func startRedis(t *testing.T, p testkit.Program, args ...string) *node {
	t.Helper()
	port := testkit.FreePort(t)
	common := []string{"--port", port, "--bind", "127.0.0.1", "--repl-diskless-sync-delay", "0"}
	if p.Major(t) >= 7 {
		common = append(common, "--enable-debug-command", "yes")
	}
	args = append(common, args...)
	p.Start(t, args...)
	return reach(t, "127.0.0.1:"+port)
}

// eachReplica runs a test with each Redis that can follow a lockserver: 7.0 and later. For an older one it
// tests that it cannot.
func eachReplica(t *testing.T, test func(t *testing.T, p testkit.Program)) {
	t.Helper()
	testkit.EachProgram(t, func(t *testing.T, p testkit.Program) {
		if p.Major(t) < 7 {
			doesNotFollow(t, p)
			return
		}
		test(t, p)
	})
}

// doesNotFollow: a Redis that is too old to read our snapshot says so, for any way of sending it. It tries
// again and again with its link down, and has none of our data. We go on, and so do other replicas.
func doesNotFollow(t *testing.T, p testkit.Program) {
	for _, diskless := range []string{"yes", "no"} {
		t.Run("too old,diskless="+diskless, func(t *testing.T) {
			log := &written{}
			master := start(t, server.Options{EventLoops: true, Log: slog.New(slog.NewTextHandler(log, nil)),
				Directives: map[string]string{"repl-diskless-sync": diskless}})
			plain(master)
			logFile := filepath.Join(t.TempDir(), "log")
			old := startRedis(t, p, "--logfile", logFile)
			old.follow(master.addr)
			eventually(t, "it has been sent a snapshot twice", func() bool { return master.number("sync_full") > 1 })
			eventually(t, "its log says why", func() bool {
				text, err := os.ReadFile(logFile)
				return err == nil && strings.Contains(string(text), "Can't handle RDB format version 10")
			})
			require.Equal(t, "slave", old.info("role"))
			require.NotEqual(t, "up", old.info("master_link_status"))
			eventually(t, "it is loading nothing", func() bool { return old.do("DBSIZE") == "0" })
			eventually(t, "our log says so, and where to look", func() bool { return log.times("its own log may say why") > 1 })
			require.Equal(t, "+OK", master.do("SET more 1"))
			other := start(t, server.Options{})
			other.follow(master.addr)
			inStep(t, master, other)
			require.NotEqual(t, "up", old.info("master_link_status"))
		})
	}
}

// plain writes values that every Redis since 7.0 knows.
func plain(n *node) {
	for _, line := range []string{
		"SET string value", "SET timed value PX 5000000", "HSET hash a 1 b 2", "RPUSH list a b c", "SADD set 1 2 three", "ZADD zset 1 a 2.5 b",
		"DEL stream", "XADD stream 1-1 f v", "XGROUP CREATE stream g 0", "XREADGROUP GROUP g me COUNT 1 STREAMS stream >",
		"SETRANGE long 70000 x", "SELECT 3", "SET elsewhere 1", "SELECT 0", "PFADD hll a b c",
	} {
		require.NotContains(n.t, n.do(line)[:1], "-", line)
	}
}

// TestRedisFollowsLockserver: a real Redis has the data of its master, for each way of sending a snapshot.
func TestRedisFollowsLockserver(t *testing.T) {
	eachReplica(t, func(t *testing.T, p testkit.Program) {
		for _, diskless := range []string{"yes", "no"} {
			for _, load := range []string{"disabled", "swapdb"} {
				t.Run("diskless="+diskless+",load="+load, func(t *testing.T) {
					master := start(t, server.Options{EventLoops: true, Directives: map[string]string{"repl-diskless-sync": diskless}})
					plain(master)
					replica := startRedis(t, p, "--repl-diskless-load", load)
					link := between(t, master.addr)
					replica.follow(link.addr())
					inStep(t, master, replica)
					require.Regexp(t, `^\d+$`, master.do("LOCK l me EX 1000"))
					link.cut()
					plain(master)
					for i := range 300 {
						master.do(fmt.Sprintf("RPUSH list %d", i))
					}
					inStep(t, master, replica)
					require.Equal(t, int64(1), master.number("sync_partial_ok"))
					require.Equal(t, "1", master.do("WAIT 1 50000"))
				})
			}
		}
	})
}

// TestLockserverFollowsRedis: the same in the other direction, for each way in which Redis sends a snapshot.
func TestLockserverFollowsRedis(t *testing.T) {
	testkit.EachProgram(t, func(t *testing.T, p testkit.Program) {
		for _, diskless := range []string{"yes", "no"} {
			for _, load := range []string{"disabled", "on-empty-db"} {
				t.Run("diskless="+diskless+",load="+load, func(t *testing.T) {
					master := startRedis(t, p, "--repl-diskless-sync", diskless, "--requirepass", "secret")
					require.Equal(t, "+OK", master.do("AUTH secret"))
					plain(master)
					if p.Major(t) >= 7 {
						require.NotContains(t, master.Do("FUNCTION", "LOAD", "#!lua name=lib\nredis.register_function('f', function() return 1 end)").String(), "-ERR")
					}
					replica := start(t, server.Options{EventLoops: true, Directives: map[string]string{"repl-diskless-load": load, "masterauth": "secret"}})
					link := between(t, master.addr)
					replica.follow(link.addr())
					inStep(t, master, replica)
					require.Equal(t, p.Major(t) >= 7, strings.Contains(replica.do("FUNCTION LIST"), "lib"))
					link.cut()
					plain(master)
					master.Do("EVAL", "for i = 1, 100 do redis.call('RPUSH', KEYS[1], i) end redis.call('SPOP', 'set')", "1", "list")
					inStep(t, master, replica)
					require.Equal(t, int64(1), master.number("sync_partial_ok"))
					require.Equal(t, "1", master.do("WAIT 1 50000"))
				})
			}
		}
	})
}

// TestMessagesReachReplicas: subscribers of a replica of the other kind get messages of PUBLISH.
func TestMessagesReachReplicas(t *testing.T) {
	master := start(t, server.Options{EventLoops: true})
	redis := startRedis(t, testkit.Oracle(t))
	last := start(t, server.Options{EventLoops: true})
	redis.follow(master.addr)
	inStep(t, master, redis)
	last.follow(redis.addr)
	inStep(t, redis, last)
	ears := []*node{reach(t, redis.addr), reach(t, last.addr)}
	for _, n := range ears {
		n.Do("SUBSCRIBE", "c")
	}
	require.Equal(t, "0", master.do("PUBLISH c hello"))
	for _, n := range ears {
		require.Equal(t, `["message" "c" "hello"]`, n.Receive().String())
	}
}

// TestRandomCommandsBesideRedis: a chain of lockserver, Redis and lockserver, while links break. At the end
// the last one leads.
func TestRandomCommandsBesideRedis(t *testing.T) {
	first, last := start(t, server.Options{EventLoops: true}), start(t, server.Options{EventLoops: true})
	middle := startRedis(t, testkit.Oracle(t))
	one, two := between(t, first.addr), between(t, middle.addr)
	middle.follow(one.addr())
	inStep(t, first, middle)
	last.follow(two.addr())
	inStep(t, middle, last)
	randomWrites(t, first, 5000, func(i int) {
		switch i % 700 {
		case 300:
			one.cut()
		case 600:
			two.cut()
		}
	})
	eventually(t, "nothing is left that expires, which would be news to the last one", func() bool {
		for _, db := range []string{first.info("db0"), first.info("db1")} {
			if db != "" && !(strings.Contains(db, "expires=0,") && strings.HasSuffix(db, "subexpiry=0")) {
				return false
			}
		}
		return true
	})
	inStep(t, first, middle)
	inStep(t, middle, last) // a Redis without its master accepts no replica
	_ = one.listener.Close()
	one.cut()
	inStep(t, middle, last)

	require.Equal(t, "+OK", last.do("REPLICAOF NO ONE"))
	middle.follow(last.addr)
	first.follow(middle.addr)
	plain(last)
	inStep(t, last, middle)
	inStep(t, middle, first)
	require.Equal(t, int64(1), last.number("sync_partial_ok"), "the histories are one")
}

// TestSnapshotOfARedisThatFollows: a Redis is between two lockservers.
func TestSnapshotOfARedisThatFollows(t *testing.T) {
	eachReplica(t, func(t *testing.T, p testkit.Program) { snapshotOfAReplica(t, startRedis(t, p)) })
}

// TestTools: redis-cli copies the data, and reads the history.
func TestTools(t *testing.T) {
	p := testkit.Oracle(t)
	master := start(t, server.Options{EventLoops: true})
	plain(master)
	require.NotContains(t, master.Do("FUNCTION", "LOAD", "#!lua name=lib\nredis.register_function('f', function() return 1 end)").String(), "-ERR")
	_, port, err := net.SplitHostPort(master.addr)
	require.NoError(t, err)
	cli := func(args ...string) *exec.Cmd {
		return exec.Command(p.Tool("redis-cli"), append([]string{"-p", port}, args...)...)
	}

	dir := t.TempDir()
	out, err := cli("--rdb", filepath.Join(dir, "dump.rdb")).CombinedOutput()
	require.NoError(t, err, string(out))
	copied := startRedis(t, p, "--dir", dir)
	require.Equal(t, master.do("DEBUG DIGEST"), copied.do("DEBUG DIGEST"))

	functions := t.TempDir()
	out, err = cli("--functions-rdb", filepath.Join(functions, "dump.rdb")).CombinedOutput()
	require.NoError(t, err, string(out))
	only := startRedis(t, p, "--dir", functions)
	require.Equal(t, "0", only.do("DBSIZE"))
	require.Contains(t, only.do("FUNCTION LIST"), "lib")

	follower := cli("--replica")
	pipe, err := follower.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, follower.Start())
	defer func() {
		_ = follower.Process.Kill()
		_ = follower.Wait()
	}()
	lines := make(chan string, 1000)
	go func() {
		for s := bufio.NewScanner(pipe); s.Scan(); {
			lines <- s.Text()
		}
	}()
	for i, end := 0, time.Now().Add(patience); ; i++ {
		require.True(t, time.Now().Before(end), "redis-cli --replica shows nothing of the history")
		master.do("SET seen " + strconv.Itoa(i))
		select {
		case line := <-lines:
			if strings.Contains(line, `"seen"`) {
				return
			}
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// TestSyncOfLongAgo: a client that does not know PSYNC gets a length, the snapshot, and the history.
func TestSyncOfLongAgo(t *testing.T) {
	master := start(t, server.Options{EventLoops: true})
	plain(master)
	conn, err := net.Dial("tcp", master.addr)
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	_, err = conn.Write([]byte("SYNC\r\n"))
	require.NoError(t, err)
	in := bufio.NewReader(conn)
	head := "\n"
	for head == "\n" {
		head, err = in.ReadString('\n')
		require.NoError(t, err)
	}
	size, err := strconv.Atoi(strings.TrimSpace(head[1:]))
	require.NoError(t, err, head)
	file := make([]byte, size)
	for at := 0; at < size; {
		n, err := in.Read(file[at:])
		require.NoError(t, err)
		at += n
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "dump.rdb"), file, 0o600))
	require.Equal(t, master.do("DEBUG DIGEST"), startRedis(t, testkit.Oracle(t), "--dir", dir).do("DEBUG DIGEST"))
	master.do("SET behind it")
	line, err := in.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "*2\r\n", line)
}

// TestFailoverBetweenKinds: a Redis hands over to a lockserver, and the other way round.
func TestFailoverBetweenKinds(t *testing.T) {
	eachReplica(t, func(t *testing.T, p testkit.Program) {
		failOver(t, startRedis(t, p), start(t, server.Options{EventLoops: true}))
		failOver(t, start(t, server.Options{EventLoops: true}), startRedis(t, p))
	})
}
