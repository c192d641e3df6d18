package server

import (
	"time"

	"lockserver/server/clock"
	"lockserver/server/transport"
)

// This file is transport.Acceptor, the whole of it: what the connections ask of the server. Of its session a
// connection sees transport.Session: Feed (feed.go), InputFull (flow.go), Lingers and MayLeave
// (send.go), Panicked (panic.go), Close (client.go), and what stands here.

var (
	_ transport.Acceptor = acceptor{}
	_ transport.Session  = (*session)(nil)
	_ transport.Scratch  = (*batch)(nil)
)

// acceptor is the executor as the connections see it.
type acceptor struct{ executor *executor }

// Open implements transport.Acceptor.
func (a acceptor) Open(c transport.Conn, p transport.Peer) (refusal string, accepted bool) {
	if _, still := a.executor.clock.(*clock.Manual); still {
		c = unheard{c}
	}
	s, refusal := a.executor.open(c, p)
	return refusal, s != nil
}

// unheard is a connection of a server with a frozen clock. The system measures a peer's silence by another
// clock, so that is not reported.
type unheard struct{ transport.Conn }

// Heard implements transport.Conn.
func (unheard) Heard() transport.Silence { return transport.Silence{} }

// NewScratch implements transport.Acceptor.
func (a acceptor) NewScratch(holds bool) transport.Scratch {
	return &batch{buffers: buffers{loop: holds}}
}

// KeepAlive implements transport.Acceptor.
func (a acceptor) KeepAlive() time.Duration {
	a.executor.mu.Lock()
	defer a.executor.mu.Unlock()
	return a.executor.limits.keepAlive
}

// Coalescing implements transport.Acceptor.
func (a acceptor) Coalescing() time.Duration {
	return time.Duration(a.executor.limits.coalesceUS.Load()) * time.Microsecond
}

// Served implements transport.Acceptor.
func (a acceptor) Served() uint64 { return a.executor.waits.Served.Load() }

// MarkRead implements transport.Session.
func (s *session) MarkRead() { s.reads.Store(true) }

// Lost implements transport.Session.
func (s *session) Lost() bool { return s.Vanished.Load() }
