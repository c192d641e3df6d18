package slotmove

import (
	"encoding/binary"
	"errors"
	"fmt"

	"lockserver/server/cluster"
)

// Kind is the kind of an entry. The numbers are a format, do not change.
type Kind uint8

const (
	Leave  Kind = 1 + iota // source: Peer, Slots; again by a leader that needs a new cut
	Arrive                 // target: Slots
	Stage                  // target: From, To, Effects
	Freeze                 // source: ClockMS
	Thaw                   // source
	Ready                  // target: To is the place of freeze, Digest
	Give                   // source: To is the place of freeze, Token
	Take                   // target: To, Generation, Token, FreezeMS of the source, ClockMS of its own
	Drop                   // source: the move is over; target: Cancelled
	Cancel                 // source: the move ends before give
)

func (k Kind) String() string {
	names := [...]string{"", "leave", "arrive", "stage", "freeze", "thaw", "ready", "give", "take", "drop", "cancel"}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("kind %d", k)
}

// Entry is an entry of a group's log. The comments on the kinds name the fields that each has besides Move.
type Entry struct {
	Kind     Kind
	Move     ID
	Peer     string
	Slots    []cluster.Range
	From, To Place
	Digest   Digest
	// ClockMS is the clock of the leader that wrote the entry. FreezeMS is the source's at freeze.
	ClockMS, FreezeMS int64
	Generation, Token int64
	// Cancelled says that the source's log has ended the move. Without it the target drops on its own.
	Cancelled bool
	Effects   []byte
}

// ShiftMS is added by take to each lease, and to each hold of a sale. So as much time is left of it as was at
// freeze. It may be negative. A lease that the server renews begins anew instead.
func (e *Entry) ShiftMS() int64 { return e.ClockMS - e.FreezeMS }

// entryVersion begins each entry.
const entryVersion = 1

var errDamaged = errors.New("an entry or table about moving slots is damaged, or a newer version wrote it")

// AppendTo appends the entry in its format, do not change: a version and the kind, a byte each, then all
// fields in the order of the struct. A number is a varint, a text and a list begin with their length.
func (e *Entry) AppendTo(dst []byte) []byte {
	w := writer{append(dst, entryVersion, byte(e.Kind))}
	w.id(e.Move)
	w.text(e.Peer)
	w.ranges(e.Slots)
	w.place(e.From)
	w.place(e.To)
	w.b = append(w.b, e.Digest[:]...)
	w.numbers(e.ClockMS, e.FreezeMS, e.Generation, e.Token)
	w.flag(e.Cancelled)
	w.text(string(e.Effects))
	return w.b
}

// ParseEntry reads an entry.
func ParseEntry(b []byte) (*Entry, error) {
	if len(b) < 2 || b[0] != entryVersion || Kind(b[1]) < Leave || Kind(b[1]) > Cancel {
		return nil, errDamaged
	}
	r := reader{b: b[2:]}
	e := &Entry{Kind: Kind(b[1]), Move: r.id(), Peer: r.text(), Slots: r.ranges(), From: r.place(), To: r.place(), Digest: r.digest(),
		ClockMS: r.number(), FreezeMS: r.number(), Generation: r.number(), Token: r.number(), Cancelled: r.flag()}
	if text := r.text(); text != "" {
		e.Effects = []byte(text)
	}
	if r.bad || len(r.b) > 0 || e.Kind == Leave || e.Kind == Arrive {
		if r.bad || len(r.b) > 0 || !valid(e.Slots) {
			return nil, errDamaged
		}
	}
	return e, nil
}

// writer appends the parts of entries and tables.
type writer struct{ b []byte }

func (w *writer) numbers(all ...int64) {
	for _, n := range all {
		w.b = binary.AppendVarint(w.b, n)
	}
}

func (w *writer) text(s string)   { w.b = append(binary.AppendUvarint(w.b, uint64(len(s))), s...) }
func (w *writer) id(id ID)        { w.text(id.Source); w.numbers(id.Number) }
func (w *writer) place(p Place)   { w.numbers(p.Cut, p.Index, p.Piece) }
func (w *writer) length(n int)    { w.b = binary.AppendUvarint(w.b, uint64(n)) }
func (w *writer) flag(yes bool)   { w.b = append(w.b, map[bool]byte{true: 1}[yes]) }
func (w *writer) digest(d Digest) { w.b = append(w.b, d[:]...) }

func (w *writer) ranges(all []cluster.Range) {
	w.length(len(all))
	for _, r := range all {
		w.numbers(int64(r.First), int64(r.Last))
	}
}

// reader reads them. After the first fault bad is set, and all values are zero.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) fail() { r.b, r.bad = nil, true }

func (r *reader) number() int64 {
	n, used := binary.Varint(r.b)
	if used <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[used:]
	return n
}

// length reads the length of a text or a list: the rest has at least a byte for each element.
func (r *reader) length() int {
	n, used := binary.Uvarint(r.b)
	if used <= 0 || n > uint64(len(r.b)-used) {
		r.fail()
		return 0
	}
	r.b = r.b[used:]
	return int(n)
}

func (r *reader) text() string {
	n := r.length()
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}

func (r *reader) flag() bool {
	if len(r.b) == 0 || r.b[0] > 1 {
		r.fail()
		return false
	}
	yes := r.b[0] == 1
	r.b = r.b[1:]
	return yes
}

func (r *reader) digest() (d Digest) {
	if len(r.b) < len(d) {
		r.fail()
		return d
	}
	r.b = r.b[copy(d[:], r.b):]
	return d
}

func (r *reader) id() ID { return ID{r.text(), r.number()} }

func (r *reader) place() Place { return Place{r.number(), r.number(), r.number()} }

func (r *reader) ranges() (all []cluster.Range) {
	for range r.length() {
		first, last := r.number(), r.number()
		all = append(all, cluster.Range{First: int(first), Last: int(last)})
	}
	if len(all) > 0 && !valid(all) {
		r.fail()
		return nil
	}
	return all
}
