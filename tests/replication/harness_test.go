package replication

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server"
	"lockserver/tests/testkit"
)

// node is a server of either kind.
type node struct {
	*testkit.Client
	t    *testing.T
	addr string
}

// start starts a lockserver in this process.
func start(t *testing.T, o server.Options) *node {
	t.Helper()
	if o.Directives == nil {
		o.Directives = map[string]string{}
	}
	o.Directives["enable-debug-command"] = "yes"
	o.Directives["repl-diskless-sync-delay"] = "0"
	srv, err := server.New(o)
	require.NoError(t, err)
	require.NoError(t, srv.Start())
	t.Cleanup(func() { _ = srv.Close() })
	return reach(t, srv.Addr().String())
}

// written is a log that the test reads.
type written struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (w *written) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(b)
}

// times returns how often a text is in the log.
func (w *written) times(text string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return bytes.Count(w.text.Bytes(), []byte(text))
}

// startLogged starts a lockserver, and returns its log.
func startLogged(t *testing.T) (*node, *written) {
	t.Helper()
	w := &written{}
	return start(t, server.Options{EventLoops: true, Log: slog.New(slog.NewTextHandler(w, nil))}), w
}

// reach returns a node for the server at an address.
func reach(t *testing.T, addr string) *node {
	t.Helper()
	c := testkit.Dial(t, func() (net.Conn, error) { return net.Dial("tcp", addr) })
	c.Timeout = patience
	return &node{Client: c, t: t, addr: addr}
}

// do runs a command written as a line, and returns the reply as text.
func (n *node) do(line string) string {
	n.t.Helper()
	return n.Do(strings.Fields(line)...).String()
}

// follow makes the server a replica of the server at an address. While it loads another master's data it
// refuses, as Redis does, so the command is repeated.
func (n *node) follow(addr string) {
	n.t.Helper()
	host, port, err := net.SplitHostPort(addr)
	require.NoError(n.t, err)
	reply := ""
	eventually(n.t, "it is not loading", func() bool {
		reply = n.Do("REPLICAOF", host, port).String()
		return !strings.HasPrefix(reply, "-LOADING")
	})
	require.Equal(n.t, "+OK", reply)
}

// info returns a field of INFO, or "".
func (n *node) info(field string) string {
	n.t.Helper()
	for line := range strings.Lines(string(n.Do("INFO", "everything").Str)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), field+":"); ok {
			return value
		}
	}
	return ""
}

func (n *node) number(field string) int64 {
	n.t.Helper()
	v, err := strconv.ParseInt(n.info(field), 10, 64)
	require.NoError(n.t, err, field)
	return v
}

// patience is the longest time for an event that comes by itself.
const patience = 60 * time.Second

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			require.Fail(t, "it did not come to that: "+what)
		}
	}
}

// inStep waits until a replica has all data of its master, and compares the two.
func inStep(t *testing.T, master, replica *node) {
	t.Helper()
	eventually(t, "the link is up", func() bool { return replica.info("master_link_status") == "up" })
	eventually(t, "the replica is as far as its master", func() bool {
		return replica.number("master_repl_offset") == master.number("master_repl_offset")
	})
	same := false
	// One of them may have removed an overdue key that the other still has.
	for end := time.Now().Add(patience); !same && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		same = master.do("DEBUG DIGEST") == replica.do("DEBUG DIGEST")
	}
	if !same {
		differences := testkit.ReadDataset(master.Client).Diff(testkit.ReadDataset(replica.Client), 0)
		require.Fail(t, "they differ (the master's first):\n"+strings.Join(differences, "\n"))
	}
	require.Equal(t, master.info("master_replid"), replica.info("master_replid"))
}

// proxy carries connections to a server, and cuts them at a given byte.
type proxy struct {
	listener net.Listener
	to       string
	carried  atomic.Int64 // bytes from the server
	cutAt    atomic.Int64 // number of bytes before every connection is cut; negative means no limit
	piece    atomic.Int64 // how many bytes are carried at once; 0 means no limit
	chance   *rand.Rand   // seeds for the connections of a proxy that delays; nil means no delay
	closed   atomic.Bool  // it refuses connections
	mu       sync.Mutex
	open     []net.Conn
}

