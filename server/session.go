package server

import (
	"errors"

	"lockserver/commands"
	"lockserver/internal/resp"
	"lockserver/store"
)

const (
	// batchCommands is how many commands are decoded and run in one hold of the executor.
	batchCommands = 128
	// batchOutput ends a batch whose replies have grown to this many bytes, so that they are sent before more are
	// made.
	batchOutput = 1 << 20
)

// transport is what carries a session's bytes. Its methods may be called from any goroutine, without the executor's
// lock, unless they say otherwise.
type transport interface {
	// kick makes the session's owner call pump soon: there is output, or a reason to go on. from is the event loop
	// that calls, nil for any other caller.
	kick(from *loop)
	// send writes output, or keeps it until the client takes it; an error says that the client is gone. held says
	// that b is still to be written, at the end of the owner's round, and must stay as it is until then; it never is
	// if now is set. Only the owner calls it.
	send(b []byte, now bool) (held bool, err error)
	// buffered returns the bytes of output that the client has not taken yet. Only the owner calls it.
	buffered() int
	// unsent is buffered without what the client may have taken without our knowing yet. Only the owner calls it.
	unsent() int
	// guardPeer makes a dead peer noticed within ms milliseconds; the executor calls it once, under its lock.
	guardPeer(ms int64)
	// hangUp closes the connection at once, whatever it is doing.
	hangUp()
	// attach tells the transport its session, before anybody else can know the session. Under the executor's lock.
	attach(s *session)
	// whileBusy gives the owner's other sessions their turn while a script of this one runs for long. Only the owner
	// calls it, without the executor's lock.
	whileBusy()
	// peerGone reports whether the client has closed its end: what is sent now will not be read. Only the owner
	// calls it.
	peerGone() bool
}

