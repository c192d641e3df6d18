package transport

import (
	"bytes"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
)

// soon bounds how long a test waits for what must happen.
const soon = 20 * time.Second

// pongs is a host with sessions that answer every request with +PONG, unless it withholds that.
type pongs struct {
	withholds atomic.Bool

	mu       sync.Mutex
	sessions map[*pongSession]bool
	panics   []any
	refusal  string
}

func newPongs() *pongs { return &pongs{sessions: make(map[*pongSession]bool)} }

// Open implements Acceptor.
func (h *pongs) Open(c Conn, _ Peer) (refusal string, accepted bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.refusal != "" {
		return h.refusal, false
	}
	s := &pongSession{host: h, conn: c}
	s.decoder.SetLimits(resp.Limits{MaxBulk: 1 << 20, MaxQuery: 1 << 20})
	c.Attach(s)
	h.sessions[s] = true
	return "", true
}

func (h *pongs) NewScratch(bool) Scratch   { return noScratch{} }
func (h *pongs) KeepAlive() time.Duration  { return 0 }
func (h *pongs) Coalescing() time.Duration { return 0 }
func (h *pongs) Served() uint64            { return 0 }

// count returns how many sessions there are.
func (h *pongs) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.sessions)
}

// noScratch has no buffers at all.
type noScratch struct{}

func (noScratch) Recycle() {}
func (noScratch) Trim(int) {}

// pongSession is one of them.
type pongSession struct {
	host     *pongs
	conn     Conn
	decoder  resp.Decoder
	requests atomic.Int64
	answered int64
	leaving  bool
	broken   bool // it has panicked
}

// Feed implements Session.
func (s *pongSession) Feed(data []byte, _ Scratch, _ *Loop) (hangUp bool) {
	if s.broken {
		return true
	}
	if data != nil {
		s.decoder.Feed(data)
	}
	for {
		args, ok, err := s.decoder.Next(nil)
		switch {
		case err != nil:
			return true
		case ok && string(args[0]) == "PANIC":
			panic("asked for")
		case ok:
			s.requests.Add(1)
			continue
		}
		break
	}
	if s.host.withholds.Load() {
		return false
	}
	if n := s.requests.Load() - s.answered; n > 0 {
		s.answered += n
		if _, err := s.conn.Send(bytes.Repeat([]byte("+PONG\r\n"), int(n)), false); err != nil {
			return true
		}
	}
	return s.leaving
}

// Lingers implements Session.
func (s *pongSession) Lingers(unsent bool) bool {
	s.leaving = unsent || s.requests.Load() > s.answered
	return s.leaving
}

// Close implements Session.
func (s *pongSession) Close() {
	s.host.mu.Lock()
	delete(s.host.sessions, s)
	s.host.mu.Unlock()
}

// Panicked implements Session.
func (s *pongSession) Panicked(p any) {
	s.host.mu.Lock()
	s.host.panics = append(s.host.panics, p)
	s.broken = true
	s.host.mu.Unlock()
}

func (s *pongSession) InputFull(int) bool { return false }
func (s *pongSession) MayLeave() bool     { return true }
func (s *pongSession) MarkRead()          {}
func (s *pongSession) Lost() bool         { return false }

// quiet is an endpoint without a log.
func quiet(h Acceptor) *Endpoint { return NewEndpoint(h, slog.New(slog.DiscardHandler)) }

// listening is an open endpoint that is closed with the test.
func listening(t *testing.T, h Acceptor, a Addresses) *Endpoint {
	t.Helper()
	e := quiet(h)
	t.Cleanup(e.Close)
	require.NoError(t, e.Listen(a))
	return e
}

// overPort returns what dials an endpoint through its port or socket.
func overPort(e *Endpoint) func() (net.Conn, error) {
	return func() (net.Conn, error) { return net.Dial(e.Addr().Network(), e.Addr().String()) }
}

// onOnePort is a free port of this machine, on event loops or without.
func onOnePort(loops int) Addresses {
	return Addresses{Bind: []string{"127.0.0.1"}, Loops: loops}
}
