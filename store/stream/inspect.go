package stream

import (
	"errors"
	"fmt"

	"lockserver/store/listpack"
)

// ErrCorrupt is wrapped by the errors about the form of a node.
var ErrCorrupt = errors.New("stream: corrupt node")

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
}

// ValidateNode checks the bytes of a node from a file: the listpack, the elements of every entry and the
// order of the live entries. If it returns nil, the node can be walked and changed without a panic. The error
// wraps ErrCorrupt.
func ValidateNode(master ID, list []byte) error {
	_, err := inspect(master, list)
	return err
}

// contents is the result of inspect.
type contents struct {
	live        int
	first, last ID // of the live entries
}

// inspector walks through a node that has a valid listpack but arbitrary elements. It keeps the first fault
// in err.
type inspector struct {
	list listpack.List
	pos  int // of the next element, -1 at the end
	err  error
}

// inspect checks the form of a node.
func inspect(master ID, list []byte) (contents, error) {
	if err := listpack.Validate(list); err != nil {
		return contents{}, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	in := inspector{list: list, pos: listpack.List(list).First()}
	live, marked := in.count("count"), in.count("deleted count")
	fields := in.count("number of fields")
	in.skip(fields)
	if end := in.number("end of the master entry"); end != 0 {
		in.fail("the master entry ends with %d", end)
	}
	var got contents
	deleted := 0
	for in.err == nil && in.pos >= 0 {
		id, dead := in.entry(master, fields)
		switch {
		case dead:
			deleted++
			continue
		case id.Less(master) || got.live > 0 && !got.last.Less(id):
			in.fail("entry %v is out of order", id)
		case got.live == 0:
			got.first = id
		}
		got.last = id
		got.live++
	}
	if got.live != live || deleted != marked {
		in.fail("it counts %d living and %d deleted entries, there are %d and %d", live, marked, got.live, deleted)
	}
	return got, in.err
}

// entry checks the entry at the position. It returns the entry's ID, and whether the entry is deleted.
func (in *inspector) entry(master ID, masterFields int) (ID, bool) {
	at := in.pos
	flags := in.number("flags")
	// The flags have the shortest form, so marking an entry moves nothing.
	if in.err == nil && (flags&^flagsKnown != 0 || in.list[at] != byte(flags)) {
		in.fail("flags %#x at offset %d", flags, at)
	}
	id := ID{MS: master.MS + uint64(in.number("ms difference"))}
	id.Seq = master.Seq + uint64(in.number("seq difference"))
	elements := 3
	if flags&flagSameFields != 0 {
		in.skip(masterFields)
		elements += masterFields
	} else {
		pairs := in.count("number of fields")
		in.skip(2 * pairs)
		elements += 1 + 2*pairs
	}
	if n := in.number("element count"); n != int64(elements) {
		in.fail("entry %v says that it has %d elements, it has %d", id, n, elements)
	}
	return id, flags&flagDeleted != 0
}

func (in *inspector) fail(format string, args ...any) {
	if in.err == nil {
		in.err = corrupt(format, args...)
	}
}

// number returns the integer at the position and moves on.
func (in *inspector) number(what string) int64 {
	if in.err != nil {
		return 0
	}
	if in.pos < 0 {
		in.fail("it ends where the %s should be", what)
		return 0
	}
	v := in.list.Get(in.pos)
	if !v.IsInt {
		in.fail("the %s at offset %d is a string", what, in.pos)
		return 0
	}
	in.pos = in.list.Next(in.pos)
	return v.Int
}

// count reads a number that must be at least 0 and at most the number of bytes.
func (in *inspector) count(what string) int {
	n := in.number(what)
	if n < 0 || n > int64(len(in.list)) {
		in.fail("the %s is %d", what, n)
		return 0
	}
	return int(n)
}

// skip skips n elements.
func (in *inspector) skip(n int) {
	for ; n > 0 && in.err == nil; n-- {
		if in.pos < 0 {
			in.fail("it ends within an entry")
			return
		}
		in.pos = in.list.Next(in.pos)
	}
}
