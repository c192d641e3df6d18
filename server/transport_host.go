package server

import (
	"time"

	"lockserver/commands"
	"lockserver/server/clock"
	"lockserver/server/transport"
	"lockserver/server/wait"
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
	if _, still := a.executor.Clock.(*clock.Manual); still {
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
	a.executor.Mu.Lock()
	defer a.executor.Mu.Unlock()
	return a.executor.limits.keepAlive
}

// Coalescing implements transport.Acceptor.
func (a acceptor) Coalescing() time.Duration {
	return time.Duration(a.executor.limits.coalesceUS.Load()) * time.Microsecond
}

// Served implements transport.Acceptor.
func (a acceptor) Served() uint64 { return a.executor.Waits.Served.Load() }

// MarkRead implements transport.Session.
func (s *session) MarkRead() { s.reads.Store(true) }

// Lost implements transport.Session.
func (s *session) Lost() bool { return s.Vanished.Load() }

// errMaxClients is the reply to a connection above the limit, as Redis words it.
const errMaxClients = "-ERR max number of clients reached\r\n"

// errProtected is the reply to a client on another machine as long as there is no password.
const errProtected = "-DENIED this server is in protected mode: it has no password, so it serves clients on its own " +
	"machine only. Set requirepass, or, if the network is trusted, protected-mode no\r\n"

// open makes a session for a new connection. Otherwise s is nil, and the connection is closed behind the
// refusal. A server that ends closes it without a word, as Redis does: a client that can connect again does.
func (ex *executor) open(c transport.Conn, p transport.Peer) (s *session, refusal string) {
	ex.Mu.Lock()
	defer ex.Mu.Unlock()
	switch {
	case ex.shutdown.ended():
		return nil, ""
	case ex.Failed != nil:
		return nil, "-" + string(commands.ErrInternal) + "\r\n"
	}
	ex.counts.connections++
	if ex.config.ProtectedMode && ex.users.Default().NoPass() && !wait.IsLocalAddr(peerText(p.Local, p.Remote)) {
		ex.counts.refused++
		return nil, errProtected
	}
	if len(ex.clients) >= ex.config.MaxClients {
		ex.counts.refused++
		return nil, errMaxClients
	}
	ex.lastID++
	now := ex.Clock.NowUS()
	s = ex.newSession(c)
	s.Number = ex.lastID
	s.Info = wait.ClientInfo{Addr: peerText(p.Local, p.Remote), LocalAddr: addrText(p.Local), FD: p.FD, CreatedUS: now, UnauthSinceUS: now, LastUS: now, Apart: p.Audited}
	s.place = ex.group.ConnectionOf(p.Local)
	c.Attach(s)
	s.beDefault()
	s.believe(p.Certificate)
	ex.clients[s.Number] = s
	s.recount()
	return s, ""
}
