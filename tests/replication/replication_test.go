package replication

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server"
	"lockserver/tests/testkit"
)

// each runs a test with event loops and with goroutines for connections.
func each(t *testing.T, test func(t *testing.T, o server.Options)) {
	t.Run("loops", func(t *testing.T) { test(t, server.Options{EventLoops: true}) })
	t.Run("goroutines", func(t *testing.T) { test(t, server.Options{}) })
}

func TestReplicaHasWhatItsMasterHas(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o server.Options) {
		master, replica, third := start(t, o), start(t, o), start(t, o)
		values(master)
		require.Equal(t, "+OK", replica.do("SET old 1"))
		replica.follow(master.addr)
		inStep(t, master, replica)
		third.follow(replica.addr)
		inStep(t, replica, third)
		values(master)
		for i := range 500 {
			master.do(fmt.Sprintf("SET key:%d %d", i, i))
		}
		master.do("MULTI")
		master.do("INCR a")
		master.do("LPUSH b 1 2 3")
		master.do("EXEC")
		inStep(t, master, replica)
		inStep(t, master, third)
		require.Equal(t, "1", master.do("WAIT 1 50000"))
		require.Contains(t, replica.do("SET a 1"), "-READONLY You can't write against a read only replica.")
		require.Contains(t, replica.do("LOCK a me"), "-READONLY")
		require.Contains(t, replica.Do("EVAL", "return redis.call('SET', 'a', '1')", "0").String(), "READONLY")
		require.Contains(t, replica.do("WAIT 0 0"), "-ERR WAIT cannot be used with replica instances")
		require.Equal(t, `"slave"`, replica.Do("ROLE").Elems[0].String())
		require.Equal(t, `"connected"`, replica.Do("ROLE").Elems[3].String())
		require.Len(t, master.Do("ROLE").Elems[2].Elems, 1)
		require.Equal(t, int64(1), master.number("connected_slaves"))
		require.Regexp(t, `^ip=127\.0\.0\.1,port=\d+,state=online,offset=\d+,lag=[01]$`, master.info("slave0"))
	})
}

// TestNothingEndsByItself: overdue data on a replica is not found, but stays until the master removes it. A
// lease that the master renews lasts.
func TestNothingEndsByItself(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	clock := server.NewManualClock(begin)
	master := start(t, server.Options{Clock: server.NewManualClock(begin)}) // its clock stands still
	replica := start(t, server.Options{Clock: clock})
	replica.follow(master.addr)
	inStep(t, master, replica)
	require.Equal(t, "+OK", master.do("SET k v PX 100000"))
	require.Regexp(t, `^\d+$`, master.do("LOCK l me"))
	require.Regexp(t, `^\d+$`, master.do("LOCK fixed me EX 1000"))
	inStep(t, master, replica)
	clock.Advance(101 * time.Second)
	require.Equal(t, "$nil", replica.do("GET k"))
	require.Equal(t, "3", replica.do("DBSIZE"))
	require.Equal(t, `"v"`, master.do("GET k"))
	require.Equal(t, "+OK", replica.do("REPLICAOF NO ONE"))
	require.InDelta(t, 30_000, replica.Do("PTTL", "l").Int, 1000, "it has a whole lease since the promotion")
	require.InDelta(t, 899_000, replica.Do("PTTL", "fixed").Int, 60_000, "it keeps its end")
	clock.Advance(time.Second)
	require.Equal(t, "2", replica.do("DBSIZE"))
	clock.Advance(60 * time.Second)
	require.Equal(t, "1", replica.do("DBSIZE"))
	clock.Advance(1000 * time.Second)
	require.Equal(t, "0", replica.do("DBSIZE"))
}

