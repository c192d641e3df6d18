package replication

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/server"
	"lockserver/tests/grammar"
	"lockserver/tests/testkit"
)

// crowd is a set of clients that send arbitrary commands, valid or not. Their replies are dropped.
type crowd struct {
	t      *testing.T
	addr   string
	chance *rand.Rand
	calls  *grammar.Generator
	open   [6]net.Conn
	sent   int
}

// newCrowd fills a master with a value of each kind, and connects clients to it.
func newCrowd(t *testing.T, master *node, chance *rand.Rand) *crowd {
	t.Helper()
	c := &crowd{t: t, addr: master.addr, chance: chance, calls: grammar.New()}
	for _, command := range grammar.Furniture() {
		master.Do(command...)
	}
	c.calls.Begin(chance)
	c.calls.SetPayloads(grammar.Payloads(master.Do))
	t.Cleanup(c.leave)
	return c
}

// stuck is how long the others wait for a client that waits itself. Then it gets no more commands.
const stuck = 200 * time.Millisecond

// send sends a pipeline as a random client.
func (c *crowd) send() {
	c.t.Helper()
	conn := &c.open[c.chance.IntN(len(c.open))]
	if *conn == nil {
		made, err := net.Dial("tcp", c.addr)
		if err != nil {
			time.Sleep(time.Millisecond) // the server was killed
			return
		}
		*conn = made
		go discard(made)
	}
	var out []byte
	for _, words := range c.calls.Pipeline() {
		if slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(w, "failover") }) {
			continue // the master must stay a master
		}
		argv := make([][]byte, len(words))
		for i, w := range words {
			argv[i] = []byte(w)
		}
		out = resp.AppendCommand(out, argv...)
		c.sent++
	}
	_ = (*conn).SetWriteDeadline(time.Now().Add(stuck))
	if _, err := (*conn).Write(out); err != nil || c.calls.Chance(2) {
		_ = (*conn).Close()
		*conn = nil
	}
}

// discard reads and drops replies.
func discard(conn net.Conn) {
	for buf := make([]byte, 64<<10); ; {
		if _, err := conn.Read(buf); err != nil {
			return
		}
	}
}

// leave ends all clients.
func (c *crowd) leave() {
	for i, conn := range c.open {
		if conn != nil {
			_ = conn.Close()
			c.open[i] = nil
		}
	}
}

// tests is the number of tests that share the MINUTES.
const tests = 2

// rounds plays a test with the seed of seedOf. With MINUTES it repeats the test for its share of that time,
// each time with the next seed.
func rounds(t *testing.T, test func(t *testing.T, chance *rand.Rand)) {
	t.Helper()
	minutes := 0.0
	if text := os.Getenv("MINUTES"); text != "" {
		var err error
		minutes, err = strconv.ParseFloat(text, 64)
		require.NoError(t, err)
	}
	end := time.Now().Add(time.Duration(minutes / tests * float64(time.Minute)))
	for seed := seedOf(t); ; seed++ {
		if !t.Run(fmt.Sprintf("SEED=%d", seed), func(t *testing.T) { test(t, rand.New(rand.NewPCG(seed, 1))) }) || time.Now().After(end) {
			return
		}
	}
}

// seedOf returns SEED of the environment, or the seed of testkit.
func seedOf(t *testing.T) uint64 {
	t.Helper()
	s := os.Getenv("SEED")
	if s == "" {
		return testkit.SeedOr(0)
	}
	seed, err := strconv.ParseUint(s, 10, 64)
	require.NoError(t, err)
	return seed
}

// life is a server in this process that ends and starts again at the same address, with its files.
type life struct {
	*node
	t   *testing.T
	o   server.Options
	srv *server.Server
}

// newLife starts a server with an append-only log, with snapshots, or with neither.
func newLife(t *testing.T, chance *rand.Rand) *life {
	t.Helper()
	// A value that takes half a minute to send proves nothing.
	l := &life{t: t, o: server.Options{Addr: "127.0.0.1:" + testkit.FreePort(t), EventLoops: chance.IntN(2) == 0, Seed: chance.Uint64() | 1, Dir: t.TempDir(),
		Directives: map[string]string{"enable-debug-command": "yes", "repl-diskless-sync-delay": "0", "proto-max-bulk-len": "1mb"}}}
	l.o.Directives["repl-diskless-load"] = []string{"disabled", "on-empty-db", "swapdb"}[chance.IntN(3)]
	switch chance.IntN(3) {
	case 0:
		l.o.AppendOnly = true
	case 1:
		l.o.Save = "3600 1"
	}
	var log bytes.Buffer // a server writes its log line by line
	l.o.Log = slog.New(slog.NewTextHandler(&log, nil))
	t.Cleanup(func() {
		_ = l.srv.Close()
		if t.Failed() {
			t.Logf("%s:\n%s", l.o.Addr, log.Bytes()[max(0, log.Len()-8000):])
		}
	})
	l.start()
	return l
}

func (l *life) start() {
	l.t.Helper()
	srv, err := server.New(l.o)
	require.NoError(l.t, err)
	require.NoError(l.t, srv.Start())
	l.srv, l.node = srv, reach(l.t, l.o.Addr)
}

// follow makes the server a replica, now and after each restart.
func (l *life) follow(addr string) {
	l.t.Helper()
	l.node.follow(addr)
	host, port, err := net.SplitHostPort(addr)
	require.NoError(l.t, err)
	l.o.Directives["replicaof"] = host + " " + port
}

// again ends the server like SHUTDOWN, and starts it.
func (l *life) again() {
	l.t.Helper()
	require.NoError(l.t, l.srv.Shutdown(server.ShutdownOptions{}))
	l.start()
}

// TestAnyCommand: a master, its replica and the replica of the replica have the same data, whatever clients
// send. Links break again and again, and replicas restart.
func TestAnyCommand(t *testing.T) {
	rounds(t, func(t *testing.T, chance *rand.Rand) {
		master, near, far := newLife(t, chance), newLife(t, chance), newLife(t, chance)
		c := newCrowd(t, master.node, chance)
		one, two := between(t, master.addr), between(t, near.addr)
		near.follow(one.addr())
		far.follow(two.addr())
		for c.sent < 4000 {
			c.send()
			switch chance.IntN(100) {
			case 0:
				one.cut()
			case 1:
				two.cut()
			case 2:
				one.cutAfter(chance.Int64N(5000))
			case 3:
				two.cutAfter(chance.Int64N(5000))
			case 4:
				near.again()
			case 5:
				far.again()
			}
		}
		c.leave()
		leader := reach(t, master.addr) // a new connection: clients have killed each other
		leader.do("DEBUG SET-ACTIVE-EXPIRE 1")
		for _, n := range []*node{near.node, far.node} {
			inStep(t, leader, n)
			require.Equal(t, functions(leader), functions(n))
		}
	})
}

// functions returns the libraries of a server.
func functions(n *node) string {
	all := n.Do("FUNCTION", "LIST", "WITHCODE").Elems
	slices.SortFunc(all, func(a, b resp.Value) int { return strings.Compare(a.String(), b.String()) })
	return fmt.Sprint(all)
}
