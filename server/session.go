package server

import (
	"math"
	"net"
	"sync/atomic"
	"unsafe"

	"lockserver/commands"
	"lockserver/internal/decimal"
	"lockserver/internal/resp"
	"lockserver/server/memory"
	"lockserver/server/output"
	"lockserver/server/pubsub"
	"lockserver/server/replication"
	"lockserver/server/shard"
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
// The fields from in to toWake belong to the owner, the loop or goroutine that reads from the connection.
// Everything else is only touched under the executor's lock.
type session struct {
	wait.Party
	executor *executor
	in       intake
	output   output.Output
	turn     turn
	onLoop   bool          // the owner is an event loop
	stage    stage         // the present work of the owner
	toWake   []*wait.Party // those that this session's slice has touched, while it sends its own output

	link replicaLink
	// unblocked: CLIENT UNBLOCK has ended that the next command is held, which is to be answered with that.
	unblocked bool

	// authenticated: the client may run commands at all; loggedIn: that does not depend on the user default
	// having no password.
	authenticated bool
	loggedIn      bool
	noTouch       bool
	mute          muting
	reads         atomic.Bool // the client has taken some of what waited for it; set by the owner, looked at by closeIdle
	pendingBytes  int         // output that the connection held when it was last asked, and what it was given since
	memory        memory.Client

	// lastRow is the row of the running or last command, nil if there was no such command.
	lastRow *commands.Row
	tx      transactions
	subs    *pubsub.Subscriptions[*session] // nil: the session is not subscribed
	inbox   output.Inbox
	class   clientClass
	// obeyed: the commands come from the master or a log, and run whatever the state of the server.
	obeyed   bool
	isMaster bool     // it is no client, but the link to the master
	monitors bool     // MONITOR
	tracker  *tracker // CLIENT TRACKING, nil while it is off
	// soft is set while the output is above the soft limit of client-output-buffer-limit.
	soft  softLimit
	place topology.Connection // which member of the server's group the client talks with
}

// intake is the input of a session that has not run yet.
type intake struct {
	decoder     resp.Decoder
	backlog     [][][]byte   // decoded commands behind a command that waits
	most        int          // bounds the size of each command that is at hand
	limits      *resp.Limits // those that the decoder has
	fed, bytes  int          // bytes of the last read, and of all that is to be decoded since; 0: it was counted
	ended       bool         // the client sends no more; the session leaves when it has run what was read
	noLookAhead bool         // looking ahead has panicked: it is let be
}

// replicaLink holds the state of a session for replication.
type replicaLink struct {
	replica *replication.Replica // nil: it has said nothing of being one
	// follower is the same once the client is sent the history, for the owner.
	follower atomic.Pointer[replication.Replica]
	asClient bool // Feed gets the bytes that the replica has sent, and none of the history
}

// transactions holds the state of a session for MULTI and WATCH.
type transactions struct {
	multi   *transaction // since MULTI, nil outside
	running *transaction // that of EXEC, nil outside
	spare   *transaction // an ended one, for the next MULTI
	watches watching.Watches
}

// turn is how a session shares the time of its event loop with the loop's others.
type turn struct {
	behind     bool // more commands could run at once: others get their turn first
	endedWaits bool // the last slice was over because of the waits that its commands ended
}

// muting holds the setting of CLIENT REPLY.
type muting struct {
	mode replyMode // 0: replies are sent
	// confirmed has confirmations of subscriptions, which are sent although replies are switched off.
	confirmed []byte
}

// replyMode is a set of conditions under which replies are dropped.
type replyMode uint8

const (
	replyOff      replyMode = 1 << iota
	replySkip               // this command's reply is dropped
	replySkipNext           // CLIENT REPLY SKIP was just run: the next command's reply is dropped
	replyDone               // EXEC has dropped the reply already, as far as it is to be dropped
)

// isMuted reports whether what is written now is dropped.
func (m replyMode) isMuted() bool { return m&(replyOff|replySkip) != 0 }

// drop takes back a reply that the client does not want, which begins at mark. Confirmations of subscriptions
// are sent all the same.
func (m *muting) drop(out *resp.Writer, mark int) {
	out.Rollback(mark)
	out.Raw(m.confirmed)
	m.confirmed = nil
}

// after is called behind each reply, and drops it if the client does not want it.
func (m *muting) after(out *resp.Writer, mark int) {
	if m.mode == 0 {
		return
	}
	if m.mode.isMuted() && m.mode&replyDone == 0 {
		m.drop(out, mark)
	}
	next := m.mode & replyOff
	// plant:reply-skip
	if m.mode&replySkipNext != 0 {
		next |= replySkip
	}
	m.mode = next
}

// wakeAll wakes the owners of the connections of parties that have something to do.
func wakeAll(touched []*wait.Party, from *transport.Loop) {
	for _, p := range touched {
		clientOf(p).output.Conn.Wake(from)
	}
}

func (s *session) setAuthenticated(ok bool) {
	if s.authenticated && !ok {
		s.Info.UnauthSinceUS = s.executor.Store.NowUS()
	}
	s.authenticated = ok
	s.in.decoder.SetAuthenticated(ok)
	most := 0
	if !ok {
		most = unauthInput
	}
	s.output.Conn.SetUnauthenticated(most)
}

// peerText is a client's address as CLIENT LIST writes it. A unix socket's peer has no
// address of its own, so the result is the socket's.
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
func clientOf(p *wait.Party) *session { return p.Client.(waitClient).session }

// MayLeave implements transport.Session. It is asked for the last time at which output can be kept; false: it
// must not leave at all, what it tells of is lost.
func (s *session) MayLeave() bool {
	needs := s.Mark.Needs
	return needs == 0 || s.executor.Gates.Log.Written(needs) // plant:may-leave
}

// waitClient is a session as waits see it (host.go).
type waitClient struct{ *session }

// whenever are the flags of a command that works at any time and only from a client itself.
const whenever = commands.NoScript | commands.Loading | commands.Stale

// stage names the present work of a session's owner, for the case that it panics there.
type stage uint8

const (
	// aside: it does not hold the executor's lock. Nothing but the session and the
	// owner's batch can be half done.
	aside stage = iota
	// between: it holds the lock and is at commands, but in none of them, nor in what changes shared things
	// (a panic there is a damage). The changes of the last command are complete.
	between
	// within: it holds the lock and may be in the middle of anything.
	within
)

// takeInbox appends the inbox to the output. The caller sees to it that no reply is half written.
func (s *session) takeInbox() { s.takeMessages(math.MaxInt) }

// takeMessages appends messages of the inbox to the output, until they have at least most bytes. It takes at
// least one message.
func (s *session) takeMessages(most int) {
	s.inbox.Take(&s.Out, most)
	s.Tells = s.Tells || s.executor.Member != nil // of what may never have been
}

// softLimit is since when a session's output has been above its soft limit.
type softLimit struct {
	sinceMS int64     // 0: it is not
	timer   due.Timer // when it will have been for too long
}

// A transaction is the commands that a client sent between MULTI and EXEC. They run as one unit. No other
// client's command runs between them, waiters for a key are served after the last of them, and their effects
// reach the journal together. Nothing waits inside: a blocking command answers as if its time were up.
//
// A command is immediate (commands.Immediate) if it is about the transaction or the connection itself. All
// others are queued as they came, after the checks that a command sent alone would have to pass.

// transaction holds the commands that a client has queued since MULTI.
type transaction struct {
	queued  []queuedCommand
	args    [][]byte       // where the words of the queued commands stand
	text    []byte         // where their bytes do
	flags   commands.Flags // of all queued commands together
	lacks   commands.Flags // that one of them does not have
	tells   bool           // one of them tells of data
	aborted bool           // a command was refused: EXEC will run nothing
	db      *store.DB      // the choice of a queued SELECT for the commands behind it, or nil
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
	// sessionBytes is the memory of an idle session, with its connection and its places in maps.
	sessionBytes = int(unsafe.Sizeof(session{})) + 512
	// watchBytes is the memory of a watched key beside its name: the struct, and its places in lists.
	watchBytes = 160
	// wordBytes is the memory of a word of a command beside its text: the slice.
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
	s.memory.Input, s.memory.Capacity = s.in.decoder.Pending(), s.in.decoder.Held()
	s.executor.Memory.Clients.Recount(&s.memory, s.bytes(), s.link.replica != nil && s.link.replica.Is())
}

// bytes returns the memory of the session.
func (s *session) bytes() int {
	if !s.executor.PlainSlice {
		s.memory.Rest = s.restBytes()
	}
	n := sessionBytes + s.memory.Capacity + s.memory.Backlog + s.outputHeld() + s.memory.Rest
	if s.Waiter != nil || s.Queued != nil {
		n += s.WaitBytes()
	}
	return n
}

// restBytes returns the part of the memory that no plain command changes.
func (s *session) restBytes() (n int) {
	if s.tx.multi != nil {
		n += s.tx.multi.bytes()
	}
	n += watchBytes * s.tx.watches.Len()
	if s.subs != nil {
		n += s.subs.Bytes()
	}
	n += s.Attachments.Bytes() + s.tracker.Bytes()
	n += len(s.Info.Name) + len(s.Info.LibName) + len(s.Info.LibVersion)
	return n
}

// outputHeld returns the memory of output that the client has not read yet. Output of the running slice is on
// its way. It counts when the connection turns out to hold it.
func (s *session) outputHeld() int { return s.memory.Unsent + s.inbox.Held() }

// bytes returns the memory of a transaction.
func (tx *transaction) bytes() int {
	return cap(tx.text) + wordBytes*cap(tx.args) + int(unsafe.Sizeof(queuedCommand{}))*cap(tx.queued)
}

// AskUnsent implements memory.Asked.
func (s *session) AskUnsent() {
	if !s.Dead {
		s.executor.Touch(&s.Party)
	}
}

// shardHost is the server as its shard sees it.
type shardHost struct{ executor *executor }

var _ shard.Server = shardHost{}

// Leave implements shard.Server.
func (h shardHost) Leave(p *wait.Party) { clientOf(p).leave() }

// HangUp implements shard.Server.
func (h shardHost) HangUp(p *wait.Party) { clientOf(p).output.Conn.HangUp() }

// Wake implements shard.Server.
func (h shardHost) Wake(all []*wait.Party) { wakeAll(all, nil) }

// EndSlice implements shard.Server.
func (h shardHost) EndSlice() {
	if h.executor.tracking.InUse() {
		h.executor.endTracking()
	}
}

// Beside implements shard.Server.
func (h shardHost) Beside() int {
	parts := h.executor.memoryParts()
	return parts.Sum() - h.executor.Memory.Clients.Sum
}

// KeepHouse implements shard.Server.
func (h shardHost) KeepHouse() { h.executor.keepHouse() }

// CommandPanicked implements shard.Server.
func (h shardHost) CommandPanicked() { h.executor.tracking.Act(nil) }

// Background implements shard.Server.
func (h shardHost) Background(f func()) { h.executor.host.background(f) }

// Stop implements shard.Server.
func (h shardHost) Stop(code int) { h.executor.host.requestStop(code) }