// between puts a proxy before a server.
func between(t *testing.T, to string) *proxy { return delaying(t, to, nil) }

// delaying is between for a proxy with random delays.
func delaying(t *testing.T, to string, chance *rand.Rand) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{listener: l, to: to, chance: chance}
	p.cutAt.Store(-1)
	go p.accept()
	t.Cleanup(func() {
		_ = l.Close()
		p.cut()
	})
	return p
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

func (p *proxy) accept() {
	for {
		from, err := p.listener.Accept()
		if err != nil {
			return
		}
		to, err := net.Dial("tcp", p.to)
		if err != nil {
			_ = from.Close()
			continue
		}
		if p.closed.Load() {
			_, _ = from.Close(), to.Close()
			continue
		}
		p.mu.Lock()
		p.open = append(p.open, from, to)
		p.mu.Unlock()
		there, back := p.directions()
		go func() { _, _ = io.Copy(to, inPieces{from, p, there}); _ = to.Close() }()
		go func() { _, _ = io.Copy(from, counted{to, p, back}); _ = from.Close() }()
	}
}

// mostDelay is the longest time for which such a proxy holds a piece back.
const mostDelay = 20 * time.Millisecond

// directions returns random numbers for the two directions of a connection. They determine the sizes of the
// pieces, up to what the proxy carries at once, and their delays. nil means no delay.
func (p *proxy) directions() (there, back *rand.Rand) {
	if p.chance == nil {
		return nil, nil
	}
	return rand.New(rand.NewPCG(p.chance.Uint64(), 1)), rand.New(rand.NewPCG(p.chance.Uint64(), 2))
}

// cut ends all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.open {
		_ = c.Close()
	}
	p.open = nil
}

// cutAfter makes the proxy cut once, after another number of bytes from the server.
func (p *proxy) cutAfter(bytes int64) { p.cutAt.Store(p.carried.Load() + bytes) }

// counted reads from the server.
type counted struct {
	net.Conn
	p      *proxy
	chance *rand.Rand
}

func (c counted) Read(b []byte) (int, error) {
	if at := c.p.cutAt.Load(); at >= 0 {
		left := at - c.p.carried.Load()
		if left <= 0 {
			c.p.cutAt.Store(-1)
			return 0, io.EOF
		}
		b = b[:min(int64(len(b)), left)]
	}
	n, err := inPieces(c).Read(b)
	c.p.carried.Add(int64(n))
	return n, err
}

// inPieces reads at most as much at once as the proxy carries, and may delay it.
type inPieces struct {
	net.Conn
	p      *proxy
	chance *rand.Rand // nil means no delay
}

func (c inPieces) Read(b []byte) (int, error) {
	if piece := c.p.piece.Load(); piece > 0 {
		if c.chance != nil {
			piece = 1 + c.chance.Int64N(piece)
		}
		b = b[:min(int64(len(b)), piece)]
	}
	n, err := c.Conn.Read(b)
	if c.chance != nil {
		time.Sleep(time.Duration(c.chance.Int64N(int64(mostDelay))))
	}
	return n, err
}

// values writes a value of each type, and a lock.
func values(n *node) {
	for _, line := range []string{
		"SET string value", "SET timed value PX 5000000", "HSET hash a 1 b 2", "RPUSH list a b c", "SADD set 1 2 three", "ZADD zset 1 a 2.5 b",
		"DEL stream", "XADD stream 1-1 f v", "XGROUP CREATE stream g 0", "XREADGROUP GROUP g me COUNT 1 STREAMS stream >", "SETRANGE long 70000 x",
		"LOCK lock me EX 100000", "LOCK watched you", "LOCK shared a SHARED EX 90000", "LOCK shared b SHARED EX 80000", "SELECT 3", "SET elsewhere 1", "SELECT 0",
		"PFADD hll a b c", "HSET expiring f 1 g 2", "HPEXPIRE expiring 900000 FIELDS 1 f",
	} {
		if reply := n.do(line); strings.HasPrefix(reply, "-") {
			require.Fail(n.t, fmt.Sprintf("%s: %s", line, reply))
		}
	}
}
