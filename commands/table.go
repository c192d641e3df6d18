package commands

import (
	"cmp"
	"encoding/binary"
	"maps"
	"math/bits"
	"slices"
	"strings"

	"lockserver/internal/ascii"
)

// Table holds every command that a server knows. It is built once and never changes, so that any number of
// servers and goroutines can share it.
type Table struct {
	rows []*Row // sorted by name
	// slots is a hash table with open addressing, at most half full; its length is a power of two.
	slots []slot
	shift uint8
	size  int // number of rows and subcommands
}

// Size returns the number of commands and subcommands.
func (t *Table) Size() int { return t.size }

// number gives a row and its subcommands their indexes.
func (t *Table) number(r *Row) {
	r.index = t.size
	t.size++
	for _, sub := range r.subs {
		t.number(sub)
	}
}

// slot is an entry of the hash table: a row under the digest of its name. row is nil in an empty slot.
type slot struct {
	digest digest
	name   string
	row    *Row
}

// NewTable builds a table of all rows of all groups and derives the fields that they do not set. It panics if
// a row contradicts itself or a name occurs twice.
func NewTable(groups ...[]Row) *Table {
	t := &Table{}
	for _, group := range groups {
		for i := range group {
			r := newRow(&group[i], nil)
			t.number(r)
			t.rows = append(t.rows, r)
		}
	}
	slices.SortFunc(t.rows, func(a, b *Row) int { return cmp.Compare(a.Name, b.Name) })
	names := make([]string, len(t.rows))
	for i, r := range t.rows {
		if names[i] = r.Name; i > 0 && names[i-1] == r.Name {
			contradiction(r, "two commands of this name")
		}
	}
	t.index(names)
	return t
}

// index builds the hash table of the rows; names has their names in the same order.
func (t *Table) index(names []string) {
	size := bits.Len(uint(2 * len(t.rows)))
	t.slots = make([]slot, 1<<size)
	t.shift = uint8(64 - size)
	for i, r := range t.rows {
		d := digestOf([]byte(names[i]))
		at := t.first(d)
		for t.slots[at].row != nil {
			at = t.next(at)
		}
		t.slots[at] = slot{d, names[i], r}
	}
}

// Renamed returns a table with renamed commands. renames are pairs of a name, in any case, and its
// replacement, which is empty if the command is disabled. They are applied in order. Rows and their numbers
// are those of t. The error names the invalid pair.
func (t *Table) Renamed(renames [][]string) (*Table, error) {
	if len(renames) == 0 {
		return t, nil
	}
	named := make(map[string]*Row)
	for _, r := range t.rows {
		named[r.Name] = r
	}
	for _, pair := range renames {
		from, to := strings.ToLower(pair[0]), strings.ToLower(pair[1])
		r := named[from]
		delete(named, from)
		switch {
		case r == nil:
			return nil, errRenameUnknown
		case to == "":
			continue
		case named[to] != nil:
			return nil, errRenameTaken
		}
		named[to] = r
	}
	n := &Table{size: t.size}
	names := slices.Sorted(maps.Keys(named))
	for _, name := range names {
		n.rows = append(n.rows, named[name])
	}
	n.index(names)
	return n, nil
}

// The errors of a renaming, in Redis' words.
var (
	errRenameUnknown = Error("No such command in rename-command")
	errRenameTaken   = Error("Target command name already exists")
)

// newRow copies a literal row and derives the rest.
func newRow(literal, parent *Row) *Row {
	r := new(Row)
	*r = *literal
	r.Args = copyArgs(literal.Args)
	nameRow(r, parent)
	checkStated(r)
	if len(r.Sub) > 0 {
		for i := range r.Sub {
			r.subs = append(r.subs, newRow(&literal.Sub[i], r))
		}
		r.subs = append(r.subs, newRow(helpRow(r), r))
		for i, sub := range r.subs {
			if slices.ContainsFunc(r.subs[:i], func(o *Row) bool { return o.Name == sub.Name }) {
				contradiction(sub, "two subcommands of this name")
			}
		}
	}
	derive(r)
	return r
}

func copyArgs(args []Arg) []Arg {
	args = slices.Clone(args)
	for i := range args {
		args[i].Args = copyArgs(args[i].Args)
	}
	return args
}

