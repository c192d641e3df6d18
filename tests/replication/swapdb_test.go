//go:build oracle

package replication

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/server"
	"lockserver/tests/testkit"
)

// both runs a test with a replica of each kind, and compares the results.
func both(t *testing.T, test func(t *testing.T, replica *node) (seen []string)) {
	redis := startRedis(t, testkit.Oracle(t), "--loading-process-events-interval-bytes", "1024")
	seen := test(t, redis)
	require.Equal(t, seen, test(t, start(t, server.Options{EventLoops: true})))
}

// apart returns a master, a link to it, and makes a replica that was in step miss more than the master keeps.
// It comes back on request.
func apart(t *testing.T, replica *node) (master *node, link *proxy) {
	t.Helper()
	master = startRedis(t, testkit.Oracle(t), "--repl-backlog-size", "16kb", "--rdbcompression", "no")
	link = between(t, master.addr)
	for _, line := range []string{"SET a old", "SET b old", "HSET hash f 1", "DEBUG SET-ACTIVE-EXPIRE 0", "SET overdue 1 PX 1"} {
		require.NotContains(t, master.do(line)[:1], "-", line)
	}
	require.Equal(t, `"lib"`, master.Do("FUNCTION", "LOAD", library("old")).String())
	for _, line := range []string{"CONFIG SET repl-diskless-load swapdb", "CONFIG SET key-load-delay 0"} {
		require.Equal(t, "+OK", replica.do(line))
	}
	replica.follow(link.addr())
	inStep(t, master, replica)
	require.Equal(t, "+OK", replica.do("REPLICAOF 127.0.0.1 1"))
	for i := range 800 {
		master.Do("SET", fmt.Sprintf("new:%d", i), strings.Repeat("x", 1100)) // the amount that a Redis loads before it serves clients
	}
	for _, line := range []string{"SET a new", "DEL b", "XADD stream 1-1 f v"} {
		require.NotContains(t, master.do(line)[:1], "-", line)
	}
	require.Equal(t, `"lib"`, master.Do("FUNCTION", "LOAD", "REPLACE", library("new")).String())
	require.Equal(t, "+OK", replica.do("CONFIG SET key-load-delay 4000"))
	return master, link
}

func library(says string) string {
	return "#!lua name=lib\nredis.register_function{function_name='f', callback=function() return '" + says + "' end, flags={'no-writes'}}"
}

// say runs commands, and adds the replies to seen.
func say(n *node, seen *[]string, lines ...string) {
	for _, line := range lines {
		if field, ok := strings.CutPrefix(line, "INFO "); ok {
			*seen = append(*seen, line+" : "+n.info(field))
		} else {
			*seen = append(*seen, line+" : "+n.do(line))
		}
	}
}

// TestSwapDB: a replica with data of the same history as the snapshot serves that data while it loads the
// snapshot, as Redis does with repl-diskless-load swapdb. Clients that watched, waited or tracked are
// notified.
func TestSwapDB(t *testing.T) {
	both(t, func(t *testing.T, replica *node) (seen []string) {
		master, link := apart(t, replica)
		watcher, idle, waiter, tracker := reach(t, replica.addr), reach(t, replica.addr), reach(t, replica.addr), reach(t, replica.addr)
		say(watcher, &seen, "WATCH a")
		say(idle, &seen, "WATCH nothing", "MULTI", "GET nothing")
		say(tracker, &seen, "CLIENT REPLY ON")
		tracker.Do("HELLO", "3")
		say(tracker, &seen, "CLIENT TRACKING ON", "GET a")
		waiter.Send("XREAD", "BLOCK", "0", "STREAMS", "stream", "0")
		eventually(t, "it waits", func() bool { return replica.info("blocked_clients") == "1" })
		say(replica, &seen, "GET overdue")

		replica.follow(link.addr())
		seen = append(seen, waiter.Receive().String())
		eventually(t, "it loads", func() bool { return replica.info("async_loading") == "1" })
		_, err := waiter.Call("PING")
		require.Error(t, err, "as Redis does, it is closed behind that")
		waiter = reach(t, replica.addr)
		waiter.Send("XREAD", "BLOCK", "0", "STREAMS", "stream", "0")
		eventually(t, "it waits again", func() bool { return replica.info("blocked_clients") == "1" })
		say(replica, &seen, "INFO loading", "INFO master_link_status", "INFO master_sync_in_progress", "GET a", "GET b", "GET new:1", "GET overdue", "HGETALL hash",
			"DBSIZE", "SET a mine", "EVAL return{redis.call('GET','a')} 0", "EVAL return{redis.call('SET','a','mine')} 0", "FCALL_RO f 0", "BGSAVE", "SAVE", "BGREWRITEAOF",
			"REPLICAOF NO ONE", "SLAVEOF NO ONE", "PSYNC ? -1", "CONFIG SET repl-diskless-load disabled", "CONFIG SET timeout 0 dir /", "CONFIG SET AppendOnly no", "MULTI", "GET a", "GET b", "EXEC",
			"MULTI", "BGSAVE", "EXEC", "CONFIG SET replica-serve-stale-data no", "GET a", "CONFIG SET replica-serve-stale-data yes", "GET a", "INFO async_loading")
		require.Equal(t, "+OK", replica.do("CONFIG SET key-load-delay 0"))
		inStep(t, master, replica)

		say(replica, &seen, "INFO async_loading", "INFO loading", "GET a", "GET b", "FCALL_RO f 0")
		say(watcher, &seen, "MULTI", "GET a", "EXEC")
		say(idle, &seen, "EXEC")
		return append(seen, waiter.Receive().String(), tracker.Receive().String())
	})
}

