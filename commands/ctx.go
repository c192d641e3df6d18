package commands

import (
	"lockserver/internal/resp"
	"lockserver/store"
	"lockserver/store/hash"
	"lockserver/store/set"
	"lockserver/store/stream"
)

// Ctx is everything that a handler sees: the arguments, the database, the time of this unit, a source of chance, who
// is asking, and the reply. What is reached through Argv is valid during the call only; what outlives it (a waiter's
// key) is copied with Own.
type Ctx struct {
	Argv  [][]byte // the whole command, name first
	Row   *Row     // the command's row, the subcommand's for a container
	Table *Table
	Out   *resp.Writer
	DB    *store.DB
	Rand  Rand
	// Session is who is asking. The server's own commands know its concrete type; others use the interface.
	Session Session
	Host    Host
	// Settings are the limits in force for this unit.
	Settings *Settings
	// MayBlock is false where nothing waits: in a transaction, a script, a replay. Block then times out at once.
	MayBlock bool

	scanner Scanner
	scratch [32]byte
}

// Rand is a source of chance; a *rand.Rand of math/rand/v2 is one.
type Rand interface {
	IntN(n int) int
	Uint64() uint64
}

// Session is the identity of a client.
type Session interface {
	// ID is the client's number, as CLIENT ID answers it; 0 for replay and internal units.
	ID() int64
}

// Settings are the configured limits that handlers obey.
type Settings struct {
	MaxStringBytes int64 // proto-max-bulk-len
	LockWatchdogMS int64 // lock-watchdog-timeout
}

// Host is what the server does for the commands that need more than data.
type Host interface {
	// Park puts the command aside until one of its keys is ready, the deadline passes or the client goes.
	Park(c *Ctx, w Wait)
	// NextToken returns the next fencing token: above every one before, and above floor.
	NextToken(floor int64) int64
	// Renew makes the server renew the lease of the lock that this session holds, as long as the session lives and
	// owner holds the lock with this token. The server copies key and owner.
	Renew(c *Ctx, key, owner []byte, token int64)
	// StopRenewing ends Renew for a lock, whoever asked for it.
	StopRenewing(c *Ctx, key []byte)
	// Awaited reports whether a client stands in the queue (Wait.Queue) of the key: what becomes free is theirs.
	Awaited(db *store.DB, key []byte) bool
}

// Wait is what a command that cannot be answered yet waits for. Nothing in it may point into Argv.
type Wait struct {
	Keys [][]byte
	// DeadlineMS is when the wait is over, in milliseconds since 1970; 0: never.
	DeadlineMS int64
	// Queue: the waiters of a key are served strictly one after the other, as for a lock; one that is not served
	// keeps those behind it from trying. Otherwise each waiter tries.
	Queue bool
	// Try is called when a key has changed, in the order in which the clients began to wait. It either answers
	// (reply written or error returned) and returns true, or returns false having done nothing.
	Try func(c *Ctx) (bool, error)
	// TimedOut writes the reply for a wait that ran out.
	TimedOut func(c *Ctx)
	// Undo, if not nil, takes back what a successful Try did, for a client that was gone before it could be told.
	Undo func(c *Ctx)
}

// Block makes the client wait, or answers for it at once where nothing may wait.
func (c *Ctx) Block(w Wait) {
	if !c.MayBlock {
		w.TimedOut(c)
		return
	}
	c.Host.Park(c, w)
}

// Own returns a copy of b that stays valid after the call.
func Own(b []byte) []byte { return append(make([]byte, 0, len(b)), b...) }

// NowMS returns the time of this unit in milliseconds since 1970; every command of a unit sees the same.
func (c *Ctx) NowMS() int64 { return c.DB.Store().NowMS() }

// Scratch returns a small empty buffer for spelling out numbers; its content is lost at the next call.
func (c *Ctx) Scratch() []byte { return c.scratch[:0] }

// findString looks up key for a command on strings; ok is false if there is no such key.
func (c *Ctx) findString(key []byte) (val []byte, ok bool, err error) {
	r := c.DB.Find(key)
	if !r.Is(store.String) {
		return nil, false, ErrWrongType
	}
	return r.Bytes(), r.OK(), nil
}

// findHash looks up key for a command on hashes; nil if there is no such key.
func (c *Ctx) findHash(key []byte) (*hash.Hash, error) {
	r := c.DB.Find(key)
	if !r.Is(store.Hash) {
		return nil, ErrWrongType
	}
	return r.Hash(), nil
}

// findSet looks up key for a command on sets; nil if there is no such key.
func (c *Ctx) findSet(key []byte) (*set.Set, error) {
	r := c.DB.Find(key)
	if !r.Is(store.Set) {
		return nil, ErrWrongType
	}
	return r.Set(), nil
}

// findStream looks up key for a command on streams; nil if there is no such key.
func (c *Ctx) findStream(key []byte) (*stream.Stream, error) {
	r := c.DB.Find(key)
	if !r.Is(store.Stream) {
		return nil, ErrWrongType
	}
	return r.Stream(), nil
}
