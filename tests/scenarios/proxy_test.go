//go:build scenarios

package scenarios

import (
	"math/rand/v2"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// moment is the moment at which a connection breaks.
type moment int

const (
	never moment = iota
	atOnce
	asking    // after a part of the client's next data
	answering // after a part of the server's next data
)

// proxy is the way of a client to a server. A test breaks its connections.
type proxy struct {
	listener net.Listener
	target   string

	mu     sync.Mutex
	links  []*link
	broken int
}

// link is a connection through a proxy.
type link struct {
	client, server net.Conn
	breaks         moment // guarded by the proxy's mu
}

func newProxy(t testing.TB, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{listener: l, target: target}
	go p.accept()
	t.Cleanup(p.close)
	return p
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		go func() {
			server, err := net.Dial("tcp", p.target)
			if err != nil {
				_ = client.Close()
				return
			}
			l := &link{client: client, server: server}
			p.mu.Lock()
			p.links = append(p.links, l)
			p.mu.Unlock()
			go p.carry(l, client, server, asking)
			go p.carry(l, server, client, answering)
		}()
	}
}

// carry copies one direction of a connection until the connection ends, or must break at this moment.
func (p *proxy) carry(l *link, from, to net.Conn, at moment) {
	piece := make([]byte, 16<<10)
	for {
		n, err := from.Read(piece)
		if err != nil {
			p.end(l, false)
			return
		}
		p.mu.Lock()
		breaks := l.breaks == at
		p.mu.Unlock()
		if breaks {
			n = rand.IntN(n + 1) // a first part still arrives, perhaps everything
		}
		if _, err = to.Write(piece[:n]); err != nil || breaks {
			p.end(l, breaks)
			return
		}
	}
}

// end ends a connection. broken says whether the test broke it, or one side has closed it.
func (p *proxy) end(l *link, broken bool) {
	p.mu.Lock()
	known := false
	for i, other := range p.links {
		if other == l {
			p.links = append(p.links[:i:i], p.links[i+1:]...)
			known = true
			break
		}
	}
	if known && broken {
		p.broken++
	}
	p.mu.Unlock()
	for _, c := range []net.Conn{l.client, l.server} {
		if tcp, ok := c.(*net.TCPConn); ok && broken && rand.IntN(2) == 0 {
			_ = tcp.SetLinger(0) // sends a reset
		}
		_ = c.Close()
	}
}

// breakOne breaks a random connection at a random moment.
func (p *proxy) breakOne() {
	p.mu.Lock()
	if len(p.links) == 0 {
		p.mu.Unlock()
		return
	}
	l := p.links[rand.IntN(len(p.links))]
	at := atOnce + moment(rand.IntN(3))
	l.breaks = at
	p.mu.Unlock()
	if at == atOnce {
		p.end(l, true)
	}
}

// count returns how many connections were broken.
func (p *proxy) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.broken
}

func (p *proxy) close() {
	_ = p.listener.Close()
	p.mu.Lock()
	links := append([]*link(nil), p.links...)
	p.mu.Unlock()
	for _, l := range links {
		p.end(l, false)
	}
}