// TestOverdueInASnapshot: a replica finds overdue data in the snapshot from its master, or in its own at a
// start. The master may still extend the deadline, and then the data must be there. The replica's clock is
// ahead.
func TestOverdueInASnapshot(t *testing.T) {
	t.Parallel()
	timed := []string{"SET key v PX 100000", "HSET hash f 1 g 2", "HPEXPIRE hash 100000 FIELDS 1 f", "LOCK lock me EX 100", "LOCK shared me SHARED EX 100", "LOCK watched me"}
	later := []string{"PERSIST key", "HPERSIST hash FIELDS 1 f", "LOCK lock me EX 10000 ONCE", "LOCK shared me SHARED EX 10000 ONCE"}
	for name, load := range map[string]string{"by a file": "disabled", "at once": "on-empty-db"} {
		t.Run(name, func(t *testing.T) {
			master := start(t, server.Options{EventLoops: true})
			run := func(lines []string) {
				for _, line := range lines {
					require.NotContains(t, master.do(line)[:1], "-", line)
				}
			}
			run(timed)
			o := server.Options{EventLoops: true, Dir: t.TempDir(), Directives: map[string]string{"repl-diskless-load": load, "enable-debug-command": "yes"}}
			o.Clock = server.NewManualClock(time.Now().Add(time.Hour))
			srv, err := server.New(o)
			require.NoError(t, err)
			require.NoError(t, srv.Start())
			replica := reach(t, srv.Addr().String())
			replica.follow(master.addr)
			run(later)
			inStep(t, master, replica)
			require.Equal(t, master.do("DBSIZE"), replica.do("DBSIZE"))

			run(timed)
			inStep(t, master, replica)
			require.Equal(t, "+OK", replica.do("SAVE"))
			require.NoError(t, srv.Shutdown(server.ShutdownOptions{}))
			host, port, err := net.SplitHostPort(master.addr)
			require.NoError(t, err)
			o.Directives["replicaof"] = host + " " + port
			again := start(t, o)
			run(later)
			inStep(t, master, again)
			require.Equal(t, master.do("DBSIZE"), again.do("DBSIZE"))
			require.Equal(t, "1", master.info("sync_full"), "it went on where it was")
		})
	}
}

// TestPromotion: master and replica change places without a snapshot. Tokens rise, and holders come back.
func TestPromotion(t *testing.T) {
	t.Parallel()
	master, replica := start(t, server.Options{EventLoops: true}), start(t, server.Options{EventLoops: true})
	replica.follow(master.addr)
	inStep(t, master, replica)
	token, err := strconv.ParseInt(master.do("LOCK l me EX 1000"), 10, 64)
	require.NoError(t, err)
	require.Regexp(t, `^\d+$`, master.do("LOCK watched you"))
	waiter := reach(t, master.addr)
	waiter.Send("LOCK", "l", "other", "WAIT", "60000")
	popper := reach(t, master.addr)
	popper.Send("BLPOP", "nothing", "0")
	eventually(t, "they wait", func() bool { return master.info("blocked_clients") == "2" })
	inStep(t, master, replica)

	require.Equal(t, "+OK", replica.do("REPLICAOF NO ONE"))
	require.Equal(t, "master", replica.info("role"))
	require.Equal(t, "+OK", replica.do("SET after 1"))
	master.follow(replica.addr)
	for _, n := range []*node{waiter, popper} {
		require.Contains(t, n.Receive().String(), "-UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)")
	}
	inStep(t, replica, master)
	require.Equal(t, "1", replica.info("sync_partial_ok"))
	require.Equal(t, "0", replica.info("sync_full"))

	require.Equal(t, strconv.FormatInt(token, 10), replica.do("LOCK l me EX 1000 ONCE"))
	require.Equal(t, "1", replica.do("LOCK.ATTACH you"))
	later, err := strconv.ParseInt(replica.do("LOCK fresh me"), 10, 64)
	require.NoError(t, err)
	require.Greater(t, later, token)
	inStep(t, replica, master)
}

