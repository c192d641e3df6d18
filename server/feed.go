package server

import (
	"errors"
	"math"

	"lockserver/commands"
	"lockserver/internal/resp"
	"lockserver/server/output"
	"lockserver/server/replication"
	"lockserver/server/transport"
	"lockserver/server/wait"
	"lockserver/store"
)

// The way of a session's input: what was read becomes commands (nextWork), a batch of them runs in one hold
// of the executor (runBatch), and the replies are sent (sendResult), or laid aside (send.go). A panic on
// this way costs the connection (contain): see panic.go.

// Feed implements transport.Session: it runs the commands in what was read, and sends the output.
func (s *session) Feed(data []byte, scratch transport.Scratch, from *transport.Loop) (hangUp bool) {
	b := scratch.(*batch)
	defer s.contain(b, from, &hangUp)
	if r := s.link.follower.Load(); r != nil && !s.link.asClient {
		return s.feedReplica(r, data, scratch, from)
	}
	if l := s.executor.limits.decoder.Load(); l != s.in.limits {
		s.in.limits = l
		s.in.decoder.SetLimits(*l)
	}
	if s.output.Keeps() || s.output.Leaving {
		if s.output.SendKept() {
			return true
		}
		if s.output.Leaving {
			return false
		}
	}
	if s.output.Stalled {
		s.control(resumeUnsent)
	}
	if data != nil {
		s.in.decoder.Feed(data)
		s.in.fed = len(data)
	}
	s.onLoop = from != nil
	s.in.bytes = s.in.decoder.Pending()
	if len(s.in.backlog) == 0 || s.in.bytes > s.in.most {
		s.in.most = s.in.bytes
	}
	large := s.in.bytes > largeInput
	s.turn.behind = true
	left := feedSlices * batchCommands
	if !s.authenticated {
		left = unauthSlices * batchCommands
	}
	for s.turn.behind && left > 0 {
		var cost int
		if s.turn.behind, cost, hangUp = s.slice(b, from); hangUp {
			return true
		}
		if from == nil { // no other connection waits for its goroutines
			cost = batchCommands
		}
		left -= cost
	}
	if s.in.decoder.Keep(); large {
		b.args, b.commands = nil, nil // they would keep the decoder's buffer alive
	}
	switch {
	case s.turn.behind:
		s.output.Conn.Wake(nil) // in the loop's next round
	case s.in.ended && !s.output.Stalled:
		s.output.Leaving = true
		return s.output.SendKept()
	}
	return false
}

// feedReplica is Feed for a replica, which is sent the history, behind what it still gets as a client. Most
// of the time it has sent nothing.
func (s *session) feedReplica(r *replication.Replica, data []byte, scratch transport.Scratch, from *transport.Loop) (hangUp bool) {
	if len(data) > 0 {
		r.Heard(data)
	}
	if len(data) > 0 || !r.Awake() || s.in.decoder.Pending() > 0 || s.in.backlog != nil || s.output.Keeps() || s.output.Leaving || s.output.Stalled {
		s.link.asClient = true
		hangUp = s.Feed(data, scratch, from)
		s.link.asClient = false
	}
	return hangUp || !s.output.Keeps() && r.Send(s.output.Conn)
}

// largeInput is the size of a read buffer beyond which it is not kept for the sake of what points into it.
const largeInput = 256 << 10

// feedSlices is how many slices a session has before its event loop's other connections get their turn.
// A session that was stalled may have very many. If its commands end waits, or have large replies, it has
// fewer. A client that sends a request every few milliseconds falls behind if each turn of another one takes
// longer, and its delay grows as long as there is such work.
const feedSlices = 8

// bytesPerCost is how many bytes of output cost about as much as a plain command.
const bytesPerCost = 1 << 10

// sliceOutcomes is how many outcomes of waits end a slice.
const sliceOutcomes = 16

