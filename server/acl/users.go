package acl

import (
	"crypto/sha256"
	"maps"
	"slices"

	"lockserver/commands"
)

// Users are all users of a server, and what they were refused.
type Users struct {
	Log   Log
	maker ruleMaker
	named map[string]*User
	// standard is the user default. It is there from the beginning to the end.
	standard *User
}

// NewUsers returns the users of a server that configures none: only default, which may do everything without
// a password. table holds all commands by the names that Redis gives them.
func NewUsers(table *commands.Table) *Users {
	us := &Users{maker: ruleMaker{table: table}, standard: &User{name: DefaultName}}
	us.standard.obey(us.maker.defaultRules(), table)
	us.named = map[string]*User{DefaultName: us.standard}
	return us
}

// Everyone returns a user that may do everything and is not in the list of users: the server itself.
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

// Configure sets what the directives acl-pubsub-default and acllog-max-len say.
func (us *Users) Configure(allChannels bool, mostEntries int64) {
	us.maker.allChannels, us.Log.most = allChannels, mostEntries
}

// Default returns the user of a new connection.
func (us *Users) Default() *User { return us.standard }

// Find is the user of that name, nil if there is none.
func (us *Users) Find(name []byte) *User { return us.named[string(name)] }

// sorted are all users by name.
func (us *Users) sorted() []*User {
	list := make([]*User, 0, len(us.named))
	for _, name := range slices.Sorted(maps.Keys(us.named)) {
		list = append(list, us.named[name])
	}
	return list
}

// Lines are the rules of all users, each as words behind the directive user.
func (us *Users) Lines() []string {
	var lines []string
	for _, u := range us.sorted() {
		lines = append(lines, u.name+" "+u.rules.String())
	}
	return lines
}

// LinesWithoutPassword are Lines for a configuration that has the password of the user default elsewhere: its
// line has none. It is left out if the user is otherwise as it is from the beginning.
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

// LogIn returns the user of that name if the password is good, or nil. It takes as long for a user that
// there is not.
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

// SetDefaultPassword obeys requirepass: the user default has this password and no other; empty: none.
func (us *Users) SetDefaultPassword(password string) {
	r := us.standard.rules.clone()
	r.noPass, r.passwords = password == "", nil
	if password != "" {
		r.passwords = []string{hashOf(password)}
	}
	us.standard.rules = r // what the user may run is as it was
}

// set changes a user, or makes one, by rules: all of them, or none. left are the channels that the user's
// sessions may still listen to, nil if none were taken away.
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

// remove deletes a user and returns it; nil: there is no such user.
func (us *Users) remove(name []byte) *User {
	u := us.Find(name)
	if u != nil {
		delete(us.named, u.name)
	}
	return u
}