// TestBrokenLink: the link breaks again and again while the master gets writes.
func TestBrokenLink(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o server.Options) {
		master, replica := start(t, o), start(t, o)
		p := between(t, master.addr)
		replica.follow(p.addr())
		inStep(t, master, replica)
		for i := range 30 {
			p.cutAfter(int64(i * 7))
			for j := range 20 {
				master.do(fmt.Sprintf("RPUSH list %d:%d", i, j))
				master.do(fmt.Sprintf("INCRBY counter %d", j))
			}
		}
		inStep(t, master, replica)
		require.Equal(t, int64(1), master.number("sync_full"), "the rest were partial")
		require.Positive(t, master.number("sync_partial_ok"))
	})
}

// TestCutAtEveryByte: a full synchronization, and the history after it, are cut at every byte.
func TestCutAtEveryByte(t *testing.T) {
	t.Parallel()
	step := int64(testkit.Steps(9, 1))
	cutEverywhere(t, start(t, server.Options{EventLoops: true}), start(t, server.Options{}), step)
}

// cutEverywhere cuts a full synchronization again and again, each time step bytes later. Finally it cuts the
// history after it.
func cutEverywhere(t *testing.T, master, replica *node, step int64) {
	t.Helper()
	for _, line := range []string{"SET a 1", "RPUSH l a b", "HSET h f v"} {
		master.do(line)
	}
	p := between(t, master.addr)
	replica.follow(p.addr())
	inStep(t, master, replica)
	whole, syncs := p.carried.Load(), master.number("sync_full")
	for at := int64(0); at < whole+60; at += step {
		require.Equal(t, "+OK", replica.do("REPLICAOF NO ONE"))
		require.Equal(t, "+OK", replica.do("FLUSHALL")) // with on-empty-db it is loaded as it comes
		require.Equal(t, "+OK", replica.do("DEBUG CHANGE-REPL-ID"))
		p.cutAfter(at)
		replica.follow(p.addr())
		master.do("RPUSH l x")
		inStep(t, master, replica)
		p.cutAt.Store(-1)
		syncs++
	}
	require.GreaterOrEqual(t, master.number("sync_full"), syncs)
}

// TestOverdueFieldsAreHidden: a replica without its master does not show an overdue field, but the field
// stays, and so does the key.
func TestOverdueFieldsAreHidden(t *testing.T) {
	t.Parallel()
	clock := server.NewManualClock(time.Now()) // the field must not expire before the link is cut
	o := server.Options{EventLoops: true, Clock: clock}
	master, replica := start(t, o), start(t, o)
	p := between(t, master.addr)
	master.do("HSET hash a 1 b 2")
	replica.follow(p.addr())
	inStep(t, master, replica)
	require.Equal(t, "[1]", master.do("HPEXPIRE hash 300 FIELDS 1 a"))
	require.Equal(t, "1", master.do("WAIT 1 50000"))
	_ = p.listener.Close()
	p.cut()
	clock.Advance(301 * time.Millisecond)
	eventually(t, "the master has removed it", func() bool { return master.do("HLEN hash") == "1" })
	eventually(t, "the replica hides it", func() bool { return replica.do("HGET hash a") == "$nil" })
	for line, reply := range map[string]string{"HGETALL hash": `["b" "2"]`, "HKEYS hash": `["b"]`, "HVALS hash": `["2"]`, "HMGET hash a b": `[$nil "2"]`,
		"HEXISTS hash a": "0", "HSTRLEN hash a": "0", "HSCAN hash 0": `["0" ["b" "2"]]`, "HPTTL hash FIELDS 2 a b": "[-2 -1]", "HLEN hash": "2"} {
		require.Equal(t, reply, replica.do(line), line)
	}
	require.Equal(t, "+OK", replica.do("REPLICAOF NO ONE"))
	require.Equal(t, "1", replica.do("HLEN hash"), "it is removed by who leads")
}

// isWritten waits until a server has run the write of another connection: it has one key.
func isWritten(t *testing.T, admin *node) {
	t.Helper()
	eventually(t, "it has a key", func() bool { return strings.HasPrefix(admin.info("db0"), "keys=1,") })
}

