package server

import (
	"errors"
	"sync/atomic"

	"lockserver/commands"
	"lockserver/internal/resp"
	"lockserver/server/transport"
	"lockserver/store"
)

const (
	// batchCommands is how many commands are decoded and run in one hold of the executor.
	batchCommands = 128
	// batchOutput ends a batch whose replies have grown to this many bytes, so that they
	// are sent before more are made.
	batchOutput = 1 << 20
)

// session is one client: bytes in, bytes out. Nothing above it knows what kind of connection carries them.
//
// The fields from decoder to unread belong to the owner, the loop or goroutine that reads from the
// connection. Everything else is only touched under the executor's lock.
type session struct {
	executor *executor
	conn     transport.Conn
	decoder  resp.Decoder
	backlog  [][][]byte   // commands that were decoded but stand behind one that waits
	limits   *resp.Limits // those that the decoder has
	// backlogBytes is how much the backlog takes at most.
	backlogBytes int
	stalled      bool       // too much output is unsent: no command runs; see flow.go
	behind       bool       // more commands could run at once: others get their turn first
	inputEnded   bool       // the client sends no more; the session leaves when it has run what was read
	sent         int64      // bytes of output given to the connection
	unread       []grant    // what the client was given and may not have read yet
	pending      pending    // output that waits for the log
	needs        int64      // position of the log that the system must have before output leaves: see MayLeave
	leaving      bool       // nothing more is run; the connection is closed when nothing is pending any more
	stage        stage      // what the owner is doing
	noLookAhead  bool       // looking ahead has panicked: it is let be
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
	pendingBytes  int         // output that the connection held when it was last asked, and what it was given since

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

// Feed implements transport.Session: it runs the commands in what was read, and sends the output.
func (s *session) Feed(data []byte, room transport.Scratch, from *transport.Loop) (hangUp bool) {
	b := room.(*batch)
	defer s.contain(b, from, &hangUp)
	if l := s.executor.decoderLimits.Load(); l != s.limits {
		s.limits = l
		s.decoder.SetLimits(*l)
	}
	if len(s.pending.marks) > 0 || s.leaving {
		if s.sendPending() {
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
		s.conn.Kick(nil) // in the loop's next round
	case s.inputEnded && !s.stalled:
		s.leaving = true
		return s.sendPending()
	}
	return false
}

// largeInput is the size of a read buffer beyond which it is not kept for the sake of what points into it.
const largeInput = 256 << 10

// slice decodes and runs one batch, and sends what came of it. again says that the session has more to do.
func (s *session) slice(b *batch, from *transport.Loop) (again, hangUp bool) {
	w := s.nextWork(b)
	ex := s.executor
	ex.mu.Lock()
	if s.dead || ex.ending {
		ex.mu.Unlock()
		return false, true
	}
	s.stage = within
	s.beginSlice(b)
	ran := 0
	if len(w.todo) > 0 {
		ran = s.runBatch(ex, b, w.todo)
	}
	again = s.endWork(&w, ran)
	r := s.endSlice(from)
	s.stage = aside
	ex.mu.Unlock()

	hangUp = s.sendResult(b, &r)
	if ran < len(w.todo) && !hangUp {
		s.keep(w.todo[ran:], w.fresh)
	}
	if r.touched != nil {
		s.toKick = nil
		kick(r.touched, from)
	}
	return again && !s.stalled, hangUp
}

// work is what a slice has to do: commands that stood behind one that waited, or what the decoder has.
type work struct {
	todo  [][][]byte
	fresh bool  // they point into the decoder's buffer
	more  bool  // there may be others behind them
	err   error // what the decoder found instead of the next one
}

// nextWork takes the commands that the next slice runs. A stalled session runs none, but may have
// something to send.
func (s *session) nextWork(b *batch) (w work) {
	switch {
	case s.stalled:
	case s.backlog != nil:
		w.todo, w.more = s.backlog, true // the decoder may hold more
		s.backlog = nil
	default:
		most := batchCommands
		if !s.authenticated {
			most = 1 // the limits of the next command depend on whether this one logs in
		}
		w.fresh = true
		w.more, w.err = b.decode(&s.decoder, most)
		w.todo, s.backlogBytes = b.commands, 0
	}
	return w
}

// beginSlice makes the session ready to run commands. Under the executor's lock.
func (s *session) beginSlice(b *batch) {
	if s.out.Buf == nil {
		if b.out == nil {
			b.out = b.rooms.next()
		}
		s.out.Buf = b.out[:0]
	}
	s.pendingBytes = s.unsentBytes()
	s.touched = false
	if s.soft.sinceMS != 0 && !s.executor.busy.on {
		s.judgeSoftLimit()
	}
	if !s.authenticated && s.executor.config.RequirePass == "" {
		s.setAuthenticated(true) // the password was taken away
	}
}

// endWork looks at what is left of the work when so many commands have run, and reports whether the session
// can go on at once. Under the executor's lock.
func (s *session) endWork(w *work, ran int) (again bool) {
	again = w.more
	if ran < len(w.todo) {
		again = s.waiter == nil && !s.closing && !s.held
	} else if w.err != nil && s.waiter == nil && !s.closing {
		var broken resp.ProtocolError
		if errors.As(w.err, &broken) { // Redis closes on too long a query without a word
			s.out.Error(broken.Reply())
		}
		s.closing = true
	}
	return again && s.waiter == nil
}

// result is what a slice leaves for its session's owner to do when the executor's lock is let go.
type result struct {
	out       []byte
	granted   *waiter // whose answer stands in out
	position  int64   // of the log, that out has to wait for; 0: none
	before    int     // bytes of output that were already on their way
	condemned bool
	hangUp    bool
	touched   []*session
}

// endSlice takes the session's output, and the executor's word for others. Under the executor's lock.
func (s *session) endSlice(from *transport.Loop) (r result) {
	ex := s.executor
	if ex.tracking.inUse() && !ex.busy.on {
		ex.endTracking()
	}
	if len(s.inbox) > 0 && !s.stalled {
		s.takeInbox()
	}
	if ex.aof != nil {
		r.position = ex.aof.due(s)
	}
	r.out, r.granted, r.before, r.condemned = s.out.Buf, s.granted, s.pendingBytes, s.condemned
	s.pendingBytes += len(r.out) // until the connection is asked again
	s.out.Buf = nil
	if !s.condemned {
		s.granted = nil
	}
	r.hangUp = s.closing
	if !ex.busy.on {
		ex.round = from
		if r.touched = ex.end(); r.touched != nil {
			s.toKick = r.touched
		}
	}
	return r
}

// sendResult sends what a slice made, or keeps it until the log is on disk, and gives the batch its room
// back. It returns true if the connection is to be closed.
func (s *session) sendResult(b *batch, r *result) (hangUp bool) {
	hangUp = r.hangUp
	held := false
	switch {
	case r.condemned: // it is sent nothing more, and what it was granted is taken back
		r.out = r.out[:0]
	case r.position > 0 || len(s.pending.marks) > 0:
		hangUp = s.sendLater(r.out, r.granted, r.position, hangUp)
		if r.before+len(r.out) > notableOutput && !hangUp {
			s.noteOutput()
		}
	case r.granted != nil:
		s.hand(r.out, r.granted)
	case len(r.out) > 0:
		var err error
		s.sent += int64(len(r.out))
		held, err = s.conn.Send(r.out, false)
		hangUp = hangUp || err != nil
		if r.before+len(r.out) > notableOutput && !hangUp {
			s.noteOutput()
		}
	}
	b.reuse(r.out, held)
	return hangUp
}

// runBatch runs a batch as a slice of the executor's time. While a script is busy the slice is the script's,
// and goes on behind what is refused here.
func (s *session) runBatch(ex *executor, b *batch, todo [][][]byte) (ran int) {
	if ex.busy.on {
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
	if len(todo) >= prefetchLeast && !s.noLookAhead && !ex.busy.on {
		b.lookAhead(ex, s, todo)
	} else {
		clear(rows)
	}
	ex.fastPath = s.takesFastPath()
	for i, argv := range todo {
		if s.waiter != nil || s.closing || len(s.out.Buf) >= batchOutput || ex.failed != nil {
			s.closing = s.closing || ex.failed != nil
			return i
		}
		if ex.pausing.untilMS != 0 && !ex.busy.on && ex.holds(s, rows[i], argv) {
			return i
		}
		if b.ahead && rows[i] != nil {
			if _, ok := rows[i].FirstKeyIn(argv); ok { // those whose keys were prefetched, in their order
				s.db.Expect(b.slots[next])
				next++
			}
		}
		ex.run(s, rows[i], argv)
	}
	return len(todo)
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
func kick(touched []*session, from *transport.Loop) {
	for _, s := range touched {
		s.conn.Kick(from)
	}
}