// feedOutcomeCost is the cost of an outcome in a turn, in plain commands. A slice of outcomes is a whole
// turn: each outcome may be about a lock that no cache of the processor holds.
const feedOutcomeCost = feedSlices * batchCommands / sliceOutcomes

// unauthSlices is feedSlices for clients that have to log in, with a command each. However much such clients
// send, authenticated clients get their turn.
const unauthSlices = 4

// slice decodes and runs one batch, and sends the replies. again says that the session has more to do, and
// cost is the cost of the slice, in plain commands.
func (s *session) slice(b *batch, from *transport.Loop) (again bool, cost int, hangUp bool) {
	w := s.nextWork(b)
	ex := s.executor
	ex.Mu.Lock()
	if s.Dead || ex.Ending {
		ex.Mu.Unlock()
		return false, 0, true
	}
	s.stage = within
	s.beginSlice(b)
	ran, outcomes := 0, ex.Waits.Outcomes
	if len(w.todo) > 0 && s.inbox.Bytes() <= batchOutput { // otherwise that leaves first
		ran = s.runBatch(ex, b, w.todo)
	}
	outcomes = ex.Waits.Outcomes - outcomes
	s.turn.endedWaits = outcomes >= sliceOutcomes
	again = s.endWork(&w, ran)
	r := s.endSlice(from)
	again = again || r.more
	cost = batchCommands + feedOutcomeCost*outcomes + len(r.out)/bytesPerCost
	s.stage = aside
	ex.Mu.Unlock()

	hangUp = s.sendResult(b, &r)
	// plant:keep-commands
	if ran < len(w.todo) && !hangUp {
		s.in.keep(w.todo[ran:], w.fresh)
	}
	if r.touched != nil {
		s.toWake = nil
		wakeAll(r.touched, from)
	}
	return again && !s.output.Stalled, cost, hangUp
}

// work holds the commands of a slice. They waited behind another command, or come from the decoder.
type work struct {
	todo  [][][]byte
	fresh bool  // they point into the decoder's buffer
	more  bool  // there may be others behind them
	err   error // the decoder's error in place of the next command
}

// nextWork takes the commands that the next slice runs. A stalled session runs none, but may have
// something to send.
func (s *session) nextWork(b *batch) (w work) {
	switch {
	case s.output.Stalled:
	case s.in.backlog != nil:
		w.todo, w.more = s.in.backlog, true // the decoder may hold more
		s.in.backlog = nil
	default:
		most := batchCommands
		if s.turn.endedWaits { // those that cannot run in this slice would have to be copied
			most = sliceOutcomes
		}
		if !s.authenticated {
			most = 1 // the limits of the next command depend on whether this one logs in
		}
		w.fresh = true
		w.more, w.err = b.decode(&s.in.decoder, most)
		w.todo = b.commands
	}
	return w
}

// beginSlice makes the session ready to run commands. Under the executor's lock.
func (s *session) beginSlice(b *batch) {
	if s.Out.Buf == nil {
		if b.out == nil {
			b.out = b.buffers.next()
		}
		s.Out.Buf = b.out[:0]
	}
	s.pendingBytes = s.output.Unsent()
	s.memory.Unsent, s.memory.Fresh = s.pendingBytes, 0
	book := &s.executor.Stats
	if s.in.fed > 0 {
		book.Traffic.Read(s.in.fed)
		s.in.fed = 0
	}
	book.Buffers.Sample(s.in.bytes, s.pendingBytes+s.inbox.Bytes())
	s.in.bytes = 0
	s.Touched = false
	if s.soft.sinceMS != 0 && !s.executor.Busy.On {
		s.judgeSoftLimit()
	}
	if !s.loggedIn {
		s.followDefault()
	}
}

