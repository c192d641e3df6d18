//go:build oracle

package differential

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/tests/testkit"
)

// migrateCases are played by lockserver and by Redis, each with an empty target. A line after ">" is for the
// target. "TO" stands for its host and port.
var migrateCases = []struct{ name, text string }{
	{"one key", "SET k v\nMIGRATE TO k 0 1000\nGET k\n> GET k\nMIGRATE TO k 0 1000"},
	{"every type", "SET s v\nSET n 5\nRPUSH l a b\nSADD t 1 2 x\nZADD z 1 a 2.5 b\nHSET h f v\nXADD x 1-1 f v\nMIGRATE TO \"\" 2 0 KEYS s n l t z h x\nDBSIZE"},
	{"keys of which some are there", "MSET a 1 b 2\nMIGRATE TO \"\" 0 1000 KEYS gone a b gone2\nDBSIZE\n> MGET a b"},
	{"none is there", "MIGRATE TO gone 0 1000\nMIGRATE TO \"\" 0 1000 KEYS a b\nMIGRATE TO \"\" 0 1000\nMIGRATE TO \"\" 0 1000 KEYS"},
	{"one key twice", "SET a 1\nMIGRATE TO \"\" 0 1000 KEYS a a\nEXISTS a\n> GET a"},
	{"copy", "SET a 1\nMIGRATE TO a 0 1000 COPY\nGET a\n> GET a"},
	{"busy", "MSET a 1 b 2\n> SET a old\nMIGRATE TO \"\" 0 1000 KEYS a b\nMGET a b\n> MGET a b\nMIGRATE TO a 0 1000 REPLACE\n> GET a\nEXISTS a"},
	{"deadlines", "SET a 1 PX 100000\nMIGRATE TO a 0 1000\n> EXISTS a\nHSET h f v\nHPEXPIREAT h 9999999999999 FIELDS 1 f\nMIGRATE TO h 0 1000\n> HPEXPIRETIME h FIELDS 1 f"},
	{"no such database", "SET a 1\nMIGRATE TO a 99 1000\nGET a\nMIGRATE TO a -1 1000\nMIGRATE TO a 1 1000\nMIGRATE TO a 1 1000"},
	{"databases in turn", "MSET a 1 b 2 c 3\nMIGRATE TO a 1 1000\nMIGRATE TO b 1 1000\nMIGRATE TO c 0 1000\n> MGET a b c"},
	{"arguments", "SET a 1\nMIGRATE\nMIGRATE TO a 0\nMIGRATE TO a x 1000\nMIGRATE TO a 0 x\nMIGRATE TO a x y FOO\nMIGRATE TO a 0 1000 FOO\nMIGRATE TO a 0 1000 KEYS b\n" +
		"MIGRATE TO a 0 1000 AUTH\nMIGRATE TO a 0 1000 AUTH2 u\nMIGRATE TO a 0 1000 AUTH2\nMIGRATE TO gone 0 -5\nMIGRATE TO \"\" 0 1000 copy replace copy keys gone\nEXISTS a"},
	{"nobody listens", "SET a 1\nMIGRATE 127.0.0.1 1 a 0 1000\nMIGRATE 127.0.0.1 x a 0 1000\nGET a"},
	{"no password", "SET a 1\nMIGRATE TO a 0 1000 AUTH p\nMIGRATE TO a 0 1000 AUTH2 u p\nGET a\n> GET a"},
	{"password", "SET a 1\n> CONFIG SET requirepass p\nMIGRATE TO a 0 1000\nMIGRATE TO a 0 1000 AUTH wrong\nMIGRATE TO a 0 1000 AUTH2 nobody p\nMIGRATE TO a 0 1000 AUTH p\n" +
		"SET b 2\nMIGRATE TO b 0 1000 AUTH2 default p\nDBSIZE\n> AUTH p\n> MGET a b\n> CONFIG SET requirepass \"\""},
	{"transaction", "MSET a 1 b 2\nMULTI\nMIGRATE TO a 0 1000\nEXISTS a\nMIGRATE TO gone 0 1000\nEXEC\n> GET a"},
	{"script", "MSET a 1 b 2\nEVAL \"return redis.call('MIGRATE', ARGV[1], ARGV[2], KEYS[1], 0, 1000)\" 1 a TO\nEVAL \"return redis.pcall('MIGRATE', '127.0.0.1', 1, KEYS[1], 0, 1000)\" 1 b TO\nDBSIZE"},
	{"kept connections", "MSET a 1 b 2\nMIGRATE TO a 0 1000\nMIGRATE TO b 0 1000\n> CLIENT KILL TYPE normal SKIPME yes\nSET c 3\nMIGRATE TO c 0 1000\nEXISTS c"},
	{"which keys", "COMMAND GETKEYS MIGRATE h 1 a 0 1\nCOMMAND GETKEYS MIGRATE h 1 \"\" 0 1 COPY AUTH keys KEYS b c\nCOMMAND GETKEYS MIGRATE h 1 \"\" 0 1 KEYS KEYS x\n" +
		"COMMAND GETKEYS MIGRATE h 1 a 0 1 KEYS x\nCOMMAND GETKEYS MIGRATE h 1 \"\" 0 1 KEYS\nCOMMAND GETKEYSANDFLAGS MIGRATE h 1 \"\" 0 1 AUTH2 keys keys keys b"},
	{"rights", "ACL SETUSER u on >p +@all ~a* %R~r*\nMSET a 1 r 2 x 3\nAUTH u p\nMIGRATE 127.0.0.1 1 a 0 1000\nMIGRATE 127.0.0.1 1 r 0 1000\nMIGRATE 127.0.0.1 1 \"\" 0 1000 KEYS a x\nMIGRATE 127.0.0.1 1 \"\" 0 1000"},
	{"events", "CONFIG SET notify-keyspace-events KEA\nSET a 1\nMIGRATE TO a 0 1000"},
}

