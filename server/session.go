package server

import (
	"math"
	"net"
	"sync/atomic"
	"unsafe"

	"lockserver/commands"
	"lockserver/internal/decimal"
	"lockserver/internal/resp"
	"lockserver/server/durability"
	"lockserver/server/gate"
	"lockserver/server/memory"
	"lockserver/server/pubsub"
	"lockserver/server/replication"
	"lockserver/server/topology"
	"lockserver/server/tracking"
	"lockserver/server/transport"
	"lockserver/server/wait"
	"lockserver/server/watching"
	"lockserver/store"
	"lockserver/store/due"
)

// session is one client: bytes in, bytes out. Nothing above it knows what kind of connection carries them.
//
// The fields from decoder to unread belong to the owner, the loop or goroutine that reads from the
// connection. Everything else is only touched under the executor's lock.
type session struct {
	wait.Party
	executor    *executor
	conn        transport.Conn
	decoder     resp.Decoder
	backlog     [][][]byte   // commands that were decoded but stand behind one that waits
	mostInput   int          // bounds the size of each command that is at hand
	limits      *resp.Limits // those that the decoder has
	fed, input  int          // bytes of the last read, and of all that is to be decoded since; 0: it was counted
	stalled     bool         // too much output is unsent: no command runs; see flow.go
	turn        turn
	onLoop      bool          // the owner is an event loop
	inputEnded  bool          // the client sends no more; the session leaves when it has run what was read
	sent        int64         // bytes of output given to the connection
	unread      []unreadGrant // what the client was given and may not have read yet
	pending     pending       // output that waits for the log
	leaving     bool          // nothing more is run; the connection is closed when nothing is pending any more
	stage       stage         // what the owner is doing
	noLookAhead bool          // looking ahead has panicked: it is let be
	fedAsClient bool          // a replica: what is fed is what it has sent, and not the history
	toWake      []*session    // the sessions that this one's slice has touched, while it sends its own output

	touched bool            // it is in executor.touched
	mark    durability.Mark // what the log knows of the session
	// tells: what was replied since the slice began may tell of data.
	tells   bool
	written int64                // how long the history of replication was behind what it wrote last
	replica *replication.Replica // nil: it has said nothing of being one
	// follower is the same once the client is sent the history, for the owner.
	follower atomic.Pointer[replication.Replica]

	held bool // it is in pausing.held: the next command waits for the end of CLIENT PAUSE
	// unblocked: CLIENT UNBLOCK has ended that the next command is held, which is to be answered with that.
	unblocked bool
	closing   bool // no further command runs; the owner closes the connection when the output is out

	// authenticated: the client may run commands at all; loggedIn: that does not depend on the user default
	// having no password.
	authenticated bool
	loggedIn      bool
	noTouch       bool
	replies       replyMode
	reads         atomic.Bool // the client has taken some of what waited for it; set by the owner, looked at by closeIdle
	pendingBytes  int         // output that the connection held when it was last asked, and what it was given since
	memory        memory.Client

	// lastRow is the row of the running or last command, nil if there was no such command.
	lastRow *commands.Row
	multi   *transaction     // since MULTI, nil outside
	running *transaction     // that of EXEC, nil outside
	spare   *transaction     // an ended one, for the next MULTI
	watches watching.Watches // WATCH
	// subs is what the session is subscribed to; nil: nothing. inbox are messages that
	// are still to be taken into out.
	subs  *pubsub.Subscriptions[*session]
	inbox [][]byte
	// confirmed has confirmations of subscriptions, which are sent although replies are switched off.
	confirmed  []byte
	inboxBytes int
	class      clientClass
	obeyed     bool     // its commands come from the master or a log, and run whatever the state of the server
	isMaster   bool     // it is no client, but the link to the master
	monitors   bool     // MONITOR
	tracker    *tracker // CLIENT TRACKING, nil while it is off
	// soft is set while the output is above the soft limit of client-output-buffer-limit.
	soft  softLimit
	place topology.Place // which member of the server's group the client talks with
}

// turn is how a session shares the time of its event loop with the loop's others.
type turn struct {
	behind     bool // more commands could run at once: others get their turn first
	endedWaits bool // the last slice was over because of the waits that its commands ended
}

// replyMode is what CLIENT REPLY has set; 0: replies are sent.
type replyMode uint8

const (
	replyOff      replyMode = 1 << iota
	replySkip               // this command's reply is dropped
	replySkipNext           // CLIENT REPLY SKIP was just run: the next command's reply is dropped
	replyDone               // what is to be dropped of this command's reply is dropped (EXEC)
)

// isMuted reports whether what is written now is dropped.
func (m replyMode) isMuted() bool { return m&(replyOff|replySkip) != 0 }

// Wakes the owners of sessions that have something to do.
func wakeAll(touched []*session, from *transport.Loop) {
	for _, s := range touched {
		s.conn.Wake(from)
	}
}

func (s *session) setAuthenticated(ok bool) {
	if s.authenticated && !ok {
		s.Info.UnauthSinceUS = s.executor.store.NowUS()
	}
	s.authenticated = ok
	s.decoder.SetAuthenticated(ok)
	most := 0
	if !ok {
		most = unauthInput
	}
	s.conn.SetUnauthenticated(most)
}

// peerText is a client's address as CLIENT LIST writes it. A unix socket's peer has none
// of its own: it is the socket's.
func peerText(local, remote net.Addr) string {
	if remote != nil && remote.Network() == "unix" {
		return addrText(local)
	}
	return addrText(remote)
}

// addrText is an address as CLIENT LIST writes it.
func addrText(a net.Addr) string {
	if a == nil {
		return ""
	}
	if a.Network() == "unix" {
		return a.String() + ":0"
	}
	return a.String()
}

// mayDebug reports whether enable-debug-command lets the client debug.
func (s *session) mayDebug() bool { return s.executor.config.EnableDebugCommand.Allows(s.IsLocal()) }

// sessionOf is the session that runs the command.
func sessionOf(c *commands.Ctx) *session { return clientOf(c.Session.(*wait.Party)) }

// clientOf is the connection of a party.
func clientOf(p *wait.Party) *session { return p.Client.(*session) }

// whenever are the flags of a command that works at any time and only from a client itself.
const whenever = commands.NoScript | commands.Loading | commands.Stale

// stage is what a session's owner is doing, for the case that it panics there.
type stage uint8

const (
	// aside: it does not hold the executor's lock. Nothing but the session and the
	// owner's batch can be half done.
	aside stage = iota
	// between: it holds the lock and is at commands, but in none of them, nor in what changes shared things
	// (a panic there is a damage). What the last command has changed it has changed wholly.
	between
	// within: it holds the lock and may be in the middle of anything.
	within
)

// takeInbox appends the inbox to the output. The caller sees to it that no reply is half written.
func (s *session) takeInbox() { s.takeMessages(math.MaxInt) }

// takeMessages appends messages of the inbox to the output, until they are so many bytes. It takes at least
// one.
func (s *session) takeMessages(most int) {
	n := 0
	for _, b := range s.inbox {
		s.Out.Raw(b)
		if n++; most <= len(b) {
			break
		}
		most -= len(b)
	}
	s.tells = s.tells || s.executor.member != nil // of what may never have been
	if n == len(s.inbox) {
		s.dropInbox()
		return
	}
	for i, b := range s.inbox[:n] {
		s.inboxBytes -= len(b)
		s.inbox[i] = nil
	}
	s.inbox = s.inbox[n:]
}

// mostSpareInbox is the length of the longest inbox that a session keeps.
const mostSpareInbox = 64

func (s *session) dropInbox() {
	clear(s.inbox)
	s.inbox, s.inboxBytes = s.inbox[:0], 0
	if cap(s.inbox) > mostSpareInbox {
		s.inbox = nil
	}
}

// softLimit is since when a session's output has been above its soft limit.
type softLimit struct {
	sinceMS int64     // 0: it is not
	timer   due.Timer // when it will have been for too long
}

