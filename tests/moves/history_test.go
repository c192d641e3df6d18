//go:build raft && linux

package moves

import (
	"fmt"
	"os"
	"testing"

	"lockserver/tests/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.Main(m.Run)) }

// act is the kind of a request.
type act uint8

const (
	take    act = iota // LOCK, until the owner knows its token
	renew              // RENEW
	release            // UNLOCK
	write              // GUARD of a write with the token: to the list of tokens
	number             // GUARD of a write with the token: the number that was read, plus one
	count              // INCR
	read               // GET of the number that is counted up
	push               // RPUSH of a value that is sent once
	order              // SECKILL
	undo               // SECKILL.CANCEL
	confirm            // SECKILL.CONFIRM
	plan               // DELAY.ADD
	drop               // DELAY.CANCEL
	keep               // SET with PX
	look               // GET of that key
)

func (a act) String() string {
	return [...]string{"take", "renew", "release", "write", "number", "count", "read", "push", "order", "undo", "confirm", "plan", "drop", "keep", "look"}[a]
}

// outcome says whether a request had an effect, as far as the client knows.
type outcome uint8

const (
	done    outcome = iota // there is a reply
	refused                // it has changed nothing
	unknown                // there was no reply: it may have an effect, also later
)

func (o outcome) String() string { return [...]string{"done", "refused", "unknown"}[o] }

// event is a request of a client and its reply. A request that was sent until it had a reply is one event.
type event struct {
	act     act
	outcome outcome
	who     int    // the client
	id      string // the owner, the order, the entry or the value
	// n is the reply: the token, the number, or 1 and 0 for yes and no. For plan it is the earliest time at
	// which the entry may be added, in Unix milliseconds.
	n int64
	// first is when the request was sent first. call is when it was sent last, ret when its reply came. They
	// are microseconds since the begin.
	first, call, ret int64
	leaseUS          int64 // the length of the lease that began at call or later; 0: not known
	queuedUS         int64 // for take: when the reply was QUEUED; 0: it was not queued
	again            bool  // for take: it was asked again after it was queued
	times            int   // how often it was sent
}

func (e event) String() string {
	text := fmt.Sprintf("%10.3f..%.3f ms client %d %s %s: %s %d", float64(e.first)/1000, float64(e.ret)/1000, e.who, e.act, e.id, e.outcome, e.n)
	if e.times > 1 {
		text += fmt.Sprintf(" (sent %d times, last at %.3f)", e.times, float64(e.call)/1000)
	}
	if e.leaseUS > 0 {
		text += fmt.Sprintf(" for %d ms", e.leaseUS/1000)
	}
	if e.queuedUS > 0 {
		text += fmt.Sprintf(" queued at %.3f", float64(e.queuedUS)/1000)
	}
	return text
}
