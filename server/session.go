package server

import (
	"errors"
	"sync/atomic"

	"lockserver/commands"
	"lockserver/internal/resp"
	"lockserver/store"
)

const (
	// batchCommands is how many commands are decoded and run in one hold of the executor.
	batchCommands = 128
	// batchOutput ends a batch whose replies have grown to this many bytes, so that they
	// are sent before more are made.
	batchOutput = 1 << 20
)

// transport is what carries a session's bytes. Its methods may be called from any goroutine, without the
// executor's lock, unless they say otherwise.
type transport interface {
	// kick makes the session's owner call pump soon: there is output, or a reason to go on. from is the event
	// loop that calls, nil for any other caller.
	kick(from *loop)
	// send writes output, or keeps it until the client takes it; an error says that the client is gone, or
	// that the connection was closed because session.mayLeave, which it asks before anything leaves, says no.
	// held says that b is still to be written, at the end of the owner's round, and must stay as it is until
	// then; it never is if now is set. Only the owner calls it.
	send(b []byte, now bool) (held bool, err error)
	// buffered returns the bytes of output that the client has not taken yet. Only the owner calls it.
	buffered() int
	// unsent is buffered without what the client may have taken without our knowing
	// yet. Only the owner calls it.
	unsent() int
	// unacked is buffered and what the client's system has not acknowledged. Only the owner calls it.
	unacked() int
	// guardPeer has an idle peer probed several times within ms milliseconds; under the executor's lock.
	guardPeer(ms int64)
	// heard tells of the peer's last sign of life; under the executor's lock, of a session that is not dead.
	heard() silence
	// hangUp closes the connection at once, whatever it is doing; if the session is lost, so that its owner
	// can still see what is unacked, and nothing more of it is sent when that one closes it.
	hangUp()
	// attach tells the transport its session, before anybody else can know the
	// session. Under the executor's lock.
	attach(s *session)
	// whileBusy gives the owner's other sessions their turn while a script of this one runs for long. Only
	// the owner calls it, without the executor's lock.
	whileBusy()
	// peerGone reports whether the client has closed its end: what is sent now will not be
	// read. Only the owner calls it.
	peerGone() bool
	// awaitDrain makes the owner call pump once buffered has fallen to low; false: it has
	// already. Only the owner calls it.
	awaitDrain(low int) bool
}

// session is one client: bytes in, bytes out. Nothing above it knows which transport carries them.
//
// The fields from decoder to unread belong to the owner, the loop or goroutine that reads from the
// connection. Everything else is only touched under the executor's lock.
type session struct {
	executor  *executor
	transport transport
	decoder   resp.Decoder
	backlog   [][][]byte   // commands that were decoded but stand behind one that waits
	limits    *resp.Limits // those that the decoder has
	// backlogBytes is how much the backlog takes at most.
	backlogBytes int
	stalled      bool       // too much output is unsent: no command runs; see flow.go
	behind       bool       // more commands could run at once: others get their turn first
	inputEnded   bool       // the client sends no more; the session leaves when it has run what was read
	sent         int64      // bytes of output given to the transport
	unread       []grant    // what the client was given and may not have read yet
	owed         owed       // output that waits for the log
	needs        int64      // position of the log that the system must have before output leaves: see mayLeave
	leaving      bool       // nothing more is run; the connection is closed when nothing is owed any more
	stage        stage      // what the owner is doing
	plodding     bool       // looking ahead has panicked: it is let be
	toKick       []*session // those whom this one's slice has touched, while it sends its own output

	out    resp.Writer
	db     *store.DB
	waiter *waiter // the command that waits, nil if none
	// granted is the waiter whose answer stands in out, if what it was given can be taken back.
	granted *waiter
	touched bool // stands in executor.touched
	// logged is the position of the log behind what the session wrote last; floor is one that its output has
	// to wait for, because what another client wrote made it.
	logged, floor int64

	held    bool // stands in pausing.held: the next command waits for the end of CLIENT PAUSE
	closing bool // no further command runs; the owner closes the connection when the output is out
	// condemned: the server has ended the session, or does so when the unit is over. It is
	// closing, and sent nothing more.
	condemned bool
	dead      bool // closed: it is in no list any more

	id            int64
	authenticated bool
	noTouch       bool
	noEvict       bool
	replies       replyMode
	reads         atomic.Bool // the client has taken some of what waited for it; set by the owner, looked at by closeIdle
	lost          atomic.Bool // its peer was taken for dead, and unacked is still to be looked at
	pendingBytes  int         // output that the transport held when it was last asked, and what it was given since

	info clientInfo
	// lastRow is the row of the running or last command, nil if there was no such command.
	lastRow *commands.Row
	multi   *transaction // since MULTI, nil outside
	spare   *transaction // an ended one, for the next MULTI
	// watched are the keys of WATCH; watchedChanged says that one of them is no longer as it was.
	watched        []*watch
	watchedChanged bool
	// subs is what the session is subscribed to; nil: nothing. inbox are messages that
	// are still to be taken into out.
	subs       *subscriptions
	inbox      [][]byte
	inboxBytes int
	class      clientClass
	monitors   bool     // MONITOR
	tracker    *tracker // CLIENT TRACKING, nil while it is off
	// soft is set while the output is above the soft limit of client-output-buffer-limit.
	soft softLimit
	// renewals are the first of a list of the locks whose leases the server renews
	// because this session holds them.
	renewals *renewal
	pulse    *pulse // nil: nobody has depended on the client so far
}

