package replication

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server"
	"lockserver/tests/testkit"
)

// liar is a master that answers the first commands of a replica, and then calls psync.
func liar(t *testing.T, psync func(conn net.Conn)) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				for in := bufio.NewReader(conn); ; {
					line, err := in.ReadString('\n')
					if err != nil {
						return
					}
					switch word := strings.TrimSpace(line); word {
					case "PING", "REPLCONF":
						_, _ = conn.Write([]byte("+OK\r\n"))
					case "PSYNC":
						psync(conn)
						_, _ = in.ReadString('\x00')
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

const id = "0123456789012345678901234567890123456789"

// TestMastersThatLie: the replica lives, its link is down, and it can follow an honest master afterwards.
func TestMastersThatLie(t *testing.T) {
	t.Parallel()
	for name, says := range map[string]string{
		"no history":           "+FULLRESYNC\r\n",
		"a short name":         "+FULLRESYNC abc 5\r\n",
		"a negative length":    "+FULLRESYNC " + id + " -5\r\n",
		"nothing to go on":     "+CONTINUE\r\n",
		"nonsense":             "hello\r\n",
		"a long line":          strings.Repeat("x", 10000) + "\r\n",
		"a negative snapshot":  "+FULLRESYNC " + id + " 5\r\n$-5\r\n",
		"an endless snapshot":  "+FULLRESYNC " + id + " 5\r\n$99999999999999999999\r\n",
		"a damaged snapshot":   "+FULLRESYNC " + id + " 5\r\n$9\r\nREDIS0011",
		"no snapshot":          "+FULLRESYNC " + id + " 5\r\n$9\r\nsomething",
		"an error instead":     "+FULLRESYNC " + id + " 5\r\n-ERR no\r\n",
		"a mark and no end":    "+FULLRESYNC " + id + " 5\r\n$EOF:" + id + "\r\nREDIS0011",
		"an empty name":        "+FULLRESYNC " + strings.Repeat(" ", 40) + " 5\r\n",
		"commands that fail":   empty + "*3\r\n$5\r\nLPUSH\r\n$1\r\nk\r\n$1\r\nv\r\n*3\r\n$4\r\nHSET\r\n$1\r\nk\r\n$1\r\nv\r\n",
		"bad protocol":         empty + "*1\r\n!\r\n",
		"a database too many":  empty + "*2\r\n$6\r\nSELECT\r\n$4\r\n9999\r\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n",
		"a command for others": empty + "*1\r\n$8\r\nSHUTDOWN\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			replica := start(t, server.Options{EventLoops: true})
			require.Equal(t, "+OK", replica.do("SET mine 1"))
			asked := make(chan struct{}, 100)
			replica.follow(liar(t, func(conn net.Conn) {
				_, _ = conn.Write([]byte(says))
				_ = conn.(*net.TCPConn).CloseWrite()
				select {
				case asked <- struct{}{}:
				default:
				}
			}))
			<-asked
			<-asked
			eventually(t, "the link is down", func() bool { return replica.info("master_link_status") == "down" })
			master := start(t, server.Options{})
			values(master)
			replica.follow(master.addr)
			inStep(t, master, replica)
		})
	}
}

// request returns a command as a master sends it.
func request(args ...string) (b string) {
	b = fmt.Sprintf("*%d\r\n", len(args))
	for _, a := range args {
		b += fmt.Sprintf("$%d\r\n%s\r\n", len(a), a)
	}
	return b
}

// sends starts a master that answers each synchronization with an empty snapshot and these requests. asked
// counts the synchronizations.
func sends(t *testing.T, requests ...string) (addr string, asked *atomic.Int32) {
	t.Helper()
	asked = new(atomic.Int32)
	return liar(t, func(conn net.Conn) {
		asked.Add(1)
		_, _ = conn.Write([]byte(empty + request("SELECT", "0") + strings.Join(requests, "")))
		_, _ = io.Copy(io.Discard, conn)
	}), asked
}

// TestMasterThatHangs: a master accepts a connection and sends nothing, or nothing more after some commands
// of the handshake. The replica gives it up after repl-timeout, and tries again. A new repl-timeout takes
// effect at once.
func TestMasterThatHangs(t *testing.T) {
	t.Parallel()
	for _, setLater := range []bool{false, true} {
		cases := 5
		if setLater {
			cases = testkit.Steps(1, 5)
		}
		for answers := range cases {
			t.Run(fmt.Sprintf("%v after %d answers", setLater, answers), func(t *testing.T) {
				t.Parallel()
				asked := make(chan struct{}, 100)
				addr := hangs(t, answers, asked)
				directives := map[string]string{"repl-timeout": "1"}
				if setLater {
					directives["repl-timeout"] = "60"
				}
				replica := start(t, server.Options{EventLoops: true, Directives: directives})
				replica.follow(addr)
				<-asked
				began := time.Now()
				if setLater {
					require.Equal(t, "+OK", replica.do("CONFIG SET repl-timeout 1"))
				}
				for range 2 {
					select {
					case <-asked:
					case <-time.After(patience):
						require.Fail(t, "it is not tried again")
					}
				}
				require.GreaterOrEqual(t, time.Since(began), 1900*time.Millisecond, "each try has its time")
				require.Equal(t, "down", replica.info("master_link_status"))
				master := start(t, server.Options{EventLoops: true})
				replica.follow(master.addr)
				inStep(t, master, replica)
			})
		}
	}
}

