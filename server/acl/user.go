package acl

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"slices"

	"lockserver/commands"
)

// DefaultName is the name of the user that connections have which have not logged in.
const DefaultName = "default"

// User is one user. Sessions hold it: what it may do changes under their hands.
type User struct {
	name string
	// rules are replaced as a whole, never changed.
	rules *rules
	// Unrestricted: the user may run every command on every key and channel, so that nothing needs to be
	// checked. It follows from the rules.
	Unrestricted bool
}

// rules are what a user is allowed, and how it logs in.
type rules struct {
	on           bool
	noPass       bool
	skipSanitize bool     // accepted and shown: RESTORE always checks the whole value
	passwords    []string // hashes, in the order in which they came
	selectors    []*selector
	shortcuts    []shortcut // by the number of a row; they follow from the selectors
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

// Name is the user's name.
func (u *User) Name() string { return u.name }

// Open reports whether a connection is the user's without logging in, if it is the default user: it is on
// and has no password.
func (u *User) Open() bool { return u.rules.open() }

// NoPass reports whether every password is good.
func (u *User) NoPass() bool { return u.rules.noPass }

// obey gives the user other rules.
func (u *User) obey(r *rules, table *commands.Table) {
	u.rules = r
	u.Unrestricted = slices.ContainsFunc(r.selectors, func(s *selector) bool { return s.everything(table) })
	if !u.Unrestricted {
		r.prepare(table)
	}
}

// accepts reports whether the user may log in with a password. How long it takes does not tell how much of a
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
