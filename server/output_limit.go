package server

import (
	"math"

	"lockserver/internal/config"
)

// clientClass is what kind of client client-output-buffer-limit takes a session for.
type clientClass uint8

const (
	classNormal clientClass = iota
	classPubSub             // is subscribed to something
	clientClasses
)

// String is the class as CLIENT LIST TYPE knows it.
func (c clientClass) String() string { return [...]string{"normal", "pubsub"}[c] }

// outputLimit is what client-output-buffer-limit says of one class.
type outputLimit struct {
	config.OutputLimit
	least int64 // up to this many bytes no limit is passed
	// pushed is how much of it may be what others have sent to a client that does not read:
	// flow control cannot stop them.
	pushed int
}

// newOutputLimits are the limits of all classes. What monitors and those who track do not read is bounded
// like the messages of subscribers, although they are normal clients.
func newOutputLimits(l *config.OutputLimits) [clientClasses]outputLimit {
	pushed := math.MaxInt
	if l.PubSub.HardBytes > 0 {
		pushed = int(min(l.PubSub.HardBytes, math.MaxInt))
	}
	return [...]outputLimit{
		classNormal: newOutputLimit(l.Normal, pushed),
		classPubSub: newOutputLimit(l.PubSub, math.MaxInt),
	}
}

func newOutputLimit(l config.OutputLimit, pushed int) outputLimit {
	o := outputLimit{l, math.MaxInt64, pushed}
	for _, bytes := range []int64{l.HardBytes, l.SoftBytes} {
		if bytes > 0 {
			o.least = min(o.least, bytes)
		}
	}
	return o
}

// softLimit is since when a session's output has been above its soft limit.
type softLimit struct {
	sinceMS int64 // 0: it is not
	timer   timer // when it will have been for too long
}

// outputBytes is how much output the client has not taken yet.
func (s *session) outputBytes() int { return s.pendingBytes + len(s.out.Buf) + s.inboxBytes }

// outputTooLarge reports whether the client's unread output has passed client-output-buffer-limit: the hard
// limit, or the soft one for too long. Output that has just passed the soft limit is given its time.
func (s *session) outputTooLarge() bool {
	limit := &s.executor.outputLimits[s.class]
	bytes := int64(s.outputBytes())
	return bytes > limit.least && s.passesLimit(limit, bytes) || s.inboxBytes > limit.pushed
}

func (s *session) passesLimit(limit *outputLimit, bytes int64) bool {
	if limit.HardBytes > 0 && bytes > limit.HardBytes {
		return true
	}
	if limit.SoftBytes == 0 || bytes <= limit.SoftBytes {
		return false
	}
	ex := s.executor
	nowMS := ex.store.NowMS()
	if s.soft.sinceMS == 0 {
		s.soft.sinceMS = nowMS
		s.soft.timer.Of = s
		ex.timers.set(&s.soft.timer, nowMS+limit.SoftMS)
		return false
	}
	return nowMS-s.soft.sinceMS >= limit.SoftMS
}

// checkOutput condemns a session whose unread output is too large.
func (s *session) checkOutput() {
	if s.outputTooLarge() {
		s.condemnForOutput()
	}
}

func (s *session) condemnForOutput() {
	if s.condemned {
		return
	}
	s.executor.log.Warn("closing a client whose output buffer passed its limit", "client", s.id, "class", s.class.String(),
		"bytes", s.outputBytes())
	s.executor.condemn(s)
}

// notableOutput is how much output that may wait for the client is worth another look after sending.
const notableOutput = 16 << 10

// noteOutput learns what the connection still holds after sending. The owner calls it.
func (s *session) noteOutput() {
	s.control(mostUnsent)
	bytes := s.unsentBytes()
	ex := s.executor
	ex.mu.Lock()
	defer ex.damaging()
	if s.pendingBytes = bytes; !s.dead && !ex.busy.on {
		ex.begin()
		s.checkOutput()
		ex.endUnit()
	}
	var touched []*session
	if !ex.busy.on {
		touched = ex.end()
	}
	ex.mu.Unlock()
	kick(touched, nil)
}

// fire implements firer: the output has been above the soft limit for its time. What the connection still
// holds only the session's owner can tell, so it is sent for.
func (s *session) fire(ex *executor) { ex.touch(s) }

// judgeSoftLimit closes a client whose output has been above its soft limit for too long, and begins anew
// with one that has read. The owner calls it, having asked its connection what it holds.
func (s *session) judgeSoftLimit() {
	ex := s.executor
	ex.begin()
	limit := &s.executor.outputLimits[s.class]
	bytes := int64(s.outputBytes()) // with what this batch is going to send
	if limit.SoftBytes == 0 || bytes <= limit.SoftBytes {
		s.soft.sinceMS = 0
		ex.timers.stop(&s.soft.timer)
		return
	}
	if s.passesLimit(limit, bytes) {
		s.condemnForOutput()
		ex.endUnit()
	}
}
