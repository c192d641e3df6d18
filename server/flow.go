package server

import "lockserver/server/wait"

// Flow control. A client may send requests faster than it reads replies, and a pipeline of small requests may
// ask for gigabytes. When a session's unsent output has passed mostUnsent, it runs no further command until
// the client, or the disk that the output waits for, has taken some of it. Its input is read on meanwhile, so
// that a client which sends everything before it reads anything gets to its end; it is kept as it came, up to
// client-query-buffer-limit. Beyond that the connection is not read from any more, and the client's own sends
// have to wait. No connection is closed for that.
//
// One reply, or that of one transaction, may be of any size. Messages of others to a stalled session
// (PUBLISH, lines of MONITOR, invalidations) stay in its inbox, where many share the bytes. They have limits
// of their own: see outputLimit.

const (
	// mostUnsent is how much output may wait before no further command runs.
	mostUnsent = 4 << 20
	// resumeUnsent is how much of it may be left when commands run again. In between the client reads: it
	// does not have to wait for the next reply.
	resumeUnsent = mostUnsent / 2
	// unauthUnsent is mostUnsent for a client that has to log in.
	unauthUnsent = 16 << 10
)

// control looks at the output that is on its way and decides whether commands may run; limit is how much
// there may be. Only the owner calls it.
func (s *session) control(limit int) {
	resume := resumeUnsent
	if !s.authenticated {
		resume = unauthUnsent / 2
		limit = min(limit, unauthUnsent)
	}
	s.output.Control(limit, resume)
}

// InputFull implements transport.Session: there are commands that may not run yet, and a read of readBytes
// could pass client-query-buffer-limit.
func (s *session) InputFull(readBytes int) bool {
	if !s.output.Stalled && !s.turn.behind {
		return false
	}
	bytes := s.in.decoder.Pending() + readBytes
	if s.in.backlog != nil {
		bytes += s.memory.Backlog
	}
	if !s.authenticated {
		return bytes > unauthInput
	}
	// A session that is not stalled will run what it has, so there is no reason to keep more. On a connection
	// with goroutines it may have to wait until its client reads.
	return int64(bytes) > s.in.limits.MaxQuery || s.onLoop && !s.output.Stalled && bytes > mostBehind
}

// mostBehind is how much input is kept of a session that has its turns. To copy megabytes of it into a larger
// buffer takes milliseconds.
// It is twice what a read brings. So at most half of the decoder's buffer is in use when the next read comes,
// and the buffer is kept. With four times of it nearly each read needed another buffer.
const mostBehind = 128 << 10

// outputBytes is how much output the client has not taken yet.
func (s *session) outputBytes() int { return s.pendingBytes + len(s.Out.Buf) + s.inbox.Bytes() }

// outputTooLarge reports whether the client's unread output has passed client-output-buffer-limit: the hard
// limit, or the soft one for too long. Output that has just passed the soft limit is given its time.
func (s *session) outputTooLarge() bool {
	limit := &s.executor.limits.outputs[s.class]
	bytes := int64(s.outputBytes())
	return bytes > limit.least && s.passesLimit(limit, bytes) || s.inbox.Bytes() > limit.pushed
}

func (s *session) passesLimit(limit *outputLimit, bytes int64) bool {
	if limit.HardBytes > 0 && bytes > limit.HardBytes {
		return true
	}
	if limit.SoftBytes == 0 || bytes <= limit.SoftBytes {
		return false
	}
	ex := s.executor
	nowMS := ex.Store.NowMS()
	if s.soft.sinceMS == 0 {
		s.soft.sinceMS = nowMS
		s.soft.timer.Of = s
		ex.Timers.Set(&s.soft.timer, nowMS+limit.SoftMS)
		return false
	}
	return nowMS-s.soft.sinceMS >= limit.SoftMS
}

// checkOutput marks a session for closing if its unread output is too large.
func (s *session) checkOutput() {
	if s.outputTooLarge() {
		s.terminateForOutput()
	}
}

func (s *session) terminateForOutput() {
	if s.Terminated {
		return
	}
	s.executor.counts.largeOutputs++
	s.executor.Logger.Warn("closing a client: its output buffer passed the limit", "client", s.Number, "class", s.class.String(),
		"bytes", s.outputBytes())
	s.executor.terminate(s)
}

// notableOutput is how much output that may wait for the client is worth another look after sending.
const notableOutput = 16 << 10

// measureOutput asks how much output the connection still holds after it was given a number of bytes. The
// owner calls it.
func (s *session) measureOutput(given int) {
	s.control(mostUnsent)
	bytes := s.output.Unsent()
	ex := s.executor
	ex.Mu.Lock()
	defer ex.Damaging()
	s.pendingBytes, s.memory.Unsent, s.memory.Fresh = bytes, bytes, min(given, bytes)
	s.recount()
	if !s.Dead && !ex.Busy.On {
		ex.Begin()
		s.checkOutput()
		if ex.Memory.Clients.Over() {
			ex.evictClients()
		}
		ex.EndUnit()
	}
	var touched []*wait.Party
	if !ex.Busy.On {
		touched = ex.End()
	}
	ex.Mu.Unlock()
	wakeAll(touched, nil)
}

// Fire implements due.Firer: the output has been above the soft limit for its time. Only the owner of the
// session can tell what the connection still holds, so it is woken.
func (s *session) Fire() { s.executor.Touch(&s.Party) }

// judgeSoftLimit closes a client with output that has been above its soft limit for too long. It starts the
// time anew for a client that has read. The owner calls it after it has asked its connection for the size of
// the output.
func (s *session) judgeSoftLimit() {
	ex := s.executor
	ex.Begin()
	limit := &s.executor.limits.outputs[s.class]
	bytes := int64(s.outputBytes()) // with what this batch is going to send
	if limit.SoftBytes == 0 || bytes <= limit.SoftBytes {
		s.soft.sinceMS = 0
		ex.Timers.Remove(&s.soft.timer)
		return
	}
	if s.passesLimit(limit, bytes) {
		s.terminateForOutput()
		ex.EndUnit()
	}
}

// deliver puts a message into a session's inbox. Others share its bytes, unless the caller uses them again:
// then they are copied. If the session's output becomes too large, it is marked for closing.
func (ex *executor) deliver(s *session, b []byte, again bool) {
	if s.Terminated {
		return
	}
	if again {
		s.inbox.AddCopy(b)
	} else {
		s.inbox.Add(b)
	}
	s.Tells = true
	ex.Touch(&s.Party)
	s.checkOutput()
}

// afterReply drops a reply that the client does not want and closes on a client that takes none.
func (s *session) afterReply(mark int) {
	s.mute.after(&s.Out, mark)
	s.checkOutput()
}
