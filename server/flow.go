package server

// Flow control. A client may send requests faster than it reads replies, and a pipeline of small requests
// may ask for gigabytes. When a session's unsent output has passed mostUnsent, it runs no further command
// until the client, or the disk that the output waits for, has taken some of it. Its input is read on
// meanwhile, so that a client which sends everything before it reads anything gets to its end; it is kept
// as it came, up to client-query-buffer-limit. Beyond that the connection is not read from any more, and
// the client's own sends have to wait. Nobody is closed.
//
// One reply, or that of one transaction, may be of any size. What others send to a stalled session
// (messages, lines of MONITOR, invalidations) stays in its inbox, where many share the bytes, and has
// limits of its own: see output_limit.go.

const (
	// mostUnsent is how much output may wait before no further command runs.
	mostUnsent = 4 << 20
	// resumeUnsent is how much of it may be left when commands run again. In between the client reads: it
	// does not have to wait for the next reply.
	resumeUnsent = mostUnsent / 2
	// feedSlices is how many slices a session has before its event loop's other connections get their turn.
	// What one read brings is less; a session that was stalled may have much more.
	feedSlices = 128
)

// unsentBytes is how much output is on its way to the client. Only the owner calls it.
func (s *session) unsentBytes() int { return s.conn.Buffered() + s.pending.bytes() }

// control looks at the output that is on its way and decides whether commands may run; limit is how much
// there may be. If they may not, the owner feeds again when it is time to look: by the connection,
// or by the gate if it is the disk that is slow. Only the owner calls it.
func (s *session) control(limit int) {
	for {
		unsent := s.conn.Buffered()
		s.stalled = unsent+s.pending.bytes() > limit
		if !s.stalled || unsent <= resumeUnsent || s.conn.AwaitDrain(resumeUnsent) {
			return
		}
	}
}

// InputFull implements transport.Session: there are commands that may not run yet, and a read of so many
// bytes could pass client-query-buffer-limit.
func (s *session) InputFull(readBytes int) bool {
	if !s.stalled && !s.behind {
		return false
	}
	bytes := s.decoder.Pending() + readBytes
	if s.backlog != nil {
		bytes += s.backlogBytes
	}
	return int64(bytes) > s.limits.MaxQuery
}