// ID implements commands.Session.
func (s *session) ID() int64 { return s.id }

// replyMode is what CLIENT REPLY has set.
type replyMode uint8

const (
	replyOn replyMode = iota
	replyOff
	replySkipNext // CLIENT REPLY SKIP was just run: the next command's reply is dropped
	replySkip     // this command's reply is dropped
)

// feed takes what was read from the connection (nil: nothing, but go on), runs the commands in it, and sends
// the output. It returns true if the connection is to be closed. Only the owner calls it.
func (s *session) feed(data []byte, b *batch, from *loop) (hangUp bool) {
	defer s.contain(b, from, &hangUp)
	if l := s.executor.decoderLimits.Load(); l != s.limits {
		s.limits = l
		s.decoder.SetLimits(*l)
	}
	if len(s.owed.marks) > 0 || s.leaving {
		if s.settle() {
			return true
		}
		if s.leaving {
			return false
		}
	}
	if s.stalled {
		s.control(resumeUnsent)
	}
	if data != nil {
		s.decoder.Feed(data)
	}
	large := s.decoder.Pending() > largeInput
	s.behind = true
	for slices := 0; s.behind && slices < feedSlices; slices++ {
		if s.behind, hangUp = s.slice(b, from); hangUp {
			return true
		}
	}
	if s.decoder.Keep(); large {
		b.args, b.commands = nil, nil // they would keep the decoder's buffer alive
	}
	switch {
	case s.behind:
		s.transport.kick(nil) // in the loop's next round
	case s.inputEnded && !s.stalled:
		s.leaving = true
		return s.settle()
	}
	return false
}

// largeInput is the size of a read buffer beyond which it is not kept for the sake of what points into it.
const largeInput = 256 << 10