// TestMinReplicasAck: no write is acknowledged before a replica has it.
func TestMinReplicasAck(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o server.Options) {
		o.Directives = map[string]string{"min-replicas-ack": "1"}
		master := start(t, o)
		master.Send("SET", "a", "1")
		admin := reach(t, master.addr)
		require.Equal(t, "+PONG", admin.do("PING"))
		isWritten(t, admin)
		_, answered := master.ReceiveWithin(100 * time.Millisecond)
		require.False(t, answered)
		require.Equal(t, "0", admin.do("PUBLISH channel message"), "as Sentinel does on the connection that it asks INFO on")
		require.Equal(t, "+OK", admin.do("MULTI"))
		require.Equal(t, "+QUEUED", admin.do("CLIENT KILL TYPE pubsub"))
		require.Equal(t, "[0]", admin.do("EXEC"))
		reader := reach(t, master.addr)
		reader.Send("GET", "a")
		_, answered = reader.ReceiveWithin(50 * time.Millisecond)
		require.False(t, answered, "it would tell of what may be lost")

		replica := start(t, server.Options{EventLoops: true})
		p := between(t, master.addr)
		replica.follow(p.addr())
		require.Equal(t, "+OK", master.Receive().String())
		require.Equal(t, `"1"`, reader.Receive().String())
		for i := range 100 {
			require.Equal(t, "+OK", master.do(fmt.Sprintf("SET a %d", i)))
			require.Equal(t, fmt.Sprintf("%q", strconv.Itoa(i)), replica.do("GET a"))
		}
		_ = p.listener.Close()
		p.cut()
		master.Send("SET", "a", "last")
		_, answered = master.ReceiveWithin(100 * time.Millisecond)
		require.False(t, answered)
		require.Equal(t, "+OK", admin.do("CONFIG SET min-replicas-ack 0"))
		require.Equal(t, "+OK", master.Receive().String())
	})
}

// TestDemotedTellsNothing: a client waits for an acknowledgement when the server becomes a replica. The
// server closes its connection, so the client knows that the outcome is unknown.
func TestDemotedTellsNothing(t *testing.T) {
	t.Parallel()
	o := server.Options{EventLoops: true, Directives: map[string]string{"min-replicas-ack": "1"}}
	master, other := start(t, o), start(t, server.Options{})
	master.Send("SET", "a", "1")
	admin := reach(t, master.addr)
	isWritten(t, admin)
	_, answered := master.ReceiveWithin(50 * time.Millisecond)
	require.False(t, answered)
	admin.follow(other.addr)
	_, err := master.Next()
	require.Error(t, err)
}

// TestRestartedReplicaGoesOn: a replica continues after a restart from its log and from its snapshot.
func TestRestartedReplicaGoesOn(t *testing.T) {
	t.Parallel()
	for _, log := range []bool{true, false} {
		t.Run(fmt.Sprintf("log=%t", log), func(t *testing.T) {
			master := start(t, server.Options{EventLoops: true})
			values(master)
			dir := t.TempDir()
			o := server.Options{Dir: dir, AppendOnly: log, EventLoops: true, Directives: map[string]string{"enable-debug-command": "yes"}}
			if !log {
				o.Save = "3600 1"
			}
			run := func() *server.Server {
				srv, err := server.New(o)
				require.NoError(t, err)
				require.NoError(t, srv.Start())
				return srv
			}
			srv := run()
			replica := reach(t, srv.Addr().String())
			replica.follow(master.addr)
			inStep(t, master, replica)
			for i := range 50 {
				master.do(fmt.Sprintf("RPUSH list %d", i))
				master.do(fmt.Sprintf("INCR in:%d", i%3))
			}
			master.do("SELECT 3") // the next commands are for that database, without another SELECT
			master.do("SET last before")
			inStep(t, master, replica)
			require.NoError(t, srv.Shutdown(server.ShutdownOptions{}))
			for i := range 50 {
				master.do(fmt.Sprintf("RPUSH list %d", i))
			}
			host, port, err := net.SplitHostPort(master.addr)
			require.NoError(t, err)
			o.Directives["replicaof"] = host + " " + port
			srv = run()
			defer func() { _ = srv.Close() }()
			replica = reach(t, srv.Addr().String())
			inStep(t, master, replica)
			require.Equal(t, int64(1), master.number("sync_full"))
			require.Equal(t, int64(1), master.number("sync_partial_ok"))
		})
	}
}

