//go:build simulation

package simulation

import (
	"fmt"
	"strings"
	"time"

	"lockserver/internal/resp"
)

// moment is a point in a run: the number of events before it, and the time since the start.
type moment struct {
	event int64
	after time.Duration
}

// operation is an entry of a history: a command, its reply, and their times.
type operation struct {
	client int
	about  string // a family and a number, as "lock 1"; each of these is checked alone
	what   string // the family's name for the command
	words  []string
	owner  int           // for a lock: a number from 1
	lease  time.Duration // for a lock; 0 means as long as the connection lives
	value  string        // the value that is written
	token  int64         // for GUARD
	locks  []int         // for MLOCK: the locks; it is recorded as an operation on each of them
	part   bool          // part of an MLOCK, which may have been refused because of another lock
	waiter int           // for LOCK.CANCEL: the waiting owner
	added  *delayCall    // for DELAY.ADD
	member string        // the member that replied, or did not

	asked     int64 // the event of the first attempt
	call, ret moment
	unknown   bool // the connection broke, or no reply came in time
	reply     resp.Value
	// broke is the end of the connection that renews a lease, or nil if there was no such connection.
	broke *moment
}

// String returns the operation as a line of a report.
func (op *operation) String() string {
	result := op.reply.String()
	if op.unknown {
		result = "?"
	}
	return fmt.Sprintf("%5d..%-5d %9.3fs..%9.3fs client %d at %s: %s -> %s", op.call.event, op.ret.event, op.call.after.Seconds(), op.ret.after.Seconds(),
		op.client, op.member, strings.Join(op.words, " "), result)
}

// family is a kind of data, and the operations of clients on it.
type family struct {
	name string
	keys int
	// draw returns a random operation on one of the keys.
	draw func(c *client, key int) *operation
	// final returns an operation that reads all data of a key after the run.
	final func(key int) *operation
	// prune leaves operations out of a history that certainly did not happen, to help the checker; nil means
	// that none are left out.
	prune func(ops []*operation) []*operation
	// model returns the model.
	model func() sequential
}

// sequential is the state of a model, in which operations happen one after the other.
type sequential interface {
	// after returns all possible states after an operation with its reply. If there is none, the operation is
	// not possible here. after does not change the state. For an operation of unknown outcome it assumes that
	// the operation happened: otherwise it could be the last of all.
	after(op *operation) []sequential
	// String identifies the state.
	String() string
}

// families returns all families.
func families() []family {
	return []family{lockFamily(), registerFamily(), counterFamily(), setFamily(), streamFamily(), saleFamily(), delayFamily()}
}

// if1 returns the state if an operation is possible, otherwise nothing.
func if1(s sequential, ok bool) []sequential {
	if !ok {
		return nil
	}
	return []sequential{s}
}

// op makes an operation.
func op(about, what string, words ...string) *operation {
	return &operation{about: about, what: what, words: words}
}