// session is one client: bytes in, bytes out. Nothing above it knows which transport carries them.
//
// The fields from decoder to unread belong to the owner, the loop or goroutine that reads from the connection.
// Everything else is only touched under the executor's lock.
type session struct {
	server    *Server
	transport transport
	decoder   resp.Decoder
	backlog   [][][]byte   // commands that were decoded but stand behind one that waits
	limits    *resp.Limits // those that the decoder has
	sent      int64        // bytes of output given to the transport
	unread    []grant      // what the client was given and may not have read yet
	owed      owed         // output that waits for the log
	leaving   bool         // nothing more is run; the connection is closed when nothing is owed any more

	out    resp.Writer
	db     *store.DB
	waiter *waiter // the command that waits, nil if none
	// granted is the waiter whose answer stands in out, if what it was given can be taken back.
	granted *waiter
	touched bool // stands in executor.touched
	// logged is the position of the log behind what the session wrote last; floor is one that its output has to wait
	// for, because what another client wrote made it.
	logged, floor int64

	held    bool // stands in pausing.held: the next command waits for the end of CLIENT PAUSE
	closing bool // no further command runs; the owner closes the connection when the output is out
	dead    bool // closed: it is in no list any more

	id            int64
	authenticated bool
	noTouch       bool
	noEvict       bool
	replies       replyMode
	guarded       bool // transport.guardPeer was called
	pendingBytes  int  // output that the transport held when it was last asked, and what it was given since

	info clientInfo
	// lastRow is the row of the running or last command, nil if there was no such command.
	lastRow *commands.Row
	multi   *transaction // since MULTI, nil outside
	spare   *transaction // an ended one, for the next MULTI
	// watched are the keys of WATCH; watchedChanged says that one of them is no longer as it was.
	watched        []*watch
	watchedChanged bool
	// subs is what the session is subscribed to; nil: nothing. inbox are messages that are still to be taken into out.
	subs       *subscriptions
	inbox      [][]byte
	inboxBytes int
	class      clientClass
	monitors   bool     // MONITOR
	tracker    *tracker // CLIENT TRACKING, nil while it is off
	// soft is set while the output is above the soft limit of client-output-buffer-limit.
	soft softLimit
	// renewals are the first of a list of the locks whose leases the server renews because this session holds them.
	renewals *renewal
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

// batch is room for decoded commands, reused by every batch of one owner.
type batch struct {
	args     [][]byte
	commands [][][]byte
	rows     [batchCommands]*commands.Row // of the commands, where already looked up
	keys     [batchCommands][]byte        // their first keys
	slots    [batchCommands]int           // where these probably are
	ahead    bool                         // slots are known, of the commands that have keys in their order
	out      []byte                       // room for replies
	rooms    rooms                        // of a loop, where out comes from
}

// rooms are pieces of memory for replies that a loop holds until the end of a round, and then uses again.
type rooms struct {
	loop       bool // the batch is a loop's: what it sends may be held
	free, used [][]byte
}

const (
	roomBytes = 32 << 10
	mostRooms = 16
)

// next is a piece for the replies that come; nil if the batch is no loop's.
func (r *rooms) next() []byte {
	if !r.loop {
		return nil
	}
	var room []byte
	if n := len(r.free); n > 0 {
		room, r.free = r.free[n-1], r.free[:n-1]
	} else {
		room = make([]byte, 0, roomBytes)
	}
	r.used = append(r.used, room)
	return room
}

// recycle ends a round: nothing that was sent is held any more.
func (b *batch) recycle() {
	b.out = nil
	r := &b.rooms
	r.free = append(r.free, r.used...)
	clear(r.used)
	r.used = r.used[:0]
	if len(r.free) > mostRooms {
		clear(r.free[mostRooms:])
		r.free = r.free[:mostRooms]
	}
}

// reuse takes the room of a reply back, or what is left behind it if the reply is still to be written.
func (b *batch) reuse(out []byte, held bool) {
	switch {
	case held && cap(out)-len(out) >= max(leastRoom, len(out)): // the next reply may be as long
		b.out = out[len(out):]
	case held || cap(out) > batchOutput:
		b.out = nil
	default:
		b.out = out[:0]
	}
}

// leastRoom is the least room for replies that is worth keeping.
const leastRoom = 1 << 10

// decode fills the batch with at most that many commands; more says that there may be another whole one behind them.
func (b *batch) decode(d *resp.Decoder, most int) (more bool, err error) {
	b.args, b.commands = b.args[:0], b.commands[:0]
	for len(b.commands) < most {
		from := len(b.args)
		args, ok, e := d.Next(b.args)
		if e != nil {
			err = e
			break
		}
		if !ok {
			break
		}
		b.args = args // perhaps elsewhere now: the commands before stay where they are
		b.commands = append(b.commands, args[from:len(args):len(args)])
	}
	return len(b.commands) == most, err
}

// feed takes what was read from the connection (nil: nothing, but go on), runs the commands in it, and sends the
// output. It returns true if the connection is to be closed. Only the owner calls it.
func (s *session) feed(data []byte, b *batch, from *loop) (hangUp bool) {
	if l := s.server.decoderLimits.Load(); l != s.limits {
		s.limits = l
		s.decoder.SetLimits(*l)
	}
	if len(s.owed.marks) > 0 {
		if s.settle() {
			return true
		}
		if s.leaving {
			return false
		}
	}
	if data != nil {
		s.decoder.Feed(data)
	}
	large := s.decoder.Pending() > largeInput
	for s.owed.bytes() < mostOwed {
		again, closing := s.slice(b, from)
		if closing {
			return true
		}
		if !again {
			break
		}
	}
	if s.decoder.Keep(); large {
		b.args, b.commands = nil, nil // they would keep the decoder's buffer alive
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
	s.backlog = nil
	if todo == nil {
		fresh = true
		most := batchCommands
		if !s.authenticated {
			most = 1 // the limits of the next command depend on whether this one logs in
		}
		again, err = b.decode(&s.decoder, most)
		todo = b.commands
	} else {
		again = true // the decoder may hold more
	}
	ex := &s.server.executor
	ex.mu.Lock()
	if s.dead || s.server.ending {
		ex.mu.Unlock()
		return false, true
	}
	if s.out.Buf == nil {
		if b.out == nil {
			b.out = b.rooms.next()
		}
		s.out.Buf = b.out[:0]
	}
	s.pendingBytes = s.transport.buffered() + s.owed.bytes()
	s.touched = false
	if s.soft.sinceMS != 0 && !ex.scripts.busy.on {
		s.judgeSoftLimit()
	}
	if !s.authenticated && s.server.config.RequirePass == "" {
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
	if len(s.inbox) > 0 {
		s.takeInbox()
	}
	due := int64(0)
	if s.server.aof != nil {
		due = s.server.aof.due(s)
	}
	out, granted, before := s.out.Buf, s.granted, s.pendingBytes
	s.pendingBytes += len(out) // until the transport is asked again
	s.out.Buf, s.granted = nil, nil
	hangUp = s.closing
	var touched []*session
	if !ex.scripts.busy.on {
		ex.round = from
		touched = ex.end()
	}
	ex.mu.Unlock()

	held := false
	switch {
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
	kick(touched, from)
	return again, hangUp
}

// runAll runs commands until one waits, the connection is to be closed, or the output is large; it returns how many
// it ran.
func (s *session) runAll(ex *executor, b *batch, todo [][][]byte) int {
	todo = todo[:min(len(todo), batchCommands)]
	rows := b.rows[:len(todo)]
	b.ahead = false
	next := 0 // in b.slots
	if len(todo) >= warmLeast && !ex.scripts.busy.on {
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
			if first := rows[i].FirstKey(); first > 0 && first < len(argv) {
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

// lookAhead finds the rows of a batch of commands, and lets the database fetch their first keys together, and the
// members that several of them look for at one key: pipelined look-ups then wait for memory once instead of one after
// the other.
func (b *batch) lookAhead(ex *executor, s *session, todo [][][]byte) {
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
		if first := row.FirstKey(); first > 0 && first < len(argv) {
			b.keys[n] = argv[first]
			n++
			if row.Removes() {
				removals++
			}
			if row.Member() > 0 {
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

// warmMembers looks ahead for the commands at the beginning of todo that name a member of the same key, and returns how
// many they are, at least 1.
func (b *batch) warmMembers(s *session, todo [][][]byte, rows []*commands.Row) int {
	if rows[0] == nil || rows[0].Member() == 0 {
		return 1
	}
	key := todo[0][rows[0].Member()-1]
	n := 0
	for n < len(todo) && rows[n] != nil && rows[n].Member() > 0 {
		at := rows[n].Member()
		if string(todo[n][at-1]) != string(key) {
			break
		}
		b.keys[n] = todo[n][at]
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
