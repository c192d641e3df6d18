package server

import (
	"time"

	"lockserver/persistence/aof"
)

// loop is one event loop: a goroutine that reads from its connections, runs the commands it has read,
// and writes the replies, with no hop to another goroutine. What drives it is in loop_epoll.go on
// Linux and in loop_gnet.go elsewhere.
type loop struct {
	batch *batch
	// queue are connections of this loop that were kicked from it; they are pumped before it reads on.
	queue []*loopConn
	// unflushed is the log that has got something in this round, nil if none has.
	unflushed *aof.Log

	driver loopDriver
}

// kick implements transport: from the same loop it costs an append, from elsewhere the loop is woken.
func (t *loopConn) kick(from *loop) {
	if from == t.loop {
		from.queue = append(from.queue, t)
		return
	}
	t.wake()
}

// drain pumps the connections that were kicked from this loop.
func (l *loop) drain() {
	for i := 0; i < len(l.queue); i++ {
		l.queue[i].kicked()
		l.queue[i] = nil
	}
	l.queue = l.queue[:0]
}

// flush sees to it that what the round has logged is written, before the output that it has held leaves.
func (l *loop) flush() {
	if l.unflushed != nil {
		l.unflushed.Flush()
		l.unflushed = nil
	}
}

// keepAliveOf turns milliseconds into a duration; 0 switches keepalive off.
func keepAliveOf(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }
