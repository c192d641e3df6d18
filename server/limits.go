package server

import (
	"math"
	"sync/atomic"
	"time"

	"lockserver/internal/config"
	"lockserver/internal/resp"
)

// limits are directives about connections in the form in which the hot path uses them.
type limits struct {
	keepAlive time.Duration
	outputs   [clientClasses]outputLimit
	// coalesceUS is the directive io-coalesce-usec, which event loops read once a round.
	coalesceUS atomic.Int64
	// decoder are what every session's decoder has to obey, from the next read on.
	decoder atomic.Pointer[resp.Limits]
}

// configure follows the directives.
func (l *limits) configure(c *config.Config) {
	l.keepAlive = time.Duration(c.TCPKeepaliveMS) * time.Millisecond
	l.outputs = newOutputLimits(&c.ClientOutputBufferLimit)
	l.coalesceUS.Store(c.IOCoalesceUS)
	l.decoder.Store(&resp.Limits{MaxBulk: c.ProtoMaxBulkLen, MaxQuery: c.ClientQueryBufferLimit})
}

// clientClass is what kind of client client-output-buffer-limit takes a session for.
type clientClass uint8

const (
	classNormal  clientClass = iota
	classReplica             // its output is the history: package replication bounds how far behind it may be
	classPubSub              // is subscribed to something
	clientClasses
)

// String is the class as CLIENT LIST TYPE knows it.
func (c clientClass) String() string { return [...]string{"normal", "replica", "pubsub"}[c] }

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
		classNormal:  newOutputLimit(l.Normal, pushed),
		classReplica: newOutputLimit(config.OutputLimit{}, math.MaxInt),
		classPubSub:  newOutputLimit(l.PubSub, math.MaxInt),
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

// unauthInput is how much input of a client that has to log in is kept while its output waits.
const unauthInput = 16 << 10