// TestMigrate compares MIGRATE with Redis': the replies, and the data of both servers afterwards.
func TestMigrate(t *testing.T) {
	p := startPair(t, "")
	port := testkit.FreePort(t)
	target := testkit.StartRedis(t, "--port", port, "--bind", "127.0.0.1")
	for _, one := range migrateCases {
		t.Run(one.name, func(t *testing.T) {
			p := p.in(t)
			p.begin(2)
			at := testkit.Dial(t, target.Dial)
			var replies [2][]string
			var held, moved [2]testkit.Dataset
			for i, s := range p.sides() {
				at.Do("FLUSHALL")
				at.Do("SELECT", "0")
				for _, line := range strings.Split(one.text, "\n") {
					replies[i] = append(replies[i], migrateLine(t, s.Client, at, line, port))
				}
				at.Do("SELECT", "0")
				held[i], moved[i] = testkit.ReadDataset(s.watch), testkit.ReadDataset(at)
			}
			require.Equal(t, replies[1], replies[0])
			require.Empty(t, held[1].Diff(held[0], 5000))
			require.Empty(t, moved[1].Diff(moved[0], 5000))
		})
	}
}

// migrateLine plays one line of a case.
func migrateLine(t *testing.T, from, to *testkit.Client, line, port string) string {
	if rest, isTarget := strings.CutPrefix(line, "> "); isTarget {
		return line + ": " + to.Do(words(t, rest)...).String()
	}
	args := words(t, strings.Replace(line, "TO", "127.0.0.1 "+port, 1))
	return line + ": " + from.Do(args...).String()
}

// badTargets are faulty targets: each reads all requests of a connection, and answers in its own way.
var badTargets = map[string]func(c net.Conn, asked int){
	"hangs up":              func(net.Conn, int) {},
	"says nothing":          func(c net.Conn, _ int) { _, _ = io.Copy(io.Discard, c) },
	"hangs up after one":    func(c net.Conn, _ int) { _, _ = io.WriteString(c, "+OK\r\n+OK\r\n") },
	"hangs up after select": func(c net.Conn, _ int) { _, _ = io.WriteString(c, "+OK\r\n") },
	"breaks off in a line":  func(c net.Conn, _ int) { _, _ = io.WriteString(c, "+OK\r\n+O") },
	"refuses all":           func(c net.Conn, n int) { _, _ = io.WriteString(c, strings.Repeat("-ERR no\r\n", n)) },
	"refuses the second":    func(c net.Conn, _ int) { _, _ = io.WriteString(c, "+OK\r\n+OK\r\n-BUSYKEY there\r\n") },
	"refuses and hangs up":  func(c net.Conn, _ int) { _, _ = io.WriteString(c, "+OK\r\n-ERR no\r\n") },
}

// TestMigrateToBadTargets compares the replies, and the remaining data, when the target fails.
func TestMigrateToBadTargets(t *testing.T) {
	p := startPair(t, "")
	for name, serve := range badTargets {
		t.Run(name, func(t *testing.T) {
			p := p.in(t)
			p.begin(2)
			_, port, err := net.SplitHostPort(listenBadly(t, serve))
			require.NoError(t, err)
			for _, s := range p.sides() {
				s.Do("MSET", "a", "1", "b", "2")
			}
			ours, redis := p.do("MIGRATE", "127.0.0.1", port, "", "0", "200", "KEYS", "a", "b")
			require.Equal(t, redis.String(), ours.String())
			ours, redis = p.do("MGET", "a", "b")
			require.Equal(t, redis.String(), ours.String())
		})
	}
}

// listenBadly calls serve for each connection when a SELECT and two RESTOREs have been read, and then closes
// it.
func listenBadly(t *testing.T, serve func(c net.Conn, asked int)) (addr string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				in := bufio.NewReader(c)
				for range 3 {
					if _, err := resp.ReadValue(in); err != nil {
						return
					}
				}
				serve(c, 3)
			}()
		}
	}()
	return l.Addr().String()
}