// TestSwapDBOfAnotherHistory: data of another history is not shown while its replacement is loaded, but stays
// if that fails. Meanwhile a transaction that was queued before is not run.
func TestSwapDBOfAnotherHistory(t *testing.T) {
	both(t, func(t *testing.T, replica *node) (seen []string) {
		master, link := apart(t, replica)
		require.Equal(t, "+OK", master.do("DEBUG CHANGE-REPL-ID"))
		queued := reach(t, replica.addr)
		say(queued, &seen, "MULTI", "GET a")
		replica.follow(link.addr())
		eventually(t, "it loads", func() bool { return replica.info("loading") == "1" })
		say(replica, &seen, "INFO async_loading", "GET a", "REPLICAOF NO ONE", "BGSAVE")
		say(queued, &seen, "EXEC")
		_ = link.listener.Close()
		link.cut()
		eventually(t, "it has given up", func() bool { return replica.info("loading") == "0" })
		say(replica, &seen, "GET a", "GET b", "GET new:1", "FCALL_RO f 0", "INFO master_link_status")
		require.Equal(t, "+OK", replica.do("CONFIG SET key-load-delay 0"))
		replica.follow(master.addr)
		inStep(t, master, replica)
		say(replica, &seen, "GET a", "FCALL_RO f 0")
		return seen
	})
}

// TestSwapDBThatFails: the link breaks in the middle, again and again. The old data stays as it was.
func TestSwapDBThatFails(t *testing.T) {
	both(t, func(t *testing.T, replica *node) (seen []string) {
		master, link := apart(t, replica)
		for range 3 {
			replica.follow(link.addr())
			eventually(t, "it loads", func() bool { return replica.info("async_loading") == "1" })
			link.closed.Store(true)
			link.cut()
			eventually(t, "it has given up", func() bool { return replica.info("async_loading") == "0" })
			require.Equal(t, "+OK", replica.do("REPLICAOF 127.0.0.1 1"))
			link.closed.Store(false)
			say(replica, &seen, "INFO async_loading", "INFO loading", "GET a", "GET b", "GET new:1", "FCALL_RO f 0", "GET overdue", "DBSIZE")
		}
		require.Equal(t, "+OK", replica.do("CONFIG SET key-load-delay 0"))
		replica.follow(link.addr())
		inStep(t, master, replica)
		return seen
	})
}

// TestSwapDBAndALog: the log of a replica gives the data that it has, whether the loaded data took its place
// or not.
func TestSwapDBAndALog(t *testing.T) {
	master := start(t, server.Options{EventLoops: true})
	link := between(t, master.addr)
	o := server.Options{EventLoops: true, Dir: t.TempDir(), AppendOnly: true,
		Directives: map[string]string{"repl-diskless-load": "swapdb", "replica-read-only": "no", "enable-debug-command": "yes"}}
	run := func() (*server.Server, *node) {
		srv, err := server.New(o)
		require.NoError(t, err)
		require.NoError(t, srv.Start())
		t.Cleanup(func() { _ = srv.Close() })
		return srv, reach(t, srv.Addr().String())
	}
	again := func(srv *server.Server, replica *node) (*server.Server, *node) {
		digest := replica.do("DEBUG DIGEST")
		require.NoError(t, srv.Shutdown(server.ShutdownOptions{}))
		srv, replica = run()
		require.Equal(t, digest, replica.do("DEBUG DIGEST"))
		return srv, replica
	}
	srv, replica := run()
	values(master)
	replica.follow(link.addr())
	inStep(t, master, replica)
	for round := range 3 {
		for i := range 100 {
			master.do(fmt.Sprintf("SET key:%d:%d 1", round, i))
		}
		require.Equal(t, "+OK", replica.do("REPLICAOF 127.0.0.1 1"))
		require.NotContains(t, master.do("DEBUG CHANGE-REPL-ID")[:1], "-")
		require.Equal(t, "+OK", replica.do("CONFIG SET key-load-delay 5000"))
		replica.follow(link.addr())
		eventually(t, "it loads", func() bool { return replica.info("loading") == "1" })
		link.closed.Store(true)
		link.cut()
		eventually(t, "it has given up", func() bool { return replica.info("loading") == "0" })
		require.Equal(t, "+OK", replica.do("SET mine 1"))
		srv, replica = again(srv, replica)
		require.Equal(t, "1", replica.do("EXISTS mine"))

		link.closed.Store(false)
		replica.follow(link.addr())
		inStep(t, master, replica)
		require.Equal(t, "+OK", replica.do("REPLICAOF NO ONE"))
		srv, replica = again(srv, replica)
		require.Equal(t, "0", replica.do("EXISTS mine"))
	}
}

// TestSwapDBWaitsForAScript: a long script finds the same data at its end as at its start, although the
// replacement has been loaded.
func TestSwapDBWaitsForAScript(t *testing.T) {
	replica := start(t, server.Options{EventLoops: true})
	master, link := apart(t, replica)
	require.Equal(t, "+OK", replica.do("CONFIG SET busy-reply-threshold 10"))
	replica.follow(link.addr())
	eventually(t, "it loads", func() bool { return replica.info("async_loading") == "1" })
	require.Equal(t, "+OK", replica.do("CONFIG SET key-load-delay 100"))
	long := reach(t, replica.addr)
	long.Send("EVAL", "local was, at = redis.call('GET', 'a'), os.clock() repeat until os.clock() - at > 2 return {was, redis.call('GET', 'a')}", "0")
	eventually(t, "the script is busy", func() bool { return strings.HasPrefix(replica.do("GET a"), "-BUSY") })
	require.Equal(t, `["old" "old"]`, long.Receive().String())
	inStep(t, master, replica)
	require.Equal(t, `"new"`, replica.do("GET a"))
}