// hangs starts a master that answers a number of commands of each connection, and then no more. It sends to
// asked for each connection that has got these answers.
func hangs(t *testing.T, answers int, asked chan struct{}) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				in := bufio.NewReader(conn)
				for range answers {
					if _, err := in.ReadString('*'); err != nil {
						return
					}
					_, _ = conn.Write([]byte("+OK\r\n"))
				}
				asked <- struct{}{}
				_, _ = io.Copy(io.Discard, in)
			}()
		}
	}()
	return l.Addr().String()
}

// TestMasterSendsScripts: Redis 6 and older send SCRIPT LOAD and SCRIPT FLUSH, also in transactions, and
// scripts that write. A replica runs them although its clients may not write, and the link stays up.
func TestMasterSendsScripts(t *testing.T) {
	const code = "return redis.call('set',KEYS[1],'bar')"
	for name, directives := range map[string]map[string]string{
		"read-only":    {},
		"few replicas": {"replica-read-only": "no", "min-replicas-to-write": "1"},
		"full":         {"replica-read-only": "no", "maxmemory": "1"},
	} {
		t.Run(name, func(t *testing.T) {
			replica := start(t, server.Options{EventLoops: true, Directives: directives})
			require.Contains(t, []string{"+OK", "-NOREPLICAS Not enough good replicas to write.",
				"-OOM command not allowed when used memory > 'maxmemory'."}, replica.do("SET mine 1"))
			sha := "ee900cde039afee50faa62fd3387c19c9683d359"
			addr, asked := sends(t, request("SCRIPT", "LOAD", "return 1"), request("SCRIPT", "FLUSH"),
				request("MULTI"), request("SCRIPT", "LOAD", code), request("EXEC"),
				request("EVALSHA", sha, "1", "foo"), request("EVAL", code, "1", "second"),
				request("EVAL", "#!lua\n"+code, "1", "third"))
			replica.follow(addr)
			eventually(t, "all has come", func() bool { return replica.Do("GET", "third").Str == "bar" })
			require.Equal(t, []string{`"bar"`, `"bar"`}, []string{replica.do("GET foo"), replica.do("GET second")})
			require.EqualValues(t, 1, replica.Do("SCRIPT", "EXISTS", sha).Elems[0].Int)
			require.Equal(t, "up", replica.info("master_link_status"))
			require.EqualValues(t, 1, asked.Load(), "one synchronization")
		})
	}
}

// TestMasterSendsScriptsThatFail: a script that fails on the replica ends the link, like any other command
// that fails. An error that a script returns is logged.
func TestMasterSendsScriptsThatFail(t *testing.T) {
	for script, log := range map[string]string{
		"redis.call('set','foo','bar') return redis.call('incr','foo')":  "what the master has sent cannot be applied, all is fetched anew: eval: ERR value is not an integer",
		"redis.call('set','foo','bar') return redis.pcall('incr','foo')": "a script has replied an error",
		"redis.call('set','foo','bar') return nil + 1":                   "what the master has sent cannot be applied, all is fetched anew: eval: ERR user_script",
	} {
		replica, lines := startLogged(t)
		addr, asked := sends(t, request("EVAL", script, "0"))
		replica.follow(addr)
		eventually(t, "it is logged", func() bool { return lines.times(log) > 0 })
		if strings.Contains(script, "pcall") {
			require.Equal(t, []string{`"bar"`, "up"}, []string{replica.do("GET foo"), replica.info("master_link_status")})
			require.EqualValues(t, 1, asked.Load())
		} else {
			eventually(t, "it asks again", func() bool { return asked.Load() > 1 })
		}
	}
}

// TestMasterSendsSlowScript: clients are served while a script of the master runs, and cannot end it.
func TestMasterSendsSlowScript(t *testing.T) {
	replica := start(t, server.Options{EventLoops: true, Directives: map[string]string{"busy-reply-threshold": "10"}})
	const slow = "local from = os.clock() while os.clock() - from < 1 do end redis.call('set','foo','bar')"
	addr, asked := sends(t, request("EVAL", slow, "0"))
	replica.follow(addr)
	const refusal = "-UNKILLABLE The busy script was sent by a master instance in the context of replication and cannot be killed."
	eventually(t, "the script is busy", func() bool { return replica.do("SCRIPT KILL") == refusal })
	eventually(t, "the script has ended", func() bool { return replica.Do("GET", "foo").Str == "bar" })
	require.Equal(t, "up", replica.info("master_link_status"))
	require.EqualValues(t, 1, asked.Load())
}

