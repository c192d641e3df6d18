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

// Table is every command that a server knows. It is built once and never changes, so that any number of
// servers and goroutines can share one.
type Table struct {
	rows []*Row // by name
	// slots is a hash table with open addressing, at most half full; its length is a power of two.
	slots []slot
	shift uint8
	size  int // rows and subcommands
}

// Size is the number of commands and subcommands.
func (t *Table) Size() int { return t.size }

// number gives a row and its subcommands their indexes.
func (t *Table) number(r *Row) {
	r.index = t.size
	t.size++
	for _, sub := range r.subs {
		t.number(sub)
	}
}

// slot is one entry of the hash table: a row under the digest of its name, empty if row is nil.
type slot struct {
	digest digest
	name   string
	row    *Row
}

// NewTable builds a table of all rows of all groups and derives what they leave unsaid. It panics if a row
// contradicts itself or a name occurs twice.
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

// index makes the hash table of the rows; names are their names in the same order.
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

// What can be wrong with a renaming, as Redis words it.
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

// Rows are all commands by name, without subcommands. The slice belongs to the table.
func (t *Table) Rows() []*Row { return t.rows }

// Names are the full names of the rows that keep wants, subcommands included.
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

// Lookup finds a command by its name in any case; nil if there is none.
func (t *Table) Lookup(name []byte) *Row {
	d := digestOf(name)
	for at := t.first(d); t.slots[at].row != nil; at = t.next(at) {
		if s := &t.slots[at]; s.digest == d && (d.length <= 16 || ascii.EqualFold(name, s.name)) {
			return s.row
		}
	}
	return nil
}

// first is the slot where the search for a name begins, next the one behind at.
func (t *Table) first(d digest) int {
	h := (d.head ^ bits.RotateLeft64(d.tail, 25) + uint64(d.length)) * 0x9e3779b97f4a7c15
	return int(h >> t.shift)
}

func (t *Table) next(at int) int { return (at + 1) & (len(t.slots) - 1) }

// digest is the part of a name that is compared: its length and its first and last eight bytes in lower case.
// That is all of a name of up to 16 bytes.
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

// lowerBytes converts the ASCII letters among eight bytes to lower case, all at once. Two additions set the
// top bit of a byte if it is at least 'A', and if it is above 'Z'.
func lowerBytes(x uint64) uint64 {
	const each = 0x0101010101010101
	low := x &^ (0x80 * each)
	upper := (low + (0x80-'A')*each) ^ (low + (0x7f-'Z')*each)
	return x | upper&^x&(0x80*each)>>2
}

// Subcommand finds a subcommand by its name in any case; nil if there is none.
func (r *Row) Subcommand(name []byte) *Row {
	for _, sub := range r.subs {
		if ascii.EqualFold(name, sub.Name) {
			return sub
		}
	}
	return nil
}

// LookupFull finds a command by its full name, "get" or "client|list", in any case; nil if there is none.
func (t *Table) LookupFull(name []byte) *Row {
	if bar := slices.Index(name, '|'); bar >= 0 {
		if r := t.Lookup(name[:bar]); r != nil {
			return r.Subcommand(name[bar+1:])
		}
		return nil
	}
	return t.Lookup(name)
}

// find is the row that args, at least one, call: a command, a subcommand, or a container without its
// subcommand. With an unknown subcommand both the container and nil are returned.
func (t *Table) find(args [][]byte) (container, row *Row) {
	row = t.Lookup(args[0])
	if row == nil || len(row.subs) == 0 || len(args) == 1 {
		return row, row
	}
	return row, row.Subcommand(args[1])
}

// Called is the row that args, at least one, name, whether their number is right or not; nil: there is none.
func (t *Table) Called(args [][]byte) *Row {
	_, row := t.find(args)
	return row
}

// Resolve finds the row that args, at least one, call, and checks their number. The errors are Redis', in its
// order: unknown command, unknown subcommand, wrong number of arguments.
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
