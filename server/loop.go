package server

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/panjf2000/gnet/v2"
)

// loop is one event loop: a goroutine that reads from its connections, runs the commands it has read, and writes the
// replies, with no hop to another goroutine.
type loop struct {
	batch batch
	// queue are sessions of this loop that were kicked from it; they are pumped before it reads on.
	queue []*loopConn
}

// loops is the transport for TCP and unix sockets: gnet's event loops. It implements gnet.EventHandler.
type loops struct {
	gnet.BuiltinEventEngine
	server *Server
	engine gnet.Engine
	booted chan struct{}
	done   chan error

	mu    sync.Mutex
	loops map[gnet.EventLoop]*loop
}

// listenLoops binds the addresses ("tcp://127.0.0.1:6379", "unix:///run/x.sock") and starts n event loops.
func listenLoops(s *Server, addrs []string, n int) (*loops, error) {
	ls := &loops{server: s, booted: make(chan struct{}), done: make(chan error, 1), loops: make(map[gnet.EventLoop]*loop)}
	go func() {
		ls.done <- gnet.Rotate(ls, addrs,
			gnet.WithNumEventLoop(n),
			gnet.WithReuseAddr(true),
			gnet.WithTCPNoDelay(gnet.TCPNoDelay),
			gnet.WithTCPKeepAlive(s.settings.keepAlive),
			gnet.WithLogger(gnetLog{s.log}))
	}()
	select {
	case err := <-ls.done:
		if err == nil {
			err = errors.New("the event loop ended at once")
		}
		return nil, fmt.Errorf("listen on %v: %w", addrs, err)
	case <-ls.booted:
		return ls, nil
	}
}

// OnBoot is called when the addresses are bound, before the loops run.
func (ls *loops) OnBoot(e gnet.Engine) gnet.Action {
	ls.engine = e
	close(ls.booted)
	return gnet.None
}

// stop ends the loops and closes every connection.
func (ls *loops) stop() {
	// The engine notices the end by polling every half second; the loops themselves are gone long before, and
	// done tells when.
	go ls.engine.Stop(ctxDone())
	<-ls.done
}

func (ls *loops) of(c gnet.Conn) *loop {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	el := c.EventLoop()
	l := ls.loops[el]
	if l == nil {
		l = &loop{}
		ls.loops[el] = l
	}
	return l
}

// OnOpen is called when a connection was accepted.
func (ls *loops) OnOpen(c gnet.Conn) ([]byte, gnet.Action) {
	t := &loopConn{conn: c, loop: ls.of(c)}
	s, refusal := ls.server.open(t, c.LocalAddr(), c.RemoteAddr(), c.Fd())
	if refusal != "" {
		return []byte(refusal), gnet.Close
	}
	t.session = s
	c.SetContext(t)
	return nil, gnet.None
}

// OnTraffic is called when a connection has data, or was woken by kick.
func (ls *loops) OnTraffic(c gnet.Conn) gnet.Action {
	t, ok := c.Context().(*loopConn)
	if !ok {
		return gnet.Close
	}
	data, _ := c.Next(-1)
	hangUp := t.session.feed(data, &t.loop.batch, t.loop)
	t.loop.drain()
	if hangUp {
		return gnet.Close
	}
	return gnet.None
}

// OnClose is called when a connection is gone, whoever closed it.
func (ls *loops) OnClose(c gnet.Conn, _ error) gnet.Action {
	if t, ok := c.Context().(*loopConn); ok {
		ls.server.close(t.session)
		t.loop.drain()
	}
	return gnet.None
}

// drain pumps the sessions that were kicked from this loop.
func (l *loop) drain() {
	for len(l.queue) > 0 {
		t := l.queue[0]
		l.queue = l.queue[1:]
		if t.session.feed(nil, &l.batch, l) {
			_ = t.conn.Close()
		}
	}
	l.queue = nil
}

// loopConn is the transport of one connection on an event loop.
type loopConn struct {
	conn    gnet.Conn
	loop    *loop
	session *session
}

func (t *loopConn) kick(from *loop) {
	if from == t.loop {
		from.queue = append(from.queue, t)
		return
	}
	_ = t.conn.Wake(nil)
}

func (t *loopConn) send(b []byte) error {
	_, err := t.conn.Write(b)
	return err
}

func (t *loopConn) buffered() int      { return t.conn.OutboundBuffered() }
func (t *loopConn) hangUp()            { _ = t.conn.Close() }
func (t *loopConn) guardPeer(ms int64) { guardSocket(t.conn.Fd(), ms) }

// addr returns the bound address of the first listener.
func (ls *loops) addr() (net.Addr, error) {
	fd, err := ls.engine.Dup()
	if err != nil {
		return nil, err
	}
	return boundAddr(fd)
}

var _ gnet.EventHandler = (*loops)(nil)

// keepAliveOf turns milliseconds into gnet's option; 0 switches keepalive off.
func keepAliveOf(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }
