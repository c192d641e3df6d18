//go:build !linux || gnet

package transport

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/panjf2000/gnet/v2"
)

// The event loops elsewhere than on Linux, and there with the build tag gnet: those
// of github.com/panjf2000/gnet.

// loopDriver is little: gnet waits for us.
type loopDriver struct {
	busy bool // within OnTraffic, which drains the loop when it is done
}

// loops serve TCP and unix sockets: gnet's event loops. They implement gnet.EventHandler.
type loops struct {
	gnet.BuiltinEventEngine
	endpoint *Endpoint
	engine   gnet.Engine
	booted   chan struct{}
	done     chan error
	closers  []func() // none: see take

	mu    sync.Mutex
	loops map[gnet.EventLoop]*Loop
}

// listenLoops starts n event loops on the addresses of listeners, which it closes: gnet binds them anew.
func listenLoops(e *Endpoint, lns []net.Listener, n int) (*loops, error) {
	if len(lns) == 0 {
		return nil, nil // encrypted connections have goroutines here
	}
	var addrs []string
	for _, ln := range lns {
		addrs = append(addrs, ln.Addr().Network()+"://"+ln.Addr().String())
		_ = ln.Close()
	}
	ls := &loops{endpoint: e, booted: make(chan struct{}), done: make(chan error, 1), loops: make(map[gnet.EventLoop]*Loop)}
	go func() {
		ls.done <- gnet.Rotate(ls, addrs,
			gnet.WithNumEventLoop(n),
			gnet.WithReuseAddr(true),
			gnet.WithTCPNoDelay(gnet.TCPNoDelay),
			gnet.WithTCPKeepAlive(e.host.KeepAlive()),
			gnet.WithLogger(gnetLog{e.log}))
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

// take takes no listener: gnet's are those that it began with.
func (ls *loops) take(net.Listener) (closer func(), err error) { return nil, ErrFixed }

// adopt takes no connection: gnet serves those that it has accepted.
func (ls *loops) adopt(*tls.Conn, *carriage) bool { return false }

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

func (ls *loops) of(c gnet.Conn) *Loop {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	el := c.EventLoop()
	l := ls.loops[el]
	if l == nil {
		l = &Loop{scratch: ls.endpoint.host.NewScratch(false)}
		ls.loops[el] = l
	}
	return l
}

// OnOpen is called when a connection was accepted.
func (ls *loops) OnOpen(c gnet.Conn) ([]byte, gnet.Action) {
	t := &loopConn{conn: c, loop: ls.of(c)}
	refusal := ls.endpoint.host.Open(t, Peer{Local: c.LocalAddr(), Remote: c.RemoteAddr(), FD: c.Fd()})
	if refusal != "" {
		return []byte(refusal), gnet.Close
	}
	c.SetContext(t)
	return nil, gnet.None
}

// OnTraffic is called when a connection has data, or was woken by Kick.
func (ls *loops) OnTraffic(c gnet.Conn) gnet.Action {
	t, ok := c.Context().(*loopConn)
	if !ok {
		return gnet.Close
	}
	defer t.contain()
	data, _ := c.Next(-1)
	t.loop.driver.busy = true
	t.pump(data)
	t.loop.drain()
	t.loop.driver.busy = false
	t.loop.flush()
	return gnet.None
}

// OnClose is called when a connection is gone, whoever closed it: also in the middle of OnTraffic, when
// something is written to one that has been reset.
func (ls *loops) OnClose(c gnet.Conn, _ error) gnet.Action {
	if t, ok := c.Context().(*loopConn); ok {
		t.session.Close()
		if !t.loop.driver.busy {
			t.loop.drain()
			t.loop.flush()
		}
	}
	return gnet.None
}

// loopConn is one connection on an event loop.
type loopConn struct {
	conn    gnet.Conn
	loop    *Loop
	session Session
	glances atomic.Bool // a look at the output is due: see AwaitDrain
	seen    int         // how much output there was at the last look
}

// pump feeds the session and closes the connection if that was its end; gnet sends
// what is left before it does.
func (t *loopConn) pump(data []byte) {
	if t.session.Feed(data, t.loop.scratch, t.loop) {
		_ = t.conn.Close()
	}
}

// kicked is pump without input.
func (t *loopConn) kicked() {
	defer t.contain()
	t.pump(nil)
}

// contain is deferred by what the loop calls of a connection. It makes a panic there end
// the connection, not the loop.
func (t *loopConn) contain() {
	if p := recover(); p != nil {
		t.session.Panicked(p)
		t.loop.driver.busy = false
		_ = t.conn.Close()
	}
}

// drainGlance is how often the output of a session that waits for room is looked at, as gnet does not tell
// what it has written.
const drainGlance = 2 * time.Millisecond

// SetStranger implements Conn. gnet has read already what it hands out, and serves all alike.
func (t *loopConn) SetStranger(int) {}

// AwaitDrain implements Conn.
func (t *loopConn) AwaitDrain(low int) bool {
	n := t.Buffered()
	if n < t.seen {
		t.session.NoteRead()
	}
	if t.seen = n; n <= low {
		return false
	}
	if t.glances.CompareAndSwap(false, true) {
		time.AfterFunc(drainGlance, func() {
			t.glances.Store(false)
			t.wake()
		})
	}
	return true
}

func (t *loopConn) wake() { _ = t.conn.Wake(nil) }

// Send implements Conn.
func (t *loopConn) Send(b []byte, _ bool) (held bool, err error) {
	if !t.session.MayLeave() {
		_ = t.conn.Close()
		return false, net.ErrClosed
	}
	_, err = t.conn.Write(b)
	return false, err
}

// WhileBusy implements Conn. It cannot let others of the loop in: gnet's loop is not to be entered again.
func (t *loopConn) WhileBusy() {}

// What follows is the rest of Conn.

func (t *loopConn) Buffered() int      { return t.conn.OutboundBuffered() }
func (t *loopConn) Unsent() int        { return t.Buffered() }
func (t *loopConn) HangUp()            { _ = t.conn.Close() }
func (t *loopConn) Unacked() int       { return t.Buffered() }
func (t *loopConn) GuardPeer(ms int64) { guardSocket(t.conn.Fd(), ms) }
func (t *loopConn) Heard() Silence     { return Silence{} } // on Linux the other loops are used
func (t *loopConn) Attach(s Session)   { t.session = s }
func (t *loopConn) PeerGone() bool     { return socketPeerGone(t.conn.Fd()) }

var _ gnet.EventHandler = (*loops)(nil)