// slice decodes and runs one batch.
func (s *session) slice(b *batch, from *loop) (again, hangUp bool) {
	var err error
	fresh := false
	todo := s.backlog
	if s.stalled {
		todo = nil
	} else {
		s.backlog = nil
	}
	switch {
	case s.stalled: // but there may be something to send
	case todo == nil:
		fresh = true
		most := batchCommands
		if !s.authenticated {
			most = 1 // the limits of the next command depend on whether this one logs in
		}
		again, err = b.decode(&s.decoder, most)
		todo, s.backlogBytes = b.commands, 0
	default:
		again = true // the decoder may hold more
	}
	ex := s.executor
	ex.mu.Lock()
	if s.dead || s.executor.ending {
		ex.mu.Unlock()
		return false, true
	}
	s.stage = within
	if s.out.Buf == nil {
		if b.out == nil {
			b.out = b.rooms.next()
		}
		s.out.Buf = b.out[:0]
	}
	s.pendingBytes = s.unsentBytes()
	s.touched = false
	if s.soft.sinceMS != 0 && !ex.scripts.busy.on {
		s.judgeSoftLimit()
	}
	if !s.authenticated && s.executor.config.RequirePass == "" {
		s.setAuthenticated(true) // the password was taken away
	}
	ran := 0
	if len(todo) > 0 {
		ran = s.runBatch(ex, b, todo)
	}
	if ran < len(todo) {
		again = s.waiter == nil && !s.closing && !s.held
	} else if err != nil && s.waiter == nil && !s.closing {
		var broken resp.ProtocolError
		if errors.As(err, &broken) { // Redis closes on too long a query without a word
			s.out.Error(broken.Reply())
		}
		s.closing = true
	}
	if s.waiter != nil {
		again = false
	}
	if ex.tracking.inUse() && !ex.scripts.busy.on {
		ex.endTracking()
	}
	if len(s.inbox) > 0 && !s.stalled {
		s.takeInbox()
	}
	due := int64(0)
	if s.executor.aof != nil {
		due = s.executor.aof.due(s)
	}
	out, granted, before, condemned := s.out.Buf, s.granted, s.pendingBytes, s.condemned
	s.pendingBytes += len(out) // until the transport is asked again
	s.out.Buf = nil
	if !condemned {
		s.granted = nil
	}
	hangUp = s.closing
	var touched []*session
	if !ex.scripts.busy.on {
		ex.round = from
		if touched = ex.end(); touched != nil {
			s.toKick = touched
		}
	}
	s.stage = aside
	ex.mu.Unlock()

	held := false
	switch {
	case condemned: // it is sent nothing more, and what it was granted is taken back
		out = out[:0]
	case due > 0 || len(s.owed.marks) > 0:
		hangUp = s.sendLater(out, granted, due, hangUp)
		if before+len(out) > notableOutput && !hangUp {
			s.noteOutput()
		}
	case granted != nil:
		s.hand(out, granted)
	case len(out) > 0:
		s.sent += int64(len(out))
		held, err = s.transport.send(out, false)
		hangUp = hangUp || err != nil
		if before+len(out) > notableOutput && !hangUp {
			s.noteOutput()
		}
	}
	b.reuse(out, held)
	if ran < len(todo) && !hangUp {
		s.keep(todo[ran:], fresh)
	}
	if touched != nil {
		s.toKick = nil
		kick(touched, from)
	}
	return again && !s.stalled, hangUp
}

// runBatch runs a batch as a slice of the executor's time. While a script is busy the slice is the script's,
// and goes on behind what is refused here.
func (s *session) runBatch(ex *executor, b *batch, todo [][][]byte) (ran int) {
	if ex.scripts.busy.on {
		return s.runBetween(ex, b, todo)
	}
	ex.begin()
	ex.endLeases()
	ex.endHolds() // so that a command finds the stock that is free by now, however late the ticker is
	s.info.lastUS = ex.store.NowUS()
	ex.gauge.beginBatch()
	ran = s.runBetween(ex, b, todo)
	ex.endBatch(s, todo[:ran])
	return ran
}

// runBetween is runAll, whose panics are those of the connection.
func (s *session) runBetween(ex *executor, b *batch, todo [][][]byte) (ran int) {
	s.stage = between
	ran = s.runAll(ex, b, todo)
	s.stage = within
	return ran
}

// runAll runs commands until one waits, the connection is to be closed, or the output is
// large; it returns how many it ran.
func (s *session) runAll(ex *executor, b *batch, todo [][][]byte) int {
	todo = todo[:min(len(todo), batchCommands)]
	rows := b.rows[:len(todo)]
	b.ahead = false
	next := 0 // in b.slots
	if len(todo) >= warmLeast && !s.plodding && !ex.scripts.busy.on {
		b.lookAhead(ex, s, todo)
	} else {
		clear(rows)
	}
	ex.unhindered = s.unhindered()
	for i, argv := range todo {
		if s.waiter != nil || s.closing || len(s.out.Buf) >= batchOutput || ex.failed != nil {
			s.closing = s.closing || ex.failed != nil
			return i
		}
		if ex.pausing.untilMS != 0 && !ex.scripts.busy.on && ex.holds(s, rows[i], argv) {
			return i
		}
		if b.ahead && rows[i] != nil {
			if _, ok := rows[i].FirstKeyIn(argv); ok { // those whose keys were warmed, in their order
				s.db.Expect(b.slots[next])
				next++
			}
		}
		ex.run(s, rows[i], argv)
	}
	return len(todo)
}

