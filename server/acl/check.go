package acl

import (
	"lockserver/commands"
	"lockserver/internal/ascii"
	"lockserver/internal/decimal"
	"lockserver/store"
)

// Reason says which part of a command was refused. With several selectors, the reason with the highest number
// is reported.
type Reason uint8

// The reasons, in the order of Redis and Valkey.
const (
	Allowed        Reason = iota
	DeniedDatabase        // as in Valkey 9.1
	DeniedCommand
	DeniedKey
	DeniedAuth // a failed login
	DeniedChannel
)

// Denial is the reason why a command may not run; the zero value means that it may.
type Denial struct {
	Reason Reason
	Row    *commands.Row // of the command, or of the command inside it (GUARD)
	Object []byte        // the key, channel or database number; valid as long as the call's words
}

// Error returns the error reply for the client.
func (d *Denial) Error(u *User) error {
	switch d.Reason {
	case DeniedKey:
		return commands.ErrNoKeyPermission
	case DeniedChannel:
		return commands.ErrNoChannelPermission
	case DeniedDatabase:
		return commands.ErrNoDBPermission
	}
	return commands.ErrNoCommandPermission(u.name, d.Row.FullName())
}

// subject returns the refused object for the log.
func (d *Denial) subject() string {
	if d.Reason == DeniedCommand {
		return d.Row.FullName()
	}
	return string(d.Object)
}

// Checker decides whether users may run commands. It has buffers for that, so only one goroutine may use it
// at a time.
type Checker struct {
	table *commands.Table
	refs  []commands.KeyRef
	named []int
}

// NewChecker returns a Checker for a table, in which it looks up commands inside of others (GUARD).
func NewChecker(table *commands.Table) *Checker { return &Checker{table: table} }

// Check decides whether a user may run a command on a database. argv holds the words of the command; their
// number must be right for row.
func (c *Checker) Check(u *User, db *store.DB, row *commands.Row, argv [][]byte) Denial {
	if u.Unrestricted {
		return Denial{}
	}
	selectors := u.rules.selectors
	call := call{checker: c, db: db, row: row, argv: argv}
	var worst verdict
	for i, s := range selectors {
		v := call.judge(s)
		if v.reason == Allowed {
			if row.Inner > 0 {
				return c.checkInner(u, db, row, argv)
			}
			return Denial{}
		}
		if v.reason == DeniedCommand { // the position is that of the selector before, as in Redis
			v.at, v.object = worst.at, worst.object
		}
		if i == 0 || v.reason > worst.reason || v.reason == worst.reason && v.at > worst.at {
			worst = v
		}
	}
	return Denial{worst.reason, row, worst.object}
}

// checkInner does what Check does, for the command inside another command. It allows an unknown command,
// because running it fails anyway.
func (c *Checker) checkInner(u *User, db *store.DB, row *commands.Row, argv [][]byte) Denial {
	inner, err := c.table.Resolve(argv[row.Inner:])
	if err != nil || inner.Inner > 0 {
		return Denial{}
	}
	return c.Check(u, db, inner, argv[row.Inner:])
}

// ReadsEverything reports whether one selector lets the user run the command and read every key, which is
// required to name keys by patterns (SORT).
func (c *Checker) ReadsEverything(u *User, db *store.DB, row *commands.Row, argv [][]byte) bool {
	if u.Unrestricted {
		return true
	}
	call := call{checker: c, db: db, row: row, argv: argv}
	for _, s := range u.rules.selectors {
		if s.reachesAll(reads) && call.judge(s).reason == Allowed {
			return true
		}
	}
	return false
}

// reachesAll reports whether the selector allows this access to every key.
func (s *selector) reachesAll(need access) bool {
	if s.allKeys {
		return true
	}
	for i := range s.keys {
		if k := &s.keys[i]; k.text == "*" && k.access&need == need {
			return true
		}
	}
	return false
}

// MayRead reports whether any selector lets the user read a key of a database.
func (u *User) MayRead(db int, key []byte) bool { return u.may(db, key, reads) }

// MayWrite reports whether any selector lets the user write a key of a database.
func (u *User) MayWrite(db int, key []byte) bool { return u.may(db, key, writes) }

func (u *User) may(db int, key []byte, access access) bool {
	if u.Unrestricted {
		return true
	}
	for _, s := range u.rules.selectors {
		if s.allowsDB(db) && s.allowsKey(key, access) {
			return true
		}
	}
	return false
}

// call is a command that is checked with one selector after the other.
type call struct {
	checker *Checker
	db      *store.DB
	row     *commands.Row
	argv    [][]byte
	found   bool // the keys are in checker.refs
}

// verdict is the result of a selector: the reason, and the position of the refused word. Keys that are not
// words count as words after the last.
type verdict struct {
	reason Reason
	at     int
	object []byte
}

func (c *call) judge(s *selector) verdict {
	if s.someDBs {
		if v := c.judgeDatabases(s); v.reason != Allowed {
			return v
		}
	}
	if !s.runs(c.row, c.argv) {
		return verdict{reason: DeniedCommand}
	}
	if !s.allKeys {
		if v := c.judgeKeys(s); v.reason != Allowed {
			return v
		}
	}
	if first := c.row.Channels.First; first > 0 && !s.allChannels {
		return c.judgeChannels(s, first)
	}
	return verdict{}
}

