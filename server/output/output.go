package output

import (
	"slices"
	"unsafe"

	"lockserver/internal/resp"
	"lockserver/server/gate"
	"lockserver/server/transport"
	"lockserver/server/wait"
)

// Client is the client that an Output belongs to.
type Client interface {
	// Release is called when kept output may leave: the owner calls SendKept then.
	gate.Waiter
	// TakeBack undoes a grant that did not reach the client. gone says that the client has closed its end of
	// the connection.
	TakeBack(granted *wait.Parked, gone bool)
	// Panicked logs a panic that ends only the connection. For any other panic it panics again.
	Panicked(p any)
}

// Gates hold output back until the log is synced, or until other servers have the data.
type Gates struct {
	// Log is the gate of the server's log.
	Log gate.Gate
	// Copied is the gate for data that other servers must have before clients may see it. In a raft group
	// these are a majority, as the member says (the commit gate). Otherwise they are min-replicas-ack
	// replicas.
	Copied gate.Gate
}

// Waiting returns the number of clients with output that waits.
func (g *Gates) Waiting() int { return g.Log.Waiting() + g.Copied.Waiting() }

// Passes reports whether output may leave: all that it needs is safe.
func (g *Gates) Passes(n Needs) bool {
	return g.Log.Passes(n.Log) && !g.Log.Lost(n.Log) && g.Copied.Passes(n.Copied) && !g.Copied.Lost(n.Copied)
}

// Output has the bytes that leave for a client. Only the owner of the connection touches it.
type Output struct {
	Conn   transport.Conn
	client Client
	party  *wait.Party // knows whether the peer has vanished
	gates  *Gates

	// Leaving: nothing more is run for the client. The connection is closed when nothing is kept any more.
	Leaving bool
	// Stalled: too much output is unsent, and no command runs.
	Stalled bool

	sent   int64         // bytes of output given to the connection
	unread []unreadGrant // grants that the client may not have read yet
	kept   kept
}

// Open makes the output that of a client with a connection.
func (o *Output) Open(c transport.Conn, client Client, party *wait.Party, gates *Gates) {
	o.Conn, o.client, o.party, o.gates = c, client, party, gates
}

// Send gives bytes to the connection. held says that they must not change before the end of the owner's
// round.
func (o *Output) Send(b []byte) (held bool, err error) {
	o.sent += int64(len(b))
	return o.Conn.Send(b, false)
}

// sendNow is Send for what must not wait for the end of the round.
func (o *Output) sendNow(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	o.sent += int64(len(b))
	_, err := o.Conn.Send(b, true)
	return err
}

// Unsent returns the number of bytes that are on their way to the client.
func (o *Output) Unsent() int { return o.Conn.Buffered() + o.kept.bytes() }

// Control decides whether too much output is on its way: more than limit bytes. If so, the owner feeds again
// when it is time to look: by the connection, once it holds at most resume bytes, or by a gate.
func (o *Output) Control(limit, resume int) {
	for {
		unsent := o.Conn.Buffered()
		o.Stalled = unsent+o.kept.bytes() > limit
		if !o.Stalled || unsent <= resume || o.Conn.AwaitDrain(resume) {
			return
		}
	}
}

// Kept output and group commit. Under appendfsync always a reply may not leave before the log is on disk
// up to the position at which the reply was made. That holds for reads as well, because they may show what
// another client has just written. The loop does not wait for the disk: it keeps such output and goes on.
// When the log's writer has synced, it opens the gate up to the new position, which has the owners of the
// waiting clients called.
//
// Under the other policies a reply may not leave before the system has the log up to that position. So a
// killed process loses nothing that a client has a reply about. That needs no waiting: the sender writes the
// log before (transport.Session.MayLeave), once for all that the round of an event loop has held back.

// Needs are two positions that output has to wait for; 0: it need not wait. Log is a position of the log.
// Copied is a position of the history that other servers have to acknowledge.
type Needs struct{ Log, Copied int64 }

// Any reports whether there is anything to wait for.
func (n Needs) Any() bool { return n.Log > 0 || n.Copied > 0 }

// kept is output that waits at a gate.
type kept struct {
	out    []byte
	from   int     // out[:from] has been sent
	pieces []piece // what of it may leave when, in order; empty: nothing is kept
	// log and copied are the places at the two gates.
	log, copied gate.Place
}

// piece is a piece of output and its condition.
type piece struct {
	end int // in kept.out
	Needs
	granted *wait.Parked // the waiter that is granted by it, if that can be taken back
}

// mostSpare is the size of the largest buffer for kept output that stays when it is empty.
const mostSpare = 64 << 10

// bytes is how much output is kept.
func (k *kept) bytes() int { return len(k.out) - k.from }

// add keeps output behind what is kept already.
func (k *kept) add(out []byte, granted *wait.Parked, n Needs) {
	if last := len(k.pieces) - 1; last >= 0 {
		n.Log, n.Copied = max(n.Log, k.pieces[last].Log), max(n.Copied, k.pieces[last].Copied)
	}
	k.out = append(k.out, out...)
	k.pieces = append(k.pieces, piece{len(k.out), n, granted})
}