// warmLeast is the least number of commands that are worth looking ahead for.
const warmLeast = 4

// lookAhead finds the rows of a batch of commands, and lets the database fetch their first keys together, and
// the members that several of them look for at one key: pipelined look-ups then wait for memory once instead
// of one after the other. Should it panic, they do without.
func (b *batch) lookAhead(ex *executor, s *session, todo [][][]byte) {
	defer b.lookNoMore(s)
	n, removals, members := 0, 0, 0
	var row *commands.Row
	var last [][]byte // whose row that is
	for i, argv := range todo {
		if row == nil || row.Parent() != nil || len(argv) != len(last) || string(argv[0]) != string(last[0]) { // pipelines repeat commands
			var err error
			if row, err = ex.table.Resolve(argv); err != nil {
				row = nil
			}
			last = argv
		}
		if b.rows[i] = row; row == nil {
			continue
		}
		if key, ok := row.FirstKeyIn(argv); ok {
			b.keys[n] = key
			n++
			if row.Removes() {
				removals++
			}
			if row.NamesMember() {
				members++
			}
		}
	}
	if n >= warmLeast && s.db.WorthWarming() {
		b.ahead = true
		s.db.Warm(b.keys[:n], b.slots[:n], removals)
	}
	clear(b.keys[:n])
	for rest := 0; members >= warmLeast && rest < len(todo); {
		rest += b.warmMembers(s, todo[rest:], b.rows[rest:])
	}
}

// lookNoMore is deferred by lookAhead. It makes a panic cost no more than that the session
// does not look ahead from now on.
func (b *batch) lookNoMore(s *session) {
	if p := recover(); p != nil {
		s.logPanic(p)
		s.plodding, b.ahead = true, false
		clear(b.rows[:])
		clear(b.keys[:])
	}
}

// warmMembers looks ahead for the commands at the beginning of todo that name a member of the same key, and
// returns how many they are, at least 1.
func (b *batch) warmMembers(s *session, todo [][][]byte, rows []*commands.Row) int {
	if rows[0] == nil {
		return 1
	}
	key, _, ok := rows[0].MemberIn(todo[0])
	if !ok {
		return 1
	}
	n := 0
	for n < len(todo) && rows[n] != nil {
		same, member, ok := rows[n].MemberIn(todo[n])
		if !ok || string(same) != string(key) {
			break
		}
		b.keys[n] = member
		n++
	}
	if n >= warmLeast {
		s.db.WarmMembers(key, b.keys[:n])
	}
	clear(b.keys[:n])
	return n
}

// keep puts commands that could not run yet aside. Fresh ones point into the read buffer and are copied.
func (s *session) keep(rest [][][]byte, fresh bool) {
	if !fresh {
		s.backlog = rest
		return
	}
	s.backlog = make([][][]byte, len(rest))
	for i, argv := range rest {
		s.backlog[i] = ownAll(argv)
		for _, word := range argv {
			s.backlogBytes += len(word)
		}
	}
}

// afterReply drops a reply that the client does not want and closes on a client that takes none.
func (s *session) afterReply(mark int) {
	s.muteReply(mark)
	s.checkOutput()
}

// muteReply drops a reply that the client does not want.
func (s *session) muteReply(mark int) {
	switch s.replies {
	case replyOff, replySkip:
		s.out.Rollback(mark)
		if s.replies == replySkip {
			s.replies = replyOn
		}
	case replySkipNext:
		s.replies = replySkip
	}
}

// kick tells the owners of sessions that there is something for them.
func kick(touched []*session, from *loop) {
	for _, s := range touched {
		s.transport.kick(from)
	}
}