// endWork looks at the commands that are left after the first ran commands, and reports whether the session
// can go on at once. Under the executor's lock.
func (s *session) endWork(w *work, ran int) (again bool) {
	if len(w.todo) > 0 {
		s.memory.Backlog = textBytes(w.todo[ran:]...)
	}
	again = w.more
	if ran < len(w.todo) {
		again = s.Waiter == nil && !s.Closing && !s.Held
	} else if w.err != nil && s.Waiter == nil && !s.Closing {
		var broken resp.ProtocolError
		if errors.As(w.err, &broken) {
			s.Out.Error(broken.Reply())
		} else { // Redis closes on too long a query without a word
			s.executor.counts.longQueries++
		}
		s.Closing = true
	}
	return again && s.Waiter == nil
}

// result holds the work of a slice that its session's owner does without the executor's lock.
type result struct {
	out        []byte
	granted    *wait.Parked // its answer is in out
	needs      output.Needs // what out has to wait for
	before     int          // bytes of output that were already on their way
	terminated bool
	hangUp     bool
	more       bool // there are more messages to be taken into the output
	touched    []*wait.Party
}

// endSlice takes the session's output, and the executor's word for others. Under the executor's lock.
func (s *session) endSlice(from *transport.Loop) (r result) {
	ex := s.executor
	if ex.tracking.InUse() && !ex.Busy.On {
		ex.endTracking()
	}
	if s.inbox.Len() > 0 && !s.output.Stalled {
		most := batchOutput - len(s.Out.Buf)
		if s.Closing {
			most = math.MaxInt
		}
		s.takeMessages(most)
		r.more = s.inbox.Len() > 0
	}
	s.recount()
	if ex.Memory.Clients.Over() {
		ex.evictClients()
	}
	if log := ex.Durable.Log(); log != nil {
		r.needs.Log = log.Due(&s.Mark)
	}
	if s.Tells && ex.Acks.Needed {
		r.needs.Copied = ex.copiesDue(s)
	}
	s.Tells = false
	r.out, r.granted, r.before, r.terminated = s.Out.Buf, s.Granted, s.pendingBytes, s.Terminated
	s.pendingBytes += len(r.out) // until the connection is asked again
	if len(r.out) > 0 && !r.terminated {
		ex.Stats.Traffic.Write(len(r.out))
	}
	s.Out.Buf = nil
	if !s.Terminated {
		s.Granted = nil
	}
	r.hangUp = s.Closing
	if !ex.Busy.On {
		ex.Round = from
		if r.touched = ex.End(); r.touched != nil {
			s.toWake = r.touched
		}
	}
	return r
}

// sendResult sends what a slice made, or keeps it until the log is on disk, and gives the batch its buffer
// back. It returns true if the connection is to be closed.
func (s *session) sendResult(b *batch, r *result) (hangUp bool) {
	hangUp = r.hangUp
	held := false
	switch {
	case r.terminated: // it is sent nothing more, and what it was granted is taken back
		r.out = r.out[:0]
	case r.needs.Any() || s.output.Keeps():
		hangUp = s.output.SendLater(r.out, r.granted, r.needs, hangUp)
		if r.before+len(r.out) > notableOutput && !hangUp {
			s.measureOutput(len(r.out))
		}
	case r.granted != nil:
		s.output.Hand(r.out, r.granted)
	case len(r.out) > 0:
		var err error
		held, err = s.output.Send(r.out)
		hangUp = hangUp || err != nil
		if r.before+len(r.out) > notableOutput && !hangUp {
			s.measureOutput(len(r.out))
		}
	}
	b.reuse(r.out, held)
	return hangUp
}

// runBatch runs a batch as a slice of the executor's time. While a script is busy the slice is the script's,
// and goes on behind what is refused here.
func (s *session) runBatch(ex *executor, b *batch, todo [][][]byte) (ran int) {
	if ex.Busy.On {
		return s.runBetween(ex, b, todo)
	}
	ex.Begin()
	if book := &ex.Stats; book.Rates.Due(ex.Store.NowUS()) {
		meter{ex}.sampleRates()
	}
	if ex.Memory.Pressure.IsFull() && !ex.Store.Full() {
		ex.NotFull()
	}
	if ex.Waits.Queues.Len() > 0 {
		ex.EndLeases()
	}
	if ex.Store.AlarmDue(store.HoldAlarm) || ex.Store.AlarmDue(store.DelayAlarm) {
		ex.FireAlarms()
	}
	s.Info.LastUS = ex.Store.NowUS()
	ex.Gauge.BeginBatch()
	ran = s.runBetween(ex, b, todo)
	meter{ex}.endBatch(s, todo[:ran])
	return ran
}

// runBetween is runAll; a panic in it ends the connection.
func (s *session) runBetween(ex *executor, b *batch, todo [][][]byte) (ran int) {
	s.stage = between
	ran = s.runAll(ex, b, todo)
	s.stage = within
	return ran
}

// runAll runs commands until one waits or takes long, the connection is to be closed, the output is large, or
// many waits have ended; it returns how many it ran.
func (s *session) runAll(ex *executor, b *batch, todo [][][]byte) int {
	todo = todo[:min(len(todo), batchCommands)]
	rows := b.rows[:len(todo)]
	b.ahead = false
	ex.Waits.MostOutcomes = ex.Waits.Outcomes + sliceOutcomes
	next := 0 // in b.slots
	if len(todo) >= prefetchLeast && !s.in.noLookAhead && !ex.Busy.On {
		b.lookAhead(ex, s, todo)
	} else {
		clear(rows)
	}
	ex.fastPath = s.takesFastPath()
	ex.PlainSlice = ex.fastPath && !ex.tracking.InUse()
	for i, argv := range todo {
		if s.Waiter != nil || s.Closing || len(s.Out.Buf) >= batchOutput || ex.Waits.Outcomes >= ex.Waits.MostOutcomes || ex.Failed != nil {
			s.Closing = s.Closing || ex.Failed != nil
			return i
		}
		if b.ahead && rows[i] != nil {
			if _, ok := rows[i].FirstKeyIn(argv); ok { // those with prefetched keys, in their order
				s.DB.Expect(b.slots[next])
				next++
			}
		}
		if ex.run(s, rows[i], argv) {
			return i
		}
	}
	return len(todo)
}

// keep puts commands that could not run yet aside. Fresh ones point into the read buffer and are copied.
func (in *intake) keep(rest [][][]byte, fresh bool) {
	if !fresh {
		in.backlog = rest
		return
	}
	in.backlog = make([][][]byte, len(rest))
	for i, argv := range rest {
		in.backlog[i] = commands.CloneAll(argv)
	}
}

// contain is deferred by Feed. It makes a panic end the connection instead of the process.
func (s *session) contain(b *batch, from *transport.Loop, hangUp *bool) {
	if p := recover(); p != nil {
		if s.stage == within {
			s.executor.Damaged(p)
		}
		s.Panicked(p)
		s.abandon(b, from)
		*hangUp = true
	}
}

// abandon makes everything as if the session's owner had come to an end where it panicked. The unit is ended
// and the lock released. Output of the session is dropped. Grants
// stay, because they are taken back.
func (s *session) abandon(b *batch, from *transport.Loop) {
	ex := s.executor
	defer ex.Damaging()
	if s.stage == aside {
		ex.Mu.Lock()
		if !ex.Busy.On {
			ex.Begin()
		}
	}
	s.stage = within
	s.Closing = true
	s.Out.Buf = nil
	s.in.decoder, s.in.backlog = resp.Decoder{}, nil
	ex.Store.SetNoTouch(false)
	var touched []*wait.Party
	if !ex.Busy.On {
		ex.EndUnit()
		touched = ex.End()
	}
	s.stage = aside
	ex.Mu.Unlock()
	b.forget()
	wakeAll(s.toWake, from)
	s.toWake = nil
	wakeAll(touched, from)
}
