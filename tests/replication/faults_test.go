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
)

// liar is a master that answers the way into a synchronization as a test says.
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

// TestMastersThatLie: the server lives, its link is down, and it follows an honest one afterwards.
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

// TestMasterSendsScripts: Redis 6 and older send SCRIPT LOAD and SCRIPT FLUSH, also in transactions. The link
// goes on, and the scripts are known.
func TestMasterSendsScripts(t *testing.T) {
	replica := start(t, server.Options{EventLoops: true})
	var asked atomic.Int32
	command := func(args ...string) (b string) {
		b = fmt.Sprintf("*%d\r\n", len(args))
		for _, a := range args {
			b += fmt.Sprintf("$%d\r\n%s\r\n", len(a), a)
		}
		return b
	}
	replica.follow(liar(t, func(conn net.Conn) {
		asked.Add(1)
		const code = "return redis.call('set','foo','bar')"
		_, _ = conn.Write([]byte(empty + command("SELECT", "0") + command("SCRIPT", "LOAD", "return 1") + command("SCRIPT", "FLUSH") +
			command("MULTI") + command("SCRIPT", "LOAD", code) + command("EXEC") +
			command("SET", "foo", "bar")))
		_, _ = io.Copy(io.Discard, conn)
	}))
	eventually(t, "all has come", func() bool { return replica.Do("GET", "foo").Str == "bar" })
	require.EqualValues(t, 1, replica.Do("SCRIPT", "EXISTS", "2fa2b029f72572e803ff55a09b1282699aecae6a").Elems[0].Int)
	require.Equal(t, "up", replica.info("master_link_status"))
	require.EqualValues(t, 1, asked.Load(), "one synchronization")
}

// empty is a synchronization with no data, behind which commands may stand.
const empty = "+FULLRESYNC " + id + " 5\r\n$18\r\nREDIS0011\xff\x00\x00\x00\x00\x00\x00\x00\x00"

// TestOldDataStaysUntilThereIsNew: a master that breaks off in its snapshot costs nothing.
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

// TestCircles: a server that follows itself, or two that follow each other, stay up and are not in step.
func TestCircles(t *testing.T) {
	t.Parallel()
	a, b := start(t, server.Options{EventLoops: true}), start(t, server.Options{EventLoops: true})
	a.follow(a.addr)
	require.Equal(t, "down", a.info("master_link_status"))
	require.Equal(t, "+OK", a.do("REPLICAOF NO ONE"))
	a.follow(b.addr)
	inStep(t, b, a)
	b.follow(a.addr)
	eventually(t, "the circle has no master", func() bool { return a.info("master_link_status") == "down" && b.info("master_link_status") == "down" })
	require.Equal(t, "+OK", b.do("REPLICAOF NO ONE"))
	require.Equal(t, "+OK", b.do("SET k v"))
	inStep(t, b, a)
}

// TestSlowReplica: what the server keeps for a replica that does not read is bounded.
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

// TestWritesNeedReplicas is min-replicas-to-write.
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

// TestReadTimeout: a link that is silent is broken off by the one who waits.
func TestReadTimeout(t *testing.T) {
	t.Parallel()
	replica := start(t, server.Options{Directives: map[string]string{"repl-timeout": "1"}})
	asked := make(chan time.Time, 100)
	begun := time.Now() // before the first wait, so that a slow machine makes the interval longer, never shorter
	replica.follow(liar(t, func(net.Conn) { asked <- time.Now() }))
	<-asked
	require.Greater(t, (<-asked).Sub(begun), 900*time.Millisecond)
}
