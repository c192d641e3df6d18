package server

import (
	"math"
	"sync/atomic"
	"time"

	"lockserver/commands"
	"lockserver/internal/config"
	"lockserver/internal/resp"
	"lockserver/server/acl"
	"lockserver/server/transport"
	"lockserver/server/wait"
)

// errMaxClients is what a client gets instead of a connection, as Redis words it.
const errMaxClients = "-ERR max number of clients reached\r\n"

// errProtected is what a client on another machine gets as long as there is no password.
const errProtected = "-DENIED this server is in protected mode: it has no password, so it serves clients on its own " +
	"machine only. Set requirepass, or, if the network is trusted, protected-mode no\r\n"

// open makes a session for a new connection. Otherwise s is nil, and the connection is closed behind the
// refusal. A server that ends closes it without a word, as Redis does: a client that can connect again does.
func (ex *executor) open(c transport.Conn, p transport.Peer) (s *session, refusal string) {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	switch {
	case ex.shutdown.ended():
		return nil, ""
	case ex.failed != nil:
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
	now := ex.clock.NowUS()
	s = ex.newSession(c)
	s.Number = ex.lastID
	s.Info = wait.ClientInfo{Addr: peerText(p.Local, p.Remote), LocalAddr: addrText(p.Local), FD: p.FD, CreatedUS: now, UnauthSinceUS: now, LastUS: now, Apart: p.Audited}
	s.place = ex.group.PlaceOf(p.Local)
	c.Attach(s)
	s.beDefault()
	s.believe(p.Certificate)
	ex.clients[s.Number] = s
	s.recount()
	return s, ""
}

// newSession makes a session of version 2 of the protocol at the first database.
func (ex *executor) newSession(c transport.Conn) *session {
	s := &session{executor: ex, conn: c, Party: wait.Party{Waits: &ex.waits, DB: ex.store.DB(0)}}
	s.Client, s.Out.Proto = s, 2
	return s
}

// Close implements transport.Session: the session's command no longer waits, the leases that were renewed for
// it run out.
func (s *session) Close() {
	ex := s.executor
	ex.mu.Lock()
	if s.Dead {
		ex.mu.Unlock()
		return
	}
	defer ex.damaging()
	busy := ex.busy.on
	if !busy {
		ex.begin()
	}
	s.leave()
	s.takeBack(ex)
	s.Dead, s.closing = true, true
	var touched []*session
	if !busy {
		ex.endUnit()
		touched = ex.end()
	}
	ex.mu.Unlock()
	wakeAll(touched, nil)
}

// How the server ends a session by its own will: its client takes too little of its output, was idle for too
// long, has been killed, or was found to have gone. The reason may turn up at any point: while a message is
// put into one inbox after the other, while another client's waiter is served, inside of the session's own
// command. Ending a session changes the data like a command. The session leaves queues, and a lock that it
// was granted and has not read of is taken back. That publishes events, and these may be too much for the
// next session. So nothing of it happens at that point.
//
// At first the session is only marked. From then on nothing is sent to it, no further command of it runs, and
// it is not found among the clients; the command that is running goes on to its end. When the unit is over,
// and before any waiter is served, endTerminated ends all sessions that were marked in it, one after the
// other. While a script is busy its unit goes on, and so they wait; an owner that comes meanwhile closes its
// session itself.

// endTerminated ends the marked sessions. It runs between units' ends and their waiters, never inside of a
// command.
func (ex *executor) endTerminated() {
	for i := 0; i < len(ex.terminated); i++ { // taking back a grant may mark more
		if s := ex.terminated[i]; !s.Dead {
			s.leave()
			if w := s.Granted; w != nil { // it was never sent
				s.Granted = nil
				// plant:unsent-grant
				ex.waits.Undo(w)
			}
			s.conn.HangUp() // its owner closes it when it finds the connection shut
		}
	}
	clear(ex.terminated)
	ex.terminated = ex.terminated[:0]
}

// leave takes a session out of everything in which others could meet it. It may be done more than once. Its
// output stays: a running command may stand in the middle of it.
func (s *session) leave() {
	ex := s.executor
	delete(s.executor.clients, s.Number)
	s.uncount()
	// plant:leave-queue
	if s.Waiter != nil {
		ex.waits.Unpark(s.Waiter, false)
	}
	if s.replica != nil {
		ex.replication.Left(s.replica)
	}
	s.discard()
	// plant:leave-channels
	s.unsubscribeAll()
	ex.tracking.leave(s)
	s.stopMonitoring()
	ex.pausing.resume(s)
	ex.timers.Remove(&s.soft.timer)
	ex.waits.DetachAll(&s.Party)
	ex.waits.LeavePlaces(&s.Party)
	// plant:leave-renewals
	ex.waits.Depart(&s.Party)
	if s.Pulse != nil {
		ex.timers.Remove(&s.Pulse.Timer)
	}
	s.dropInbox()
}

// Move implements acl.Directory.
func (h usersHost) Move(change acl.Change) {
	ex := h.executor
	for _, s := range ex.sortedClients() {
		if s.User != change.Old {
			continue
		}
		if change.New == nil {
			s.DenyWaits() // by what default may do they would go on
			s.User, s.loggedIn = ex.users.Default(), false
			h.end(s)
			continue
		}
		s.User = change.New
		switch {
		case change.Left != nil && s.listensBeyond(change.Left):
			h.end(s)
		case s.KeepsPlaces():
			s.Queued.Judge(&ex.waits)
		}
	}
	ex.waits.LeftPlaces.Follow(&ex.waits, change)
	if h.session != nil {
		h.session.followDefault()
	}
}

// end ends a session that has lost its user, or channels that it listens to. If it is a session that asked,
// it gets its reply first.
func (h usersHost) end(s *session) {
	if s == h.session || agreesOnUsers(s) {
		s.closing = true
	} else {
		h.executor.terminate(s)
	}
}

// limits are directives about connections in the form in which the hot path uses them.
type limits struct {
	keepAlive time.Duration
	outputs   [clientClasses]outputLimit
	// coalesceUS is the directive io-coalesce-usec, which event loops read once a round.
	coalesceUS atomic.Int64
	// decoder are what every session's decoder has to obey, from the next read on.
	decoder atomic.Pointer[resp.Limits]
}

// configure follows the directives.
func (l *limits) configure(c *config.Config) {
	l.keepAlive = time.Duration(c.TCPKeepaliveMS) * time.Millisecond
	l.outputs = newOutputLimits(&c.ClientOutputBufferLimit)
	l.coalesceUS.Store(c.IOCoalesceUS)
	l.decoder.Store(&resp.Limits{MaxBulk: c.ProtoMaxBulkLen, MaxQuery: c.ClientQueryBufferLimit})
}

// clientClass is what kind of client client-output-buffer-limit takes a session for.
type clientClass uint8

const (
	classNormal  clientClass = iota
	classReplica             // its output is the history: package replication bounds how far behind it may be
	classPubSub              // is subscribed to something
	clientClasses
)

// String is the class as CLIENT LIST TYPE knows it.
func (c clientClass) String() string { return [...]string{"normal", "replica", "pubsub"}[c] }

// outputLimit is what client-output-buffer-limit says of one class.
type outputLimit struct {
	config.OutputLimit
	least int64 // up to this many bytes no limit is passed
	// pushed is how much of it may be what others have sent to a client that does not read:
	// flow control cannot stop them.
	pushed int
}

// newOutputLimits are the limits of all classes. What monitors and those who track do not read is bounded
// like the messages of subscribers, although they are normal clients.
func newOutputLimits(l *config.OutputLimits) [clientClasses]outputLimit {
	pushed := math.MaxInt
	if l.PubSub.HardBytes > 0 {
		pushed = int(min(l.PubSub.HardBytes, math.MaxInt))
	}
	return [...]outputLimit{
		classNormal:  newOutputLimit(l.Normal, pushed),
		classReplica: newOutputLimit(config.OutputLimit{}, math.MaxInt),
		classPubSub:  newOutputLimit(l.PubSub, math.MaxInt),
	}
}

func newOutputLimit(l config.OutputLimit, pushed int) outputLimit {
	o := outputLimit{l, math.MaxInt64, pushed}
	for _, bytes := range []int64{l.HardBytes, l.SoftBytes} {
		if bytes > 0 {
			o.least = min(o.least, bytes)
		}
	}
	return o
}

// unauthInput is how much input of a client that has to log in is kept while its output waits.
const unauthInput = 16 << 10
