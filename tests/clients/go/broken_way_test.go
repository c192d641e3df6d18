package clients

import (
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// way is a way to a server: a proxy with connections that a test breaks.
type way struct {
	addr   string
	broken atomic.Int32 // connections that were broken on purpose

	mu    sync.Mutex
	links map[*link]bool
}

// link is a connection: a client's to the way, and the way's to the server.
type link struct {
	client, server *net.TCPConn
	moment         atomic.Int32
}

// Moments at which a link breaks. In the middle of what is sent, a first part of it still arrives, or all.
const (
	now = 1 + iota
	whileItAsks
	whileItIsAnswered
	moments
)

// wayTo opens a way to a server until the test ends.
func wayTo(t *testing.T, addr string) *way {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w := &way{addr: l.Addr().String(), links: make(map[*link]bool)}
	t.Cleanup(func() {
		_ = l.Close()
		for _, l := range w.all() {
			w.end(l, false)
		}
	})
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", addr)
			if err != nil {
				_ = client.Close()
				continue
			}
			l := &link{client: client.(*net.TCPConn), server: server.(*net.TCPConn)}
			w.mu.Lock()
			w.links[l] = true
			w.mu.Unlock()
			go w.carry(l, l.client, l.server, whileItAsks)
			go w.carry(l, l.server, l.client, whileItIsAnswered)
		}
	}()
	return w
}

func (w *way) all() (all []*link) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for l := range w.links {
		all = append(all, l)
	}
	return all
}

// carry hands on what comes, until the link ends, or breaks at a moment of this direction.
func (w *way) carry(l *link, from io.Reader, to io.Writer, moment int32) {
	buf := make([]byte, 16<<10)
	for {
		n, err := from.Read(buf)
		breaks := n > 0 && l.moment.Load() == moment
		if breaks {
			n = rand.IntN(n + 1)
		}
		if _, failed := to.Write(buf[:n]); breaks || err != nil || failed != nil {
			w.end(l, breaks)
			return
		}
	}
}

// breakOne breaks some connection at a moment, which may be still to come; false: there is none.
func (w *way) breakOne(moment int32) bool {
	all := w.all()
	if len(all) == 0 {
		return false
	}
	l := all[rand.IntN(len(all))]
	if l.moment.Store(moment); moment == now {
		w.end(l, true)
	}
	return true
}

// end closes both sides of a link, or resets them.
func (w *way) end(l *link, broken bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.links[l] {
		return
	}
	delete(w.links, l)
	if broken {
		w.broken.Add(1)
		if rand.IntN(2) == 0 {
			_ = l.client.SetLinger(0)
			_ = l.server.SetLinger(0)
		}
	}
	_ = l.client.Close()
	_ = l.server.Close()
}

// kill breaks some connection by CLIENT KILL, which do sends.
func (w *way) kill(do func(args ...any) (int, error)) {
	all := w.all()
	if len(all) == 0 {
		return
	}
	l := all[rand.IntN(len(all))]
	if n, err := do("CLIENT", "KILL", "ADDR", l.server.LocalAddr().String()); n == 1 && err == nil {
		w.broken.Add(1)
	}
}