// Pending output and group commit. Under appendfsync always a reply may not leave before the log is on disk
// up to the position at which the reply was made. That holds for reads as well, because they may show what
// another client has just written. The loop does not wait for the disk: it keeps such output (pending) and
// goes on. When the log's writer has synced, it opens the gate up to the new position, which has the owners
// of the waiting sessions called.
//
// Under the other policies a reply may not leave before the system has the log up to that position. So a
// killed process loses nothing that a client has a reply about. That needs no waiting: the sender writes the
// log before (MayLeave), once for all that the round of an event loop has held back.

// pending is a session's output that waits for the log. It belongs to the session's owner.
type pending struct {
	out   []byte
	from  int            // out[:from] has been sent
	marks []pendingPiece // what of it may leave when, in order; empty: nothing is pending
	// place and ackPlace are where the session stands at the log's gate, and at that of the replicas.
	place, ackPlace gate.Place
}

// pendingPiece is a piece of output and its condition.
type pendingPiece struct {
	end int // in pending.out
	needs
	granted *wait.Parked // the waiter that is granted by it, if that can be taken back
}

// needs is what output has to wait for: a position of the log, and one of the history that replicas have to
// acknowledge; 0: it need not.
type needs struct{ log, replicas int64 }

// any reports whether there is anything to wait for.
func (n needs) any() bool { return n.log > 0 || n.replicas > 0 }

// mostSparePending is the size of the largest buffer for such output that a session keeps.
const mostSparePending = 64 << 10

// bytes is how much output is kept.
func (o *pending) bytes() int { return len(o.out) - o.from }

// layAside keeps output until what it has to wait for is safe, behind what is pending already. Only the owner
// calls it.
func (o *pending) layAside(out []byte, granted *wait.Parked, n needs) {
	if last := len(o.marks) - 1; last >= 0 {
		n.log, n.replicas = max(n.log, o.marks[last].log), max(n.replicas, o.marks[last].replicas)
	}
	o.out = append(o.out, out...)
	o.marks = append(o.marks, pendingPiece{len(o.out), n, granted})
}

// drop forgets all that is pending, and returns the grants that were in it.
func (o *pending) drop() []unreadGrant {
	var grants []unreadGrant
	for _, m := range o.marks {
		if m.granted != nil {
			grants = append(grants, unreadGrant{waiter: m.granted})
		}
	}
	o.marks, o.out, o.from = nil, nil, 0
	return grants
}

// unreadGrant is an answer that can be taken back.
type unreadGrant struct {
	waiter *wait.Parked
	end    int64 // what session.sent was when the answer had been sent
}

// A transaction is the commands that a client sent between MULTI and EXEC. They run as one unit. No other
// client's command runs between them, waiters for a key are served after the last of them, and their effects
// reach the journal together. Nothing waits inside: a blocking command answers as if its time were up.
//
// A command is immediate (commands.Immediate) if it is about the transaction or the connection itself. All
// others are queued as they came, after the checks that a command sent alone would have to pass.

// transaction is what a client has queued since MULTI.
type transaction struct {
	queued  []queuedCommand
	args    [][]byte       // where the words of the queued commands stand
	text    []byte         // where their bytes do
	flags   commands.Flags // of all queued commands together
	lacks   commands.Flags // that one of them does not have
	tells   bool           // one of them tells of data
	aborted bool           // a command was refused: EXEC will run nothing
	db      *store.DB      // what a queued SELECT has chosen for those behind it; nil: nothing
}

// queuedCommand is a command that waits for EXEC.
type queuedCommand struct {
	row  *commands.Row
	argv [][]byte
}

// asked returns the flags that the command that runs the queue is admitted by. It does what the queued
// commands do, and may run only where all of them may.
func (tx *transaction) asked(flags commands.Flags) commands.Flags {
	const every = commands.Loading | commands.Stale
	return (flags | tx.flags&(keyspace|commands.NoAsyncLoading)) &^ (tx.lacks & every)
}

