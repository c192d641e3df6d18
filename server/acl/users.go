package acl

import (
	"crypto/sha256"
	"maps"
	"slices"

	"lockserver/commands"
)

// Users holds all users of a server, and the log of refusals.
type Users struct {
	Log   Log
	maker ruleMaker
	named map[string]*User
	// standard is the user default, which always exists.
	standard *User
}

// NewUsers returns the users of a server without configured users: only default, which has all rights without
// a password. table holds all commands by their names in Redis.
func NewUsers(table *commands.Table) *Users {
	us := &Users{maker: ruleMaker{table: table}, standard: &User{name: DefaultName}}
	us.standard.obey(us.maker.defaultRules(), table)
	us.named = map[string]*User{DefaultName: us.standard}
	return us
}

// Everyone returns a user with all rights that is not in the list of users: the server itself.
func Everyone() *User { return &User{Unrestricted: true} }

// defaultRules returns the rules of the user default when none are configured.
func (m *ruleMaker) defaultRules() *rules {
	r := m.newRules()
	r.on, r.noPass = true, true
	root := r.selectors[0]
	root.allowAll(true)
	root.allKeys, root.allChannels = true, true
	return r
}

// Configure applies the directives acl-pubsub-default and acllog-max-len.
func (us *Users) Configure(allChannels bool, mostEntries int64) {
	us.maker.allChannels, us.Log.most = allChannels, mostEntries
}

// Default returns the user of a new connection.
func (us *Users) Default() *User { return us.standard }

// Find returns the user with a name, or nil.
func (us *Users) Find(name []byte) *User { return us.named[string(name)] }

// sorted returns all users by name.
func (us *Users) sorted() []*User {
	list := make([]*User, 0, len(us.named))
	for _, name := range slices.Sorted(maps.Keys(us.named)) {
		list = append(list, us.named[name])
	}
	return list
}

// Lines returns the rules of all users, in the form of the directive user.
func (us *Users) Lines() []string {
	var lines []string
	for _, u := range us.sorted() {
		lines = append(lines, u.name+" "+u.rules.String())
	}
	return lines
}

// LinesWithoutPassword returns Lines for a configuration that stores the password of the user default
// elsewhere: its line has no password. The line is left out if the user is otherwise in its initial state.
func (us *Users) LinesWithoutPassword() (lines []string) {
	plain, first := us.standard.rules.clone(), us.maker.defaultRules()
	plain.noPass, plain.passwords, first.noPass = false, nil, false
	for _, u := range us.sorted() {
		switch {
		case u != us.standard:
			lines = append(lines, u.name+" "+u.rules.String())
		case plain.String() != first.String():
			lines = append(lines, u.name+" "+plain.String())
		}
	}
	return lines
}

// HasOtherPassword reports whether the user default can log in with another password than this one.
func (us *Users) HasOtherPassword(than string) bool {
	r, hash := us.standard.rules, hashOf(than)
	return r.noPass || slices.ContainsFunc(r.passwords, func(other string) bool { return other != hash })
}

// LogIn returns the user with a name if the password is right, or nil. It takes as long for a user that does
// not exist.
func (us *Users) LogIn(name, password []byte) *User {
	u := us.Find(name)
	switch {
	case u == nil:
		_ = sha256.Sum256(password)
		return nil
	case !u.accepts(password):
		return nil
	}
	return u
}

// ByCertificate returns the user that a client certificate names. It returns nil if there is no such user, or
// it is off.
func (us *Users) ByCertificate(name string) *User {
	if u := us.named[name]; u != nil && u.rules.on {
		return u
	}
	return nil
}

// SetDefaultPassword applies requirepass: the user default has only this password; empty: no password.
func (us *Users) SetDefaultPassword(password string) {
	r := us.standard.rules.clone()
	r.noPass, r.passwords = password == "", nil
	if password != "" {
		r.passwords = []string{hashOf(password)}
	}
	us.standard.rules = r // the rights do not change
}

// set changes or makes a user by rules: all of them, or none. left holds the channels that the user's
// sessions may still listen to; nil if no channel was removed.
func (us *Users) set(name []byte, words []string) (u *User, left *Channels, err error) {
	merged, bad, ok := mergeSelectors(words)
	if !ok {
		return nil, nil, commands.ErrUserParenthesis([]byte(bad))
	}
	u = us.Find(name)
	next := us.maker.newRules()
	if u != nil {
		next = u.rules.clone()
	}
	for _, rule := range merged {
		if err := us.maker.apply(next, rule); err != nil {
			return nil, nil, commands.ErrUserRule([]byte(rule), err.Error())
		}
	}
	if u == nil {
		u = &User{name: string(name)}
		us.named[u.name] = u
	} else {
		left = remaining(u.rules, next)
	}
	u.obey(next, us.maker.table)
	return u, left, nil
}

// remove deletes a user and returns it, or nil.
func (us *Users) remove(name []byte) *User {
	u := us.Find(name)
	if u != nil {
		delete(us.named, u.name)
	}
	return u
}
