package acl

import (
	"slices"

	"lockserver/commands"
	"lockserver/internal/ascii"
)

// bitmap is a set of rows, by commands.Row.Index.
type bitmap []uint64

func (b bitmap) has(row *commands.Row) bool {
	i := row.Index()
	return b[i/64]&(1<<(i%64)) != 0
}

func (b bitmap) set(row *commands.Row, on bool) {
	i := row.Index()
	if on {
		b[i/64] |= 1 << (i % 64)
	} else {
		b[i/64] &^= 1 << (i % 64)
	}
}

// access is a set of rights to a key.
type access uint8

const (
	reads access = 1 << iota
	writes

	readsAndWrites = reads | writes
)

// accessOf returns the right that a use of a key requires. A use that requires no right (the value of the key
// does not matter) is allowed by any pattern that the key matches.
func accessOf(use commands.KeyFlags) (a access) {
	if use&commands.Access != 0 {
		a |= reads
	}
	if use&(commands.Insert|commands.Delete|commands.Update) != 0 {
		a |= writes
	}
	return a
}

// selector is a set of rights. A single selector of a user must allow the whole command.
type selector struct {
	// allowed holds the commands that may run. firstArgs holds, by the number of a row that is not in
	// allowed, the first arguments with which the row may run.
	allowed   bitmap
	firstArgs map[int][]string
	// future says that the selector began with all commands, so it allows the new commands of later versions.
	future bool
	// rules holds the rules that made allowed since the last +@all or -@all, as they were written: "+get",
	// "-@admin".
	rules []string

	allKeys     bool
	keys        []keyPattern
	allChannels bool
	channels    []pattern
	// someDBs says that only the databases in dbs may be used.
	someDBs bool
	dbs     []int
}

// keyPattern holds the rights to the keys that match a pattern.
type keyPattern struct {
	pattern
	access access
}

func (s *selector) clone() *selector {
	n := *s
	n.allowed = slices.Clone(s.allowed)
	n.rules = slices.Clone(s.rules)
	n.keys, n.channels, n.dbs = slices.Clone(s.keys), slices.Clone(s.channels), slices.Clone(s.dbs)
	n.firstArgs = nil
	for i, words := range s.firstArgs {
		n.allowFirstArgs(i, words...)
	}
	return &n
}

func (s *selector) allowFirstArgs(index int, words ...string) {
	if s.firstArgs == nil {
		s.firstArgs = make(map[int][]string)
	}
	for _, w := range words {
		if !slices.ContainsFunc(s.firstArgs[index], func(o string) bool { return ascii.EqualFold([]byte(w), o) }) {
			s.firstArgs[index] = append(s.firstArgs[index], w)
		}
	}
}

// allowAll allows, or forbids, every command, and drops the earlier rules.
func (s *selector) allowAll(on bool) {
	for i := range s.allowed {
		if s.allowed[i] = 0; on {
			s.allowed[i] = ^uint64(0)
		}
	}
	s.future, s.rules, s.firstArgs = on, nil, nil
}

// allow allows, or forbids, a command with all of its subcommands.
func (s *selector) allow(row *commands.Row, on bool) {
	s.allowed.set(row, on)
	delete(s.firstArgs, row.Index())
	for _, sub := range row.Subcommands() {
		s.allowed.set(sub, on)
	}
}

// allowCategory allows, or forbids, all commands of a category.
func (s *selector) allowCategory(table *commands.Table, c commands.Category, on bool) {
	for _, row := range table.Rows() {
		if row.Categories()&c != 0 {
			s.allow(row, on)
		}
		for _, sub := range row.Subcommands() {
			if sub.Categories()&c != 0 {
				s.allow(sub, on)
			}
		}
	}
}

// remember adds a rule about a command or a category. It drops the rules that the new rule overrules: rules
// with the same words, and rules about subcommands of the command.
func (s *selector) remember(rule string, on bool) {
	rule = lower(rule)
	s.rules = slices.DeleteFunc(s.rules, func(old string) bool {
		old = old[1:]
		return old == rule || len(old) > len(rule) && old[:len(rule)] == rule && old[len(rule)] == '|'
	})
	sign := "-"
	if on {
		sign = "+"
	}
	s.rules = append(s.rules, sign+rule)
}

// everything reports whether the selector allows everything.
func (s *selector) everything(table *commands.Table) bool {
	if !s.allKeys || !s.allChannels || s.someDBs {
		return false
	}
	for _, row := range table.Rows() {
		if !s.allowed.has(row) || slices.ContainsFunc(row.Subcommands(), func(sub *commands.Row) bool { return !s.allowed.has(sub) }) {
			return false
		}
	}
	return true
}

// allowsDB reports whether the database with that number may be used.
func (s *selector) allowsDB(id int) bool { return !s.someDBs || slices.Contains(s.dbs, id) }

// lower returns a text with its ASCII letters in lower case.
func lower(text string) string {
	b := []byte(text)
	for i, c := range b {
		b[i] = ascii.Lower(c)
	}
	return string(b)
}