// empty is a synchronization with an empty snapshot. Commands may follow it.
const empty = "+FULLRESYNC " + id + " 5\r\n$18\r\nREDIS0011\xff\x00\x00\x00\x00\x00\x00\x00\x00"

// TestOldDataStaysUntilThereIsNew: if a master breaks off in its snapshot, the old data stays.
func TestOldDataStaysUntilThereIsNew(t *testing.T) {
	t.Parallel()
	replica := start(t, server.Options{})
	require.Equal(t, "+OK", replica.do("SET mine 1"))
	asked := make(chan struct{}, 100)
	replica.follow(liar(t, func(conn net.Conn) {
		_, _ = conn.Write([]byte("+FULLRESYNC " + id + " 5\r\n$1000\r\nREDIS0011"))
		_ = conn.(*net.TCPConn).CloseWrite()
		asked <- struct{}{}
	}))
	<-asked
	<-asked
	require.Equal(t, `"1"`, replica.do("GET mine"))
	require.Equal(t, "+OK", replica.do("CONFIG SET replica-serve-stale-data no"))
	require.Equal(t, "-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", replica.do("GET mine"))
	require.Equal(t, "slave", replica.info("role"))
}

// TestWrongPassword: the link is down until the password is right.
func TestWrongPassword(t *testing.T) {
	t.Parallel()
	master := start(t, server.Options{RequirePass: "secret"})
	require.Equal(t, "+OK", master.do("AUTH secret"))
	replica := start(t, server.Options{Directives: map[string]string{"masterauth": "wrong"}})
	replica.follow(master.addr)
	require.Equal(t, "down", replica.info("master_link_status"))
	require.Equal(t, "+OK", replica.do("CONFIG SET masterauth secret"))
	inStep(t, master, replica)
}

// TestReplicasInACycle: a server that follows itself, or two servers that follow each other, stay up. If one
// of the two becomes a master, the other follows it.
func TestReplicasInACycle(t *testing.T) {
	t.Parallel()
	a, b := start(t, server.Options{EventLoops: true}), start(t, server.Options{EventLoops: true})
	a.follow(a.addr)
	require.Equal(t, "down", a.info("master_link_status"))
	require.Equal(t, "+OK", a.do("REPLICAOF NO ONE"))
	a.follow(b.addr)
	inStep(t, b, a)
	b.follow(a.addr)
	// Usually both links end. A link goes on if it began before the other server knew that it had lost its
	// master.
	eventually(t, "both follow", func() bool { return a.info("role") == "slave" && b.info("role") == "slave" })
	require.Equal(t, "+OK", b.do("REPLICAOF NO ONE"))
	require.Equal(t, "+OK", b.do("SET k v"))
	inStep(t, b, a)
}

// TestSlowReplica: the server's output for a replica that does not read is limited.
func TestSlowReplica(t *testing.T) {
	master := start(t, server.Options{EventLoops: true, Directives: map[string]string{"client-output-buffer-limit": "replica 4mb 0 0"}})
	slow, err := net.Dial("tcp", master.addr)
	require.NoError(t, err)
	defer func() { _ = slow.Close() }()
	_, err = slow.Write([]byte("PSYNC ? -1\r\n"))
	require.NoError(t, err)
	eventually(t, "it is a replica", func() bool { return master.info("connected_slaves") == "1" })
	value := strings.Repeat("v", 1<<20)
	for i := 0; master.info("connected_slaves") == "1"; i++ {
		require.Less(t, i, 40, "it is kept for ever")
		require.Equal(t, "+OK", master.Do("SET", fmt.Sprintf("k%d", i%3), value).String())
	}
}

// TestWritesNeedReplicas tests min-replicas-to-write.
func TestWritesNeedReplicas(t *testing.T) {
	t.Parallel()
	master := start(t, server.Options{EventLoops: true})
	require.Equal(t, "+OK", master.do("CONFIG SET min-replicas-to-write 1"))
	const refused = "-NOREPLICAS Not enough good replicas to write."
	require.Equal(t, refused, master.do("SET a 1"))
	require.Equal(t, refused, master.do("LOCK a me"))
	require.Equal(t, "$nil", master.do("GET a"))
	replica := start(t, server.Options{})
	replica.follow(master.addr)
	inStep(t, master, replica)
	require.Equal(t, "+OK", master.do("SET a 1"))
	require.Equal(t, "1", master.info("min_slaves_good_slaves"))
	require.Equal(t, "+OK", replica.do("REPLICAOF NO ONE"))
	eventually(t, "writes are refused", func() bool { return master.do("SET a 1") == refused })
}

// TestReadTimeout: the side that waits closes a silent link.
func TestReadTimeout(t *testing.T) {
	t.Parallel()
	replica := start(t, server.Options{Directives: map[string]string{"repl-timeout": "1"}})
	asked := make(chan time.Time, 100)
	begun := time.Now() // before the first wait: on a slow machine the measured interval is longer, never shorter
	replica.follow(liar(t, func(net.Conn) { asked <- time.Now() }))
	<-asked
	require.Greater(t, (<-asked).Sub(begun), 900*time.Millisecond)
}
