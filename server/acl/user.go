package acl

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"slices"

	"lockserver/commands"
)

// DefaultName is the name of the user of connections that have not logged in.
const DefaultName = "default"

// User is a user. Sessions hold a pointer to it: its rules may change at any time.
type User struct {
	name string
	// rules are replaced as a whole, never changed.
	rules *rules
	// Unrestricted says that the user may run every command on every key and channel, so that no check is
	// necessary. It follows from the rules.
	Unrestricted bool
}

// rules holds the rights of a user, and its passwords.
type rules struct {
	on           bool
	noPass       bool
	skipSanitize bool     // accepted and shown: RESTORE always checks the whole value
	passwords    []string // hashes, in the order in which they were added
	selectors    []*selector
	shortcuts    []shortcut // by the number of a row; computed from the selectors
}

// open is User.Open.
func (r *rules) open() bool { return r.on && r.noPass }

func (r *rules) clone() *rules {
	n := *r
	n.passwords = slices.Clone(r.passwords)
	n.selectors = make([]*selector, len(r.selectors))
	for i, s := range r.selectors {
		n.selectors[i] = s.clone()
	}
	return &n
}

// Name returns the user's name.
func (u *User) Name() string { return u.name }

// Open reports whether new connections get this user without logging in, if it is the default user: it is on
// and needs no password.
func (u *User) Open() bool { return u.rules.open() }

// NoPass reports whether every password is accepted.
func (u *User) NoPass() bool { return u.rules.noPass }

// obey gives the user other rules.
func (u *User) obey(r *rules, table *commands.Table) {
	u.rules = r
	u.Unrestricted = slices.ContainsFunc(r.selectors, func(s *selector) bool { return s.everything(table) })
	if !u.Unrestricted {
		r.prepare(table)
	}
}

// accepts reports whether the user may log in with a password. Its duration does not reveal how much of a
// hash is right.
func (u *User) accepts(password []byte) bool {
	sum := sha256.Sum256(password)
	if !u.rules.on {
		return false
	}
	if u.rules.noPass {
		return true
	}
	text := hex.AppendEncode(nil, sum[:])
	good := 0
	for _, hash := range u.rules.passwords {
		good |= subtle.ConstantTimeCompare(text, []byte(hash))
	}
	return good == 1
}
