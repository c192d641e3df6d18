package acl

import (
	"math"

	"lockserver/commands"
)

// Most commands of a restricted user have one key, or no key, and are allowed. For those the answer is
// prepared together with the rules. Only the key must then be compared with the patterns.

// shortcut is the prepared answer for a row: the number of the selector, counted from 1, and the position of
// the key, 0 if no key must be compared. Without a selector Check decides. A user has a shortcut for each
// row.
type shortcut struct {
	selector, pos uint8
	need          access // all rights that a call may need for the key
}

// Passes reports whether the prepared answer allows the command. If not, Check decides.
func (u *User) Passes(row *commands.Row, argv [][]byte) bool {
	if u.Unrestricted { // such a user has no shortcuts
		return true
	}
	c := u.rules.shortcuts[row.Index()]
	switch {
	case c.selector == 0:
		return false
	case c.pos == 0:
		return true
	}
	if int(c.pos) >= len(argv) || c.need&writes != 0 && commands.ActsLater(argv[c.pos]) {
		return false
	}
	return u.rules.selectors[c.selector-1].allowsKey(argv[c.pos], c.need)
}

// prepare computes the shortcuts.
func (r *rules) prepare(table *commands.Table) {
	r.shortcuts = make([]shortcut, table.Size())
	for _, row := range table.Rows() {
		r.shortcuts[row.Index()] = r.shortcutOf(row)
		for _, sub := range row.Subcommands() {
			r.shortcuts[sub.Index()] = r.shortcutOf(sub)
		}
	}
}

func (r *rules) shortcutOf(row *commands.Row) shortcut {
	if row.Inner > 0 {
		return shortcut{}
	}
	for i, s := range r.selectors[:min(len(r.selectors), math.MaxUint8)] {
		if !s.allowed.has(row) || s.someDBs || row.Channels.First > 0 && !s.allChannels {
			continue
		}
		if s.allKeys || !row.TakesKeys() && row.Implied == nil {
			return shortcut{selector: uint8(i + 1)}
		}
		if pos, most, ok := row.SoleKey(); ok && pos <= math.MaxUint8 && row.Implied == nil {
			return shortcut{uint8(i + 1), uint8(pos), accessOf(most)}
		}
	}
	return shortcut{}
}
