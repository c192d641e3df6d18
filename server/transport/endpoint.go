package transport

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Endpoint is a server's end of all its connections: it listens, accepts, and carries bytes between peers and
// the host's sessions. Make it with NewEndpoint, open it with Listen, end it with Close.
type Endpoint struct {
	host Acceptor
	log  *slog.Logger
	addr atomic.Pointer[net.Addr]
	// secureAddr is the address of the encrypted port.
	secureAddr atomic.Pointer[net.Addr]
	stop       chan struct{} // closed by Close
	once       sync.Once     // of Close
	group      sync.WaitGroup
	refusals   refusals // has its own lock
	// handshakes has its own lock.
	handshakes handshakes

	mu         sync.Mutex
	phase      phase
	loops      *loops
	unixSocket string         // the path of the unix socket that the loops serve
	listeners  []net.Listener // listeners that are not on an event loop
	given      bool           // Addresses.Listener is the first listener
	plain      front
	secure     front
	unix       ListenerInfo
	conns      map[net.Conn]struct{} // connections that are not on an event loop
}

// ListenerInfo is a kind of listener, as INFO shows it.
type ListenerInfo struct {
	Name string   // "tcp", "unix" or "tls"
	Bind []string // addresses in the form of the directive; or the path
	Port int      // 0: no port
}

// front holds the listeners of one port. The endpoint's mu guards it.
type front struct {
	bind  []string
	port  int
	doors []door // the listeners that could be bound, in the order of bind
	used  bool   // there is a listener, or was one before
}

// door is one listener.
type door struct {
	word  string // the word in bind
	addr  net.Addr
	close func()
}

// phase is a phase of an endpoint's life.
type phase uint8

const (
	phaseNew phase = iota
	phaseOpen
	phaseClosed
)

// NewEndpoint returns an endpoint that does nothing until Listen. log receives messages for operators.
func NewEndpoint(h Acceptor, log *slog.Logger) *Endpoint {
	return &Endpoint{host: h, log: log, stop: make(chan struct{}), conns: make(map[net.Conn]struct{})}
}

// Addr returns the address of the first listener. That is Addresses.Listener if it is set, else a TCP
// address, else the unix socket. It is nil without a listener. It takes no lock.
func (e *Endpoint) Addr() net.Addr {
	if addr := e.addr.Load(); addr != nil {
		return *addr
	}
	return nil
}

// SecureAddr returns the first address of the encrypted port, or nil. It takes no lock.
func (e *Endpoint) SecureAddr() net.Addr {
	if addr := e.secureAddr.Load(); addr != nil {
		return *addr
	}
	return nil
}

// Dial returns the client's end of a new connection inside the process; the error is net.ErrClosed
// unless the endpoint is open.
func (e *Endpoint) Dial() (net.Conn, error) { return e.dial(false) }

// DialAudited does what Dial does, for a caller that audits its client's commands itself: see Peer.Audited.
func (e *Endpoint) DialAudited() (net.Conn, error) { return e.dial(true) }

func (e *Endpoint) dial(audited bool) (net.Conn, error) {
	client, end := pipe()
	end.audited = audited
	if !e.serve(end) {
		return nil, net.ErrClosed
	}
	return client, nil
}

// Close ends all listeners, loops and connections at once. When it returns, none of their goroutines is
// running, and every session is closed. It may be called more than once, but not while Listen runs.
func (e *Endpoint) Close() {
	e.once.Do(func() {
		close(e.stop)
		e.mu.Lock()
		e.phase = phaseClosed
		loops := e.loops
		e.mu.Unlock()
		closeAll(e.listeners)
		if loops != nil {
			loops.stop()
			if e.unixSocket != "" {
				_ = os.Remove(e.unixSocket)
			}
		}
		e.mu.Lock()
		for nc := range e.conns {
			cut(nc)
		}
		e.mu.Unlock()
		e.group.Wait()
	})
}

// Serve serves another listener, like Addresses.Listener. The listener is closed with the endpoint, or at
// once if the endpoint is not open.
func (e *Endpoint) Serve(ln net.Listener) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.phase != phaseOpen {
		_ = ln.Close()
		return
	}
	e.accept(ln, e.serve)
}

// accept passes the connections of a listener to serve until the listener is closed. It returns the function
// that closes the listener. The caller holds mu, also when it calls that function.
func (e *Endpoint) accept(ln net.Listener, serve func(net.Conn) bool) (closer func()) {
	e.listeners = append(e.listeners, ln)
	e.group.Go(func() {
		for {
			nc, err := ln.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				if !e.retryAccept(err) {
					return
				}
				continue
			}
			e.keepAlive(nc)
			if !serve(nc) {
				_ = nc.Close()
				return
			}
		}
	})
	return func() {
		_ = ln.Close()
		e.listeners = slices.DeleteFunc(e.listeners, func(l net.Listener) bool { return l == ln })
	}
}

// serve serves a connection on goroutines of its own. It returns false if the endpoint is not open.
func (e *Endpoint) serve(nc net.Conn) bool { return e.carry(nc, e.serveConn) }

// carry runs a connection's goroutine, and registers the connection until the goroutine ends. It returns
// false if the endpoint is not open.
func (e *Endpoint) carry(nc net.Conn, run func(net.Conn)) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.phase != phaseOpen {
		return false
	}
	e.conns[nc] = struct{}{}
	e.group.Go(func() {
		run(nc)
		e.mu.Lock()
		delete(e.conns, nc)
		e.mu.Unlock()
	})
	return true
}

// keepAlive makes the system probe a connection's peer while the peer sends nothing.
func (e *Endpoint) keepAlive(nc net.Conn) {
	if tcp, ok := nc.(*net.TCPConn); ok {
		idle := e.host.KeepAlive()
		_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: idle > 0, Idle: idle, Interval: idle / 3})
	}
}

// acceptPause is the pause before accepting again after the process had no free descriptors.
const acceptPause = 100 * time.Millisecond

// retryAccept waits after an error until accepting may work again. No error ends accepting permanently,
// because most errors come from a shortage (descriptors, memory), or from one connection. It returns false if
// the endpoint is closed.
func (e *Endpoint) retryAccept(err error) bool {
	select {
	case <-e.stop:
		return false
	default:
	}
	if isAborted(err) {
		return true
	}
	e.refusals.add(e.log, err)
	select {
	case <-time.After(acceptPause):
		return true
	case <-e.stop:
		return false
	}
}

// isAborted reports whether a connection ended before it was accepted, which says nothing about the next
// connection.
func isAborted(err error) bool {
	return errors.Is(err, syscall.ECONNABORTED) || errors.Is(err, syscall.EINTR)
}

// refusalPause is the least time between two lines in the log about connections that could not be accepted.
const refusalPause = 2 * time.Second

// refusals counts the attempts to accept a connection that failed, for the log.
type refusals struct {
	mu     sync.Mutex
	logged time.Time
	failed int // failures since the last line
}

// add counts a refusal, and logs the number of refusals if the pause is over.
func (r *refusals) add(log *slog.Logger, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed++
	if now := time.Now(); now.Sub(r.logged) >= refusalPause {
		log.Warn("could not accept connections, which wait; trying again", "attempts", r.failed, "cause", err)
		r.logged, r.failed = now, 0
	}
}

func closeAll(lns []net.Listener) {
	for _, ln := range lns {
		_ = ln.Close()
	}
}