// TestSnapshotOfAReplica: a server that gets a snapshot of a replica continues in the right database: the
// history does not contain another SELECT.
func TestSnapshotOfAReplica(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o server.Options) {
		snapshotOfAReplica(t, start(t, o))
	})
}

// snapshotOfAReplica puts a server between two lockservers.
func snapshotOfAReplica(t *testing.T, middle *node) {
	t.Helper()
	first, last := start(t, server.Options{EventLoops: true}), start(t, server.Options{EventLoops: true})
	middle.follow(first.addr)
	inStep(t, first, middle)
	require.Equal(t, "+OK", first.do("SELECT 3"))
	require.Equal(t, "+OK", first.do("SET before it"))
	last.follow(middle.addr)
	inStep(t, middle, last)
	require.Equal(t, "+OK", first.do("SET after it"))
	inStep(t, first, middle)
	inStep(t, middle, last)
}

// TestRandomCommands runs random writes while the link breaks, and compares the data.
func TestRandomCommands(t *testing.T) {
	t.Parallel()
	master, replica := start(t, server.Options{EventLoops: true}), start(t, server.Options{EventLoops: true})
	p := between(t, master.addr)
	replica.follow(p.addr())
	randomWrites(t, master, 4000, func(i int) {
		if i%500 == 250 {
			p.cut()
		}
	})
	inStep(t, master, replica)
}

// randomWrites runs random commands on few keys. Their errors do not matter.
func randomWrites(t *testing.T, n *node, count int, between func(i int)) {
	seed := seedOf(t)
	t.Logf("SEED=%d", seed)
	chance := rand.New(rand.NewPCG(seed, 1))
	key := func(kind string) string { return fmt.Sprintf("%s:%d", kind, chance.IntN(5)) }
	word := func() string { return strconv.Itoa(chance.IntN(30)) }
	calls := []func() []string{
		func() []string { return []string{"SET", key("s"), word()} },
		func() []string { return []string{"SET", key("s"), word(), "PX", strconv.Itoa(1 + chance.IntN(60))} },
		func() []string { return []string{"INCRBYFLOAT", key("s"), "1.5"} },
		func() []string { return []string{"APPEND", key("s"), word()} },
		func() []string { return []string{"GETEX", key("s"), "PX", "50"} },
		func() []string { return []string{"DEL", key("s"), key("l"), key("h")} },
		func() []string { return []string{"RPUSH", key("l"), word(), word()} },
		func() []string { return []string{"LMOVE", key("l"), key("l"), "LEFT", "RIGHT"} },
		func() []string { return []string{"LPOP", key("l")} },
		func() []string { return []string{"LREM", key("l"), "1", word()} },
		func() []string { return []string{"HSET", key("h"), word(), word()} },
		func() []string { return []string{"HPEXPIRE", key("h"), "40", "FIELDS", "1", word()} },
		func() []string { return []string{"HINCRBY", key("h"), word(), "3"} },
		func() []string { return []string{"SADD", key("set"), word(), word()} },
		func() []string { return []string{"SPOP", key("set"), "2"} },
		func() []string { return []string{"SUNIONSTORE", key("set"), key("set"), key("set")} },
		func() []string { return []string{"ZADD", key("z"), word(), word()} },
		func() []string { return []string{"ZPOPMIN", key("z")} },
		func() []string { return []string{"XADD", key("x"), "MAXLEN", "20", "*", "f", word()} },
		func() []string { return []string{"XGROUP", "CREATE", key("x"), "g", "0", "MKSTREAM"} },
		func() []string {
			return []string{"XREADGROUP", "GROUP", "g", word(), "COUNT", "2", "STREAMS", key("x"), ">"}
		},
		func() []string { return []string{"LOCK", key("lock"), word(), "PX", strconv.Itoa(1 + chance.IntN(50))} },
		func() []string {
			return []string{"LOCK", key("lock"), word(), "SHARED", "PX", strconv.Itoa(1 + chance.IntN(50))}
		},
		func() []string { return []string{"UNLOCK", key("lock"), word()} },
		func() []string { return []string{"RENAME", key("s"), key("s")} },
		func() []string { return []string{"COPY", key("h"), key("h"), "REPLACE"} },
		func() []string { return []string{"EXPIRE", key("l"), "1"} },
		func() []string { return []string{"SWAPDB", "0", "1"} },
		func() []string { return []string{"SELECT", strconv.Itoa(chance.IntN(2))} },
		func() []string { return []string{"SETBIT", key("bits"), word(), "1"} },
		func() []string { return []string{"PFADD", key("hll"), word()} },
		func() []string {
			return []string{"EVAL", "redis.call('INCR', KEYS[1]) return redis.call('RPUSH', KEYS[2], ARGV[1])", "2", key("n"), key("l"), word()}
		},
		func() []string { return []string{"MULTI"} },
		func() []string { return []string{"EXEC"} },
	}
	for i := range count {
		between(i)
		_, err := n.Call(calls[chance.IntN(len(calls))]()...)
		require.NoError(t, err)
	}
	n.Do("DISCARD")
	n.Do("SELECT", "0")
}

