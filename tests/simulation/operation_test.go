//go:build simulation

package simulation

import (
	"fmt"
	"strings"
	"time"

	"lockserver/internal/resp"
)

// moment is when something happened: the how many-th event of the run it was, and how long after its begin.
type moment struct {
	event int64
	after time.Duration
}

// operation is one command, what came back, and when: an entry of a history.
type operation struct {
	client int
	about  string // what it is about: a family and a number, as "lock 1". Each is held against the model alone
	what   string // what it does, as its family calls that
	words  []string
	owner  int           // of a lock: a number from 1 on
	lease  time.Duration // of a lock; 0: as long as the connection lives
	value  string        // that is written
	token  int64         // of GUARD
	locks  []int         // of MLOCK: which. It is recorded as an operation on each
	part   bool          // of an MLOCK: that it was refused may be due to another lock
	waiter int           // of LOCK.CANCEL: the owner that waits
	member string        // that answered, or did not

	asked     int64 // when a member was first asked for it: the event
	call, ret moment
	unknown   bool // the connection broke, or no answer came in time
	reply     resp.Value
	// broke is when the connection ended on which a lease is renewed; nil: there was no such connection.
	broke *moment
}

// String is the operation as a line of a report.
func (op *operation) String() string {
	result := op.reply.String()
	if op.unknown {
		result = "?"
	}
	return fmt.Sprintf("%5d..%-5d %9.3fs..%9.3fs client %d at %s: %s -> %s", op.call.event, op.ret.event, op.call.after.Seconds(), op.ret.after.Seconds(),
		op.client, op.member, strings.Join(op.words, " "), result)
}

// family is a kind of data, and what clients do with it.
type family struct {
	name string
	keys int
	// draw makes an operation on one of the keys.
	draw func(c *client, key int) *operation
	// final are the operations that read all there is, when the run is over.
	final func(key int) *operation
	// prune leaves out of a history what it is certain did not happen, where that helps the checker; nil:
	// nothing.
	prune func(ops []*operation) []*operation
	// model is what it must be like.
	model func() sequential
}

// sequential is data to which one operation happens after the other.
type sequential interface {
	// after returns all that there may be when an operation has happened that was answered so; nothing: it
	// cannot have been. It changes nothing. An operation of unknown outcome has happened; that it did not is
	// the same as if it were the last of all.
	after(op *operation) []sequential
	// String tells states apart.
	String() string
}

// families are all of them.
func families() []family {
	return []family{lockFamily(), registerFamily(), counterFamily(), setFamily(), streamFamily(), saleFamily()}
}

// if1 is what there is after an operation that can have been, or cannot.
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