// drop forgets all that is kept, and returns the grants that were in it.
func (k *kept) drop() (grants []*wait.Parked) {
	for _, p := range k.pieces {
		if p.granted != nil {
			grants = append(grants, p.granted)
		}
	}
	k.pieces, k.out, k.from = nil, nil, 0
	return grants
}

// Keeps reports whether any output is kept.
func (o *Output) Keeps() bool { return len(o.kept.pieces) > 0 }

// SendLater is how output leaves that has to wait, or stands behind output that has. hangUp says that the
// connection is to be closed behind it, and is returned when it is time to.
func (o *Output) SendLater(out []byte, granted *wait.Parked, n Needs, hangUp bool) bool {
	if len(out) > 0 || granted != nil {
		o.kept.add(out, granted, n)
	}
	o.Leaving = o.Leaving || hangUp
	return o.SendKept()
}

// SendKept sends the kept output that may leave by now, and reports whether the connection is to be closed.
func (o *Output) SendKept() (hangUp bool) {
	g, k := o.gates, &o.kept
	for len(k.pieces) > 0 {
		first := k.pieces[0].Needs
		switch {
		case g.Log.Lost(first.Log), g.Copied.Lost(first.Copied):
			return true
		case !g.Log.Passes(first.Log):
			if g.Log.Wait(o.client, &k.log, first.Log) {
				return false
			} // otherwise it has just opened
		case !g.Copied.Passes(first.Copied):
			if g.Copied.Wait(o.client, &k.copied, first.Copied) {
				return false
			}
		default:
			if o.sendPieces() != nil {
				return true
			}
		}
	}
	return o.Leaving
}

// sendPieces sends the first pieces, as many as may leave together.
func (o *Output) sendPieces() error {
	k := &o.kept
	n := 0
	for n < len(k.pieces) && o.gates.Passes(k.pieces[n].Needs) {
		if n++; k.pieces[n-1].granted != nil {
			break
		}
	}
	last := k.pieces[n-1]
	out := k.out[k.from:last.end]
	if k.pieces, k.from = k.pieces[n:], last.end; len(k.pieces) == 0 {
		k.pieces, k.from, k.out = k.pieces[:0], 0, k.out[:0]
		if cap(k.out) > mostSpare {
			k.out = nil
		}
	}
	if last.granted != nil {
		o.Hand(out, last.granted)
		return nil
	}
	return o.sendNow(out)
}

// hasGrant reports whether a grant is kept.
func (k *kept) hasGrant() bool {
	return slices.ContainsFunc(k.pieces, func(p piece) bool { return p.granted != nil })
}

// Inbox has the messages that others have for a client, until its owner, or its next command, appends them to
// the output. Subscribers of a channel share the bytes of a message. The zero value is empty.
type Inbox struct {
	list  [][]byte
	bytes int
}

const (
	// mostSpareInbox is the length of the longest inbox that stays when it is empty.
	mostSpareInbox = 64
	// MostSpace is the most memory that an element of an inbox gets for several messages. The first elements
	// get less: most clients hear of one lock now and then.
	MostSpace = 4 << 10
)

// Len returns the number of elements: a message, or several that were copied.
func (in *Inbox) Len() int { return len(in.list) }

// Bytes returns the size of the messages.
func (in *Inbox) Bytes() int { return in.bytes }

// Held returns the memory that the inbox takes.
func (in *Inbox) Held() int { return in.bytes + int(unsafe.Sizeof([]byte{}))*cap(in.list) }

// Add appends a message. Others may share its bytes, which never change.
func (in *Inbox) Add(b []byte) {
	in.list = append(in.list, slices.Clip(b))
	in.bytes += len(b)
}

// AddCopy appends a message with bytes that the caller uses again. It is copied into the last element if
// that has space left. Otherwise it is copied into a new element with space for more. Only such elements
// have space. 100,000 waits of a client may end at once, and a separate piece of memory for each would
// start the collector.
func (in *Inbox) AddCopy(b []byte) {
	last := len(in.list) - 1
	if last < 0 || cap(in.list[last])-len(in.list[last]) < len(b) {
		in.list, last = append(in.list, make([]byte, 0, max(len(b), min(in.bytes, MostSpace)))), last+1
	}
	in.list[last] = append(in.list[last], b...)
	in.bytes += len(b)
}

// Take appends messages to the output of a client, until they have at least most bytes. It takes at least
// one message. The caller sees to it that no reply is half written.
func (in *Inbox) Take(out *resp.Writer, most int) {
	n := 0
	for _, b := range in.list {
		out.Raw(b)
		if n++; most <= len(b) {
			break
		}
		most -= len(b)
	}
	if n == len(in.list) {
		in.Drop()
		return
	}
	for i, b := range in.list[:n] {
		in.bytes -= len(b)
		in.list[i] = nil
	}
	in.list = in.list[n:]
}

// Drop forgets all messages.
func (in *Inbox) Drop() {
	clear(in.list)
	in.list, in.bytes = in.list[:0], 0
	if cap(in.list) > mostSpareInbox {
		in.list = nil
	}
}