// TestEncryptedLink: the link uses the encrypted port. It does not connect to a master with an unsigned
// certificate.
func TestEncryptedLink(t *testing.T) {
	t.Parallel()
	authority, otherAuthority := testkit.NewAuthority(t), testkit.NewAuthority(t)
	secured := func(a *testkit.Authority, more map[string]string) *server.Server {
		cert := a.Issue("server", time.Now().Add(time.Hour))
		o := server.Options{Addr: "127.0.0.1:" + testkit.FreePort(t), EventLoops: true, Directives: map[string]string{"tls-port": testkit.FreePort(t), "tls-cert-file": cert.CertFile,
			"tls-key-file": cert.KeyFile, "tls-ca-cert-file": authority.File, "tls-replication": "yes", "enable-debug-command": "yes",
			"repl-diskless-sync-delay": "0"}}
		maps.Copy(o.Directives, more)
		srv, err := server.New(o)
		require.NoError(t, err)
		require.NoError(t, srv.Start())
		t.Cleanup(func() { _ = srv.Close() })
		return srv
	}
	master, other := secured(authority, nil), secured(otherAuthority, nil)
	replica := secured(authority, nil)
	m, r := reach(t, master.Addr().String()), reach(t, replica.Addr().String())
	values(m)
	r.follow(other.SecureAddr().String())
	eventually(t, "the link has been tried", func() bool { return r.info("master_link_down_since_seconds") != "-1" })
	require.Equal(t, "down", r.info("master_link_status"))
	r.follow(master.SecureAddr().String())
	inStep(t, m, r)
}

// TestWaitForReplicasDisks tests WAITAOF.
func TestWaitForReplicasDisks(t *testing.T) {
	t.Parallel()
	master := start(t, server.Options{EventLoops: true, Dir: t.TempDir(), AppendOnly: true})
	without := start(t, server.Options{EventLoops: true})
	without.follow(master.addr)
	inStep(t, master, without)
	master.do("SET a 1")
	require.Equal(t, "[1 0]", master.do("WAITAOF 1 0 50000"))
	require.Equal(t, "[1 0]", master.do("WAITAOF 1 1 50"))
	with := start(t, server.Options{EventLoops: true, Dir: t.TempDir(), AppendOnly: true})
	with.follow(master.addr)
	inStep(t, master, with)
	master.do("SET a 2")
	require.Equal(t, "[1 1]", master.do("WAITAOF 1 1 50000"))
	require.Equal(t, "2", master.do("WAIT 2 50000"))
	require.Equal(t, "2", master.do("WAIT 3 10"))
}
