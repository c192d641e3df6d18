package output

import (
	"slices"
	"unsafe"

	"lockserver/internal/resp"
)

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