// add queues a command; flags are those that count. Its words are copied.
func (tx *transaction) add(row *commands.Row, flags commands.Flags, argv [][]byte) {
	tx.flags |= flags
	tx.lacks |= ^flags
	tx.tells = tx.tells || tellsOfData(row)
	first := len(tx.args)
	for _, a := range argv {
		at := len(tx.text)
		tx.text = append(tx.text, a...)
		tx.args = append(tx.args, tx.text[at:len(tx.text):len(tx.text)])
	}
	tx.queued = append(tx.queued, queuedCommand{row, tx.args[first:len(tx.args):len(tx.args)]})
}

// choose records the database that a queued SELECT will choose: users may have rights to some of them only.
func (tx *transaction) choose(st *store.Store, argv [][]byte) {
	if id, ok := decimal.ParseInt(argv[1]); ok && st.DB(int(id)) != nil {
		tx.db = st.DB(int(id))
	}
}

// keyspace are the flags of commands that touch keys, or tell others of them.
const keyspace = commands.Write | commands.ReadOnly | commands.MayReplicate

// tellsOfData reports whether what a command replies may show what others have written. How many heard of a
// message does not: a Sentinel posts on the connection by which it finds out whether we live.
func tellsOfData(row *commands.Row) bool {
	return row.Group != commands.PubSub && row.Flags&keyspace != 0 || row.Group == commands.Scripting
}

// tracker is a session that tracks.
type tracker = tracking.Tracker[*session]

// The memory of a session. The packages of scripts, subscriptions and tracking know what those take; they are
// asked at the end of each slice in which more ran than plain commands (executor.plainSlice).

const (
	// sessionBytes is what a session takes that does nothing, with its connection and its places in maps.
	sessionBytes = int(unsafe.Sizeof(session{})) + 512
	// watchBytes is what a watched key takes beside its name: the struct, and its places in lists.
	watchBytes = 160
	// wordBytes is what a word of a command takes beside its text: the slice.
	wordBytes = 24
)

// textBytes is how long the words of commands are together.
func textBytes(argvs ...[][]byte) (n int) {
	for _, argv := range argvs {
		for _, word := range argv {
			n += len(word)
		}
	}
	return n
}

// recount brings what the session takes up to date. Its owner calls it, under the executor.
func (s *session) recount() {
	if s.Dead || s.Terminated {
		return
	}
	s.memory.Input, s.memory.Capacity = s.decoder.Pending(), s.decoder.Held()
	s.executor.memory.Clients.Recount(&s.memory, s.bytes(), s.replica != nil && s.replica.Is())
}

// bytes is what the session takes.
func (s *session) bytes() int {
	if !s.executor.plainSlice {
		s.memory.Rest = s.restBytes()
	}
	n := sessionBytes + s.memory.Capacity + s.memory.Backlog + s.outputHeld() + s.memory.Rest
	if s.Waiter != nil || s.Queued != nil {
		n += s.WaitBytes()
	}
	return n
}

// restBytes is what stays as it is while the session runs plain commands.
func (s *session) restBytes() (n int) {
	if s.multi != nil {
		n += s.multi.bytes()
	}
	n += watchBytes * s.watches.Len()
	if s.subs != nil {
		n += s.subs.Bytes()
	}
	n += s.Attachments.Bytes() + s.tracker.Bytes()
	n += len(s.Info.Name) + len(s.Info.LibName) + len(s.Info.LibVersion)
	return n
}

// outputHeld is the memory that output takes which the client has not taken yet. What it was sent in the
// running slice is on its way, and counts when the connection turns out to hold it.
func (s *session) outputHeld() int { return s.memory.Unsent + s.inboxBytes + wordBytes*cap(s.inbox) }

// bytes is what a transaction takes.
func (tx *transaction) bytes() int {
	return cap(tx.text) + wordBytes*cap(tx.args) + int(unsafe.Sizeof(queuedCommand{}))*cap(tx.queued)
}

// AskUnsent implements memory.Asked.
func (s *session) AskUnsent() {
	if !s.Dead {
		s.executor.touch(s)
	}
}