// judgeDatabases checks the databases that the call uses. It accepts the number of a missing database: the
// command itself reports that error.
func (c *call) judgeDatabases(s *selector) verdict {
	of := &c.row.Databases
	if of.All || c.row.UsesOwnDB() && !s.allowsDB(c.db.ID()) {
		return verdict{DeniedDatabase, 0, c.argv[0]}
	}
	if of.Named == nil {
		return verdict{}
	}
	c.checker.named = of.Named(c.argv, c.checker.named[:0])
	for _, at := range c.checker.named {
		id, ok := decimal.ParseInt(c.argv[at])
		if ok && c.db.Store().DB(int(id)) != nil && !s.allowsDB(int(id)) {
			return verdict{DeniedDatabase, at, c.argv[at]}
		}
	}
	return verdict{}
}

// runs reports whether the selector allows the command, for any keys. Commands for logging in are always
// allowed.
func (s *selector) runs(row *commands.Row, argv [][]byte) bool {
	if s.allowed.has(row) || row.Flags.Has(commands.NoAuth) {
		return true
	}
	if len(argv) < 2 {
		return false
	}
	for _, word := range s.firstArgs[row.Index()] {
		if ascii.EqualFold(argv[1], word) {
			return true
		}
	}
	return false
}

func (c *call) judgeKeys(s *selector) verdict {
	if pos, use, ok := c.row.OnlyKey(); ok {
		if pos < len(c.argv) && !c.allowsUse(s, c.argv[pos], use) {
			return verdict{DeniedKey, pos, c.argv[pos]}
		}
	} else {
		if !c.found {
			// Redis checks no key if it cannot find all of them (PFMERGE key): D130.
			c.checker.refs, _ = c.row.OwnKeyRefs(c.argv, c.checker.refs[:0])
			c.found = true
		}
		for _, ref := range c.checker.refs {
			if !c.allowsUse(s, c.argv[ref.Pos], ref.Flags) {
				return verdict{DeniedKey, ref.Pos, c.argv[ref.Pos]}
			}
		}
	}
	if c.row.Implied != nil {
		return c.judgeImplied(s)
	}
	return verdict{}
}

// allowsUse reports whether the selector allows a use of a key, and the further writes of the server that a
// write there causes.
func (c *call) allowsUse(s *selector, key []byte, use commands.KeyFlags) bool {
	need := accessOf(use)
	if !s.allowsKey(key, need) {
		return false
	}
	if need&writes == 0 || !commands.ActsLater(key) {
		return true
	}
	write := commands.KeyWrite{Row: c.row, Argv: c.argv, Key: key, Use: use}
	if !c.allowsActs(s, &write, c.db) {
		return false
	}
	if c.row.Databases.Named == nil {
		return true
	}
	c.checker.named = c.row.Databases.Named(c.argv, c.checker.named[:0])
	for _, at := range c.checker.named { // the command may write the key there (MOVE, COPY)
		if id, ok := decimal.ParseInt(c.argv[at]); ok {
			if db := c.db.Store().DB(int(id)); db != nil && !c.allowsActs(s, &write, db) {
				return false
			}
		}
	}
	return true
}

// allowsActs reports whether the selector allows the server's writes in a database that a write causes.
func (c *call) allowsActs(s *selector, write *commands.KeyWrite, db *store.DB) bool {
	ok := true
	any := write.ActedOn(db, func(key []byte, use commands.KeyFlags) bool {
		ok = s.allowsKey(key, accessOf(use))
		return ok
	})
	return ok && (!any || s.reachesAll(writes))
}

// judgeImplied checks the keys that the call uses without naming them.
func (c *call) judgeImplied(s *selector) (v verdict) {
	at := len(c.argv)
	c.row.Implied(c.db, c.argv, func(key []byte, use commands.KeyFlags) bool {
		if s.allowsKey(key, accessOf(use)) {
			at++
			return true
		}
		v = verdict{DeniedKey, at, append([]byte(nil), key...)}
		return false
	})
	return v
}

// allowsKey reports whether a key may be used with this access.
func (s *selector) allowsKey(key []byte, need access) bool {
	if s.allKeys {
		return true
	}
	head := headOf(key)
	for i := range s.keys {
		if k := &s.keys[i]; head&k.mask == k.head && k.access&need == need && k.matches(key) {
			return true
		}
	}
	return false
}

func (c *call) judgeChannels(s *selector, first int) verdict {
	end := first + 1
	if c.row.Channels.Many {
		end = len(c.argv)
	}
	for i := first; i < end; i++ {
		if !allowsChannel(s.channels, c.argv[i], c.row.Channels.Pattern) {
			return verdict{DeniedChannel, i, c.argv[i]}
		}
	}
	return verdict{}
}

func allowsChannel(patterns []pattern, name []byte, isPattern bool) bool {
	for i := range patterns {
		if patterns[i].matchesChannel(name, isPattern) {
			return true
		}
	}
	return false
}

// Lost returns the reply of EXEC after the right was lost while the command was queued.
func (d *Denial) Lost() string {
	switch d.Reason {
	case DeniedKey:
		return "no permission to touch the specified keys"
	case DeniedChannel:
		return "no permission to access one of the channels used as arguments"
	case DeniedDatabase:
		return "no permission to access the database"
	}
	return "no permission to execute the command or subcommand"
}