// Rows returns all commands sorted by name, without subcommands. The slice belongs to the table.
func (t *Table) Rows() []*Row { return t.rows }

// Names returns the full names of the rows for which keep returns true, including subcommands.
func (t *Table) Names(keep func(*Row) bool) []string {
	var names []string
	for _, r := range t.rows {
		if keep(r) {
			names = append(names, r.fullName)
		}
		for _, sub := range r.subs {
			if keep(sub) {
				names = append(names, sub.fullName)
			}
		}
	}
	return names
}

// Lookup returns the command with a name in any case, or nil.
func (t *Table) Lookup(name []byte) *Row {
	d := digestOf(name)
	for at := t.first(d); t.slots[at].row != nil; at = t.next(at) {
		if s := &t.slots[at]; s.digest == d && (d.length <= 16 || ascii.EqualFold(name, s.name)) {
			return s.row
		}
	}
	return nil
}

// first returns the slot where the search for a name begins; next returns the slot after at.
func (t *Table) first(d digest) int {
	h := (d.head ^ bits.RotateLeft64(d.tail, 25) + uint64(d.length)) * 0x9e3779b97f4a7c15
	return int(h >> t.shift)
}

func (t *Table) next(at int) int { return (at + 1) & (len(t.slots) - 1) }

// digest holds the parts of a name that are compared: its length, and its first and last eight bytes in lower
// case. For a name of up to 16 bytes that is the whole name.
type digest struct {
	head, tail uint64
	length     int
}

func digestOf(name []byte) digest {
	n := len(name)
	switch {
	case n >= 8:
		return digest{lowerBytes(binary.LittleEndian.Uint64(name)), lowerBytes(binary.LittleEndian.Uint64(name[n-8:])), n}
	case n >= 4:
		low, high := binary.LittleEndian.Uint32(name), binary.LittleEndian.Uint32(name[n-4:])
		return digest{lowerBytes(uint64(low) | uint64(high)<<32), 0, n}
	case n > 0:
		word := uint64(name[0]) | uint64(name[n/2])<<8 | uint64(name[n-1])<<16
		return digest{lowerBytes(word), 0, n}
	default:
		return digest{}
	}
}

// lowerBytes converts the ASCII letters among eight bytes to lower case, all at once. One addition sets the
// top bit of each byte that is at least 'A', the other that of each byte greater than 'Z'.
func lowerBytes(x uint64) uint64 {
	const each = 0x0101010101010101
	low := x &^ (0x80 * each)
	upper := (low + (0x80-'A')*each) ^ (low + (0x7f-'Z')*each)
	return x | upper&^x&(0x80*each)>>2
}

// Subcommand returns the subcommand with a name in any case, or nil.
func (r *Row) Subcommand(name []byte) *Row {
	for _, sub := range r.subs {
		if ascii.EqualFold(name, sub.Name) {
			return sub
		}
	}
	return nil
}

// LookupFull returns the command with a full name, "get" or "client|list", in any case, or nil.
func (t *Table) LookupFull(name []byte) *Row {
	if bar := slices.Index(name, '|'); bar >= 0 {
		if r := t.Lookup(name[:bar]); r != nil {
			return r.Subcommand(name[bar+1:])
		}
		return nil
	}
	return t.Lookup(name)
}

// find returns the row that args call: a command, a subcommand, or a container without its subcommand. args
// has at least one word. With an unknown subcommand it returns the container and nil.
func (t *Table) find(args [][]byte) (container, row *Row) {
	row = t.Lookup(args[0])
	if row == nil || len(row.subs) == 0 || len(args) == 1 {
		return row, row
	}
	return row, row.Subcommand(args[1])
}

// Called returns the row that args name, or nil, without a check of their number. args has at least one word.
func (t *Table) Called(args [][]byte) *Row {
	_, row := t.find(args)
	return row
}

// Resolve returns the row that args call, and checks their number. args has at least one word. The errors are
// those of Redis, in its order: unknown command, unknown subcommand, wrong number of arguments.
func (t *Table) Resolve(args [][]byte) (*Row, error) {
	container, row := t.find(args)
	switch {
	case container == nil:
		return nil, ErrUnknownCommand(args)
	case row == nil:
		return nil, ErrUnknownSubcommand(container.Name, args[1])
	case !row.Accepts(len(args)):
		return nil, ErrArity(row.fullName)
	}
	return row, nil
}
