package server

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"lockserver/internal/config"
	"lockserver/internal/resp"
	"lockserver/server/pubsub"
	"lockserver/server/transport"
	"lockserver/server/wait"
)

// newSession makes a session of version 2 of the protocol at the first database.
func (ex *executor) newSession(c transport.Conn) *session {
	s := &session{executor: ex, Party: wait.Party{Waits: &ex.Waits, DB: ex.Store.DB(0)}}
	s.Client, s.Out.Proto, s.memory.Of = waitClient{s}, 2, s
	s.output.Open(c, s, &s.Party, &ex.Gates)
	return s
}

// noConn is the connection of a session without a client.
type noConn struct{}

func (noConn) Wake(*transport.Loop)            {}
func (noConn) WakeAtEnd(*transport.Loop)       {}
func (noConn) Send([]byte, bool) (bool, error) { return false, nil }
func (noConn) Buffered() int                   { return 0 }
func (noConn) Unsent() int                     { return 0 }
func (noConn) Unacked() int                    { return 0 }
func (noConn) GuardPeer(int64)                 {}
func (noConn) Heard() transport.Silence        { return transport.Silence{} }
func (noConn) HangUp()                         {}
func (noConn) Attach(transport.Session)        {}
func (noConn) WhileBusy()                      {}
func (noConn) PeerGone() bool                  { return false }
func (noConn) AwaitDrain(int) bool             { return false }
func (noConn) SetUnauthenticated(int)          {}

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

// leave takes a session out of everything in which others could meet it. It may be done more than once. Its
// output stays: a running command may stand in the middle of it.
func (s *session) leave() {
	ex := s.executor
	delete(s.executor.clients, s.Number)
	ex.Memory.Clients.Uncount(&s.memory)
	// plant:leave-queue
	if s.Waiter != nil {
		ex.Waits.Unpark(s.Waiter, false)
	}
	if s.link.replica != nil {
		ex.Replication.Left(s.link.replica)
	}
	s.discard()
	// plant:leave-channels
	s.unsubscribeAll()
	ex.tracking.leave(s)
	s.stopMonitoring()
	ex.Pausing.Resume(&s.Party)
	ex.Timers.Remove(&s.soft.timer)
	ex.Waits.DetachAll(&s.Party)
	ex.Waits.LeavePlaces(&s.Party)
	// plant:leave-renewals
	ex.Waits.Depart(&s.Party)
	if s.Liveness != nil {
		ex.Timers.Remove(&s.Liveness.Timer)
	}
	s.inbox.Drop()
}

// discard leaves a transaction and forgets the watched keys.
func (s *session) discard() {
	s.tx.multi = nil
	s.unwatch()
}

// unwatch forgets the session's watched keys, and whether one of them has changed.
func (s *session) unwatch() {
	if s.executor.watching.Forget(&s.tx.watches) {
		s.executor.observe()
	}
}

// limits are directives about connections in the form in which the hot path uses them.
type limits struct {
	keepAlive time.Duration
	outputs   [clientClasses]outputLimit
	// coalesceUS is the directive io-coalesce-usec, which event loops read once a round.
	coalesceUS atomic.Int64
	// decoder holds the limits of every session's decoder, from the next read on.
	decoder atomic.Pointer[resp.Limits]
}

// configure follows the directives.
func (l *limits) configure(c *config.Config) {
	l.keepAlive = time.Duration(c.TCPKeepaliveMS) * time.Millisecond
	l.outputs = newOutputLimits(&c.ClientOutputBufferLimit)
	l.coalesceUS.Store(c.IOCoalesceUS)
	l.decoder.Store(&resp.Limits{MaxBulk: c.ProtoMaxBulkLen, MaxQuery: c.ClientQueryBufferLimit})
}

// clientClass is the class of a session in client-output-buffer-limit.
type clientClass uint8

const (
	classNormal  clientClass = iota
	classReplica             // its output is the history: package replication bounds how far behind it may be
	classPubSub              // is subscribed to something
	clientClasses
)

// String is the class as CLIENT LIST TYPE knows it.
func (c clientClass) String() string { return [...]string{"normal", "replica", "pubsub"}[c] }

// outputLimit holds the limits of one class in client-output-buffer-limit.
type outputLimit struct {
	config.OutputLimit
	least int64 // up to this many bytes no limit is passed
	// pushed is how much of it may be what others have sent to a client that does not read:
	// flow control cannot stop them.
	pushed int
}

// newOutputLimits returns the limits of all classes. Unread output of monitors and of tracking clients has
// the limit of subscribers, although they are normal clients.
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

// sortedClients returns the sessions in the order in which they connected.
func (r *roster) sortedClients() []*session {
	list := make([]*session, 0, len(r.clients))
	for _, s := range r.clients {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *session) int { return int(a.Number - b.Number) })
	return list
}

// userName is the name that the session has logged in under.
func (s *session) userName() string {
	if s.isMaster {
		return "(superuser)"
	}
	return s.User.Name()
}

