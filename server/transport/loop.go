//go:build linux

package transport

// Loop is one event loop: a goroutine that reads from its connections, feeds their sessions, and writes
// what these send, with no hop to another goroutine. What drives it is in loop_epoll.go.
type Loop struct {
	scratch Scratch
	// queue has connections of this loop that the loop itself has woken; they are pumped before it reads on.
	queue []*loopConn
	// late has those of them that were woken for the end of the round.
	late []*loopConn
	// ahead is how many of them were pumped in this round: see release.
	ahead int
	// unflushed is what is to be flushed at the end of this round, nil if nothing is.
	unflushed Flusher

	driver loopDriver
}

// FlushAtEnd has f flushed at the end of the round, before the output leaves that the round has held. Only a
// session that the loop is feeding calls it.
func (l *Loop) FlushAtEnd(f Flusher) { l.unflushed = f }

// The implementation of Conn: from the same loop it costs an append, from elsewhere the loop is woken.
func (t *loopConn) Wake(from *Loop) {
	// plant:same-loop
	if from == t.loop {
		from.queue = append(from.queue, t)
		return
	}
	t.wake()
}

// WakeAtEnd implements Conn.
func (t *loopConn) WakeAtEnd(from *Loop) {
	if from == t.loop {
		from.late = append(from.late, t)
		return
	}
	t.wake()
}

// drain pumps the connections that this loop has woken, each once in a round. One that is woken again has its
// next turn in the next round. Connections that wake themselves, or each other, must not keep the others
// waiting.
func (l *Loop) drain() {
	round := l.driver.round
	for i := 0; i < len(l.queue); i++ {
		c := l.queue[i]
		l.queue[i] = nil
		if c.drained == round+1 {
			c.wake()
			continue
		}
		c.drained = round + 1
		l.ahead++
		c.woken()
	}
	l.queue = l.queue[:0]
}

// flush writes what must be written before the held output of the round leaves, and pumps the connections
// that were woken for the end of the round.
func (l *Loop) flush() {
	l.flushLog()
	if len(l.late) == 0 {
		return
	}
	for i := 0; i < len(l.late); i++ {
		l.late[i].woken()
		l.late[i] = nil
	}
	l.late = l.late[:0]
	l.drain()
	l.flushLog()
}

func (l *Loop) flushLog() {
	if l.unflushed != nil {
		l.unflushed.Flush()
		l.unflushed = nil
	}
}
