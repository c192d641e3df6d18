//go:build linux

package transport

// Loop is an event loop: a goroutine that reads from its connections, feeds their sessions, and writes their
// output, without passing work to another goroutine. Its driver is in loop_epoll.go.
type Loop struct {
	scratch Scratch
	// queue holds connections of this loop that the loop itself has woken. They are pumped before it reads
	// on.
	queue []*loopConn
	// late holds woken connections with their turn at the end of the round.
	late []*loopConn
	// ahead counts the woken connections that were pumped in this round: see release.
	ahead int
	// unflushed is flushed at the end of this round, or nil.
	unflushed Flusher

	driver loopDriver
}

// FlushAtEnd flushes f at the end of the round, before the loop sends the held output. Only a session that
// the loop is feeding calls it.
func (l *Loop) FlushAtEnd(f Flusher) { l.unflushed = f }

// Wake implements Conn. From the same loop it only appends to queue; from elsewhere it wakes the loop.
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

// drain pumps the connections that this loop has woken, each once in a round. A connection that is woken
// again has its next turn in the next round. So connections that wake themselves, or each other, do not delay
// the others.
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

// flush flushes the log before the loop sends the held output of the round, and pumps the connections that
// were woken for the end of the round.
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