// describe writes the session's line of CLIENT LIST. running are the words of the command that it runs, nil
// if that is another session's.
func (s *session) describe(b *strings.Builder, running [][]byte) {
	nowUS := s.executor.Store.NowUS()
	cmd := "NULL"
	if s.lastRow != nil {
		cmd = s.lastRow.FullName()
	}
	queued, queuedBytes := -1, 0
	if tx := cmp.Or(s.tx.multi, s.tx.running); tx != nil {
		queued, queuedBytes = len(tx.queued), len(tx.text)
	}
	var listens [pubsub.Kinds]int
	if s.subs != nil {
		for kind := range listens {
			listens[kind] = s.subs.Len(pubsub.Kind(kind))
		}
	}
	words := textBytes(running)
	if s.Waiter != nil {
		words += s.Waiter.Words.Bytes()
	}
	m := &s.memory
	input := m.Input + m.Backlog
	if running != nil { // its own command counts, with those before and behind it that came together
		input = s.in.decoder.Read() + m.Backlog
	}
	events := "r"
	if m.Unsent > 0 {
		events = "rw"
	}
	fmt.Fprintf(b, "id=%d addr=%s laddr=%s fd=%d name=%s age=%d idle=%d flags=%s db=%d sub=%d psub=%d ssub=%d multi=%d watch=%d "+
		"qbuf=%d qbuf-free=%d argv-mem=%d multi-mem=%d rbs=%d rbp=%d obl=%d oll=%d omem=%d tot-mem=%d events=%s cmd=%s "+
		"user=%s redir=%d resp=%d lib-name=%s lib-ver=%s\n",
		s.Number, s.Info.Addr, s.Info.LocalAddr, s.Info.FD, s.Info.Name, (nowUS-s.Info.CreatedUS)/1_000_000,
		(nowUS-s.Info.LastUS)/1_000_000, s.flags(), s.DB.ID(), listens[pubsub.Channel], listens[pubsub.Pattern], listens[pubsub.Shard],
		queued, s.tx.watches.Len(), input, m.Capacity-min(m.Capacity, m.Input), words, queuedBytes,
		cap(s.Out.Buf), len(s.Out.Buf), len(s.Out.Buf), s.inbox.Len(), s.outputHeld(), s.bytes()+cap(s.Out.Buf)+textBytes(running), events, cmd,
		s.userName(), s.tracker.Redirection(), s.Out.Proto, s.Info.LibName, s.Info.LibVersion)
}

// line is the session's line of CLIENT LIST.
func (s *session) line() string {
	var b strings.Builder
	s.describe(&b, nil)
	return strings.TrimSuffix(b.String(), "\n")
}

// flags are the session's letters in CLIENT LIST, in Redis' order.
func (s *session) flags() string {
	flags := ""
	for _, f := range []struct {
		letter string
		is     bool
	}{
		{"M", s.isMaster},
		{"O", s.monitors},
		{"S", s.link.replica.Is() && !s.monitors},
		{"P", s.subs != nil},
		{"x", s.tx.multi != nil || s.tx.running != nil},
		{"b", s.Waiter != nil || s.Held},
		{"t", s.tracker != nil},
		{"R", s.tracker != nil && s.tracker.Broken},
		{"B", s.tracker != nil && s.tracker.BCast},
		{"d", s.tx.watches.Changed()},
		{"c", s.Closing},
		{"U", strings.HasSuffix(s.Info.Addr, ":0")},
		{"e", s.memory.Exempt},
		{"T", s.noTouch},
	} {
		if f.is {
			flags += f.letter
		}
	}
	if flags == "" {
		return "N"
	}
	return flags
}

// The eviction of clients.

// clientLimitOf is the directive maxmemory-clients in bytes; 0: there is no bound.
func clientLimitOf(c *config.Config) int {
	switch {
	case c.MaxMemoryClients == 0, c.MaxMemoryClients < 0 && c.MaxMemory == 0:
		return 0
	}
	return int(min(max(c.MaxMemoryClients.Of(c.MaxMemory), 1), math.MaxInt))
}

// evictClients closes the clients that take most, until all together take less than they may. It is called
// when they take more.
func (ex *executor) evictClients() {
	all := &ex.Memory.Clients
	if ex.Busy.On {
		return
	}
	ex.Begin()
	for all.Over() && all.Evictable(len(ex.clients)) > 0 {
		s := ex.largestClient()
		if s == nil { // replicas and exempt clients are left
			break
		}
		ex.Logger.Info("Evicting client: " + s.line())
		ex.counts.evicted++
		ex.terminate(s)
	}
	if all.LogsOver() {
		ex.Logger.Warn("Over client maxmemory after evicting all evictable clients")
	}
	ex.EndUnit()
}

// largestClient returns the session that takes the most memory among the evictable sessions, or nil. Of
// several such sessions it returns the oldest.
func (r *roster) largestClient() *session {
	var largest *session
	for _, s := range r.clients {
		if !s.memory.Exempt && !s.link.replica.Is() && (largest == nil || s.memory.Counted > largest.memory.Counted ||
			s.memory.Counted == largest.memory.Counted && s.Number < largest.Number) {
			largest = s
		}
	}
	return largest
}
