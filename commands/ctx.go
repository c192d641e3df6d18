package commands

import (
	"lockserver/internal/gcra"
	"lockserver/internal/keyevent"
	"lockserver/internal/lockhistory"
	"lockserver/internal/resp"
	"lockserver/internal/tracecontext"
	"lockserver/internal/waiting"
	"lockserver/store"
	"lockserver/store/hash"
	"lockserver/store/list"
	"lockserver/store/set"
	"lockserver/store/stream"
	"lockserver/store/zset"
)

// Ctx is everything that a handler sees: the arguments, the database, the time of this unit, a source of
// random numbers, the session, and the reply. Memory that is reached through Argv is valid only during the
// call. Data that is kept longer (a waiter's key) is copied with Clone.
type Ctx struct {
	Argv  [][]byte // the whole command, name first
	Row   *Row     // the command's row, the subcommand's for a container
	Table *Table
	Out   *resp.Writer
	DB    *store.DB
	Rand  Rand
	// Session is the client. The server's own commands know its concrete type; other commands use the
	// interface.
	Session Session
	Host    Services
	Queues  Queues
	// Settings are the limits in force for this unit.
	Settings *Settings
	// MayBlock is false if nothing may wait: in a transaction, a script, a replay. Block then times out at
	// once.
	MayBlock bool
	// FromScript is set if a script calls the command.
	FromScript bool

	// Event is the event that Host.LockEvent records.
	Event LockEvent
	// Trace is the trace of the call, from the option TRACE; if Traced is false it is not valid.
	Trace  tracecontext.Context
	Traced bool

	scanner Scanner
	scratch [32]byte
	// names are buffers for the names of keys that a command makes up itself, so that they need not be
	// allocated.
	names [2][64]byte
	// entry is a buffer for the value that DELAY.ADD stores: see keepEntry.
	entry []byte
	// rate is the rate of the last call on a limiter, and terms are the words it was made from: see rateOf.
	rate  gcra.Rate
	terms [3]int64
	// limits is the memory of calls that name several limiters.
	limits *[mostLimits]oneLimit
}

// mostKeptEntry is the largest size in bytes of a buffer that Ctx.entry keeps.
const mostKeptEntry = 4 << 10

// keepEntry gives back a buffer that began as entry[:0].
func (c *Ctx) keepEntry(buf []byte) {
	if cap(buf) <= mostKeptEntry {
		c.entry = buf
	}
}

// Rand is a source of random numbers; a *rand.Rand of math/rand/v2 is one.
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
	// Events are the classes of events that are published (notify-keyspace-events). It is empty if no form of
	// channel is enabled.
	Events keyevent.Class
	// MayRecur returns why no delayed entry that recurs can be added now: a member of the group does not know
	// them. nil: the server is in no group.
	MayRecur func() error
	// OneSlot: the keys of one command must share a slot (cluster-enabled).
	OneSlot bool
	// Refusals counts the refused calls of limiters; nil: nothing counts them.
	Refusals *Refusals
	// Counts has the numbers of events since the start, or since CONFIG RESETSTAT; nil: nothing counts them.
	Counts *Counts
}

// Counts holds numbers of events that only commands see.
type Counts [5]int64

// The events of Counts.
const (
	CountGives        = iota // calls of LIMIT.GIVE that gave units back
	CountExtensions          // calls of SECKILL.EXTEND that made a hold end later
	CountCarts               // carts that were sold; a retry does not count
	CountCartRefusals        // calls of SECKILL.CART that one of the sales refused
	CountPriorities          // calls that waited with a PRIORITY above 0
)

// Count counts an event.
func (c *Ctx) Count(event int) {
	if counts := c.Settings.Counts; counts != nil {
		counts[event]++
	}
}

// Services are the functions that commands need besides their data.
type Services interface {
	ShardServices
	ServerServices
}

// ShardServices are the functions of the shard that has the data.
type ShardServices interface {
	// Park makes the command wait until one of its keys is ready, the deadline passes or the client
	// disconnects. An error says that the wait would close a deadlock cycle; then nothing waits.
	Park(c *Ctx, w Wait) error
	// NextToken returns the next fencing token. It is above every earlier token and above floor, from which
	// it can rise (store.TokenCanRise).
	NextToken(floor int64) int64
	// Held records that owner holds a lock with this token, which this session has acquired. If renewed is
	// set, the server renews the lease while owner holds the lock with this token. It does so as long as the
	// session, or a session that is attached to the owner, is connected. The server copies key and owner. It
	// returns the record that the lock stores for this session: see store.HashEdit.SetLockRecord. was is the
	// record of a hold that is only confirmed; 0: it is a new hold.
	Held(c *Ctx, key, owner []byte, token int64, renewed bool, was uint64) (record uint64)
	// StopRenewing ends the renewal of a lock's lease, whatever session requested it.
	StopRenewing(c *Ctx, key []byte)
	// HeldShare is Held for one of the owners that hold a lock together.
	HeldShare(c *Ctx, key, owner []byte, token int64, renewed bool, was uint64) (record uint64)
	// ReleasedShare is StopRenewing for one of these owners; released: the owner no longer holds the lock.
	ReleasedShare(c *Ctx, key, owner []byte, released bool)
	// ForcedShare is ReleasedShare for a holder that has lost its share by LOCK.FORCE.
	ForcedShare(c *Ctx, key, owner []byte)
	// Emptied reports that the running command has removed all keys of all databases. The data on disk must
	// not restore them.
	Emptied()
	// TryAgainAt lets the waiters in the queue of the key try again at a time (milliseconds since 1970), as
	// if the key had changed then.
	TryAgainAt(c *Ctx, key []byte, atMS int64)
	// RisingSecond returns nowS, the time in seconds since 1970, or the highest value of all calls if that is
	// later. So results that use it do not go back when the clock is set back.
	RisingSecond(nowS int64) int64
	// Unconfirmed reports whether the owner was granted all of these locks after waits with Wait.Notify, and
	// has confirmed none of the grants.
	Unconfirmed(c *Ctx, keys [][]byte, owner []byte) bool
	// Confirmed reports that an owner knows that it holds a lock with this token.
	Confirmed(c *Ctx, key, owner []byte, token int64)
	// StaleToken counts a command that was refused, or did nothing, because its token was not the token of
	// the lock.
	StaleToken(c *Ctx)
	// LockEvent records Ctx.Event, for figures and the history. It copies the data that it needs, and must
	// not change the data of the store. An event that ends a hold is recorded before the change.
	LockEvent(c *Ctx)
}

// ServerServices are the functions of the server around the shards.
type ServerServices interface {
	// Released reports that a lock is free: its owner, or LOCK.FORCE, has released it. It returns
	// AnyoneListens, which is mostly false, so that the caller need not ask.
	Released(c *Ctx, key []byte, forced bool) (listened bool)
	// Publish sends a message to all subscribers of the channel, and returns their number. They get it after
	// the reply of the running unit; neither slice is kept.
	Publish(channel, message []byte) int64
	// TellFirst sends the client its invalidation messages (CLIENT TRACKING) for the running command before
	// the reply, which must not have begun. It is for commands that empty a database, as in Redis.
	TellFirst(c *Ctx)
	// KeyEvent publishes an event of a key of db; see Ctx.Notify. The key is not kept.
	KeyEvent(db *store.DB, event string, key []byte)
	// AnyoneListens reports whether anyone is subscribed to anything: if not, a
	// message need not even be written.
	AnyoneListens() bool
	// Nested runs a command inside another as if its client had sent it, but without waiting. Permissions are
	// checked, the command is counted, and its reply or error becomes the outer command's. argv is not kept.
	Nested(c *Ctx, row *Row, argv [][]byte) error
	// ReadsEverything reports whether the client may run the command and read every key. Commands that name
	// keys by patterns (SORT) need it.
	ReadsEverything(c *Ctx) bool
	// MayRead reports whether the client may read a key that the call does not name.
	MayRead(c *Ctx, key []byte) bool
}

// LockEvent is an event of a lock that was caused by a command on locks.
type LockEvent struct {
	Kind    lockhistory.Kind
	Reason  lockhistory.Reason
	Mode    lockhistory.Mode
	Permits int32 // of a semaphore; 0: it is a lock
	Token   int64 // 0: no token
	// Plain: the lock has one holder, and Ctx.DB.LockRecord has the record that Held returned for it.
	Plain bool
	// Names is filled by RecordEvent. The names are valid during the call of Services.LockEvent.
	lockhistory.Names
}

// Queues are the queues of waiting commands; *waiting.Queues is one.
type Queues interface {
	// Awaited reports whether a call is in the queue (Wait.Queue) of the key before the caller. Such a call
	// gets the lock first. A caller outside the queue is behind all calls in it.
	Awaited(db int, key []byte) bool
	// LatchAwaited returns the number of clients that wait for the latch at a key (Wait.Latch).
	LatchAwaited(db int, key []byte) int
	// LatchesBelow visits at most most queues with such waiters, the latest first, from a cursor on; the
	// first cursor is 0. It returns the next cursor; 0 at the end.
	LatchesBelow(db int, cursor uint64, most int, visit func(q *waiting.Queue)) (next uint64)
}

// NewEvent returns Ctx.Event with only the names set. The caller passes it to Services.LockEvent.
func (c *Ctx) NewEvent(key, owner []byte) *LockEvent {
	c.Event = LockEvent{Names: lockhistory.Names{Key: key, Owner: owner}}
	return &c.Event
}

// RecordEvent reports an event of a lock.
func (c *Ctx) RecordEvent(key, owner []byte, e LockEvent) {
	c.Event = e
	c.Event.Key, c.Event.Owner = key, owner
	c.Host.LockEvent(c)
}

// Clone returns a copy of b that stays valid after the call.
func Clone(b []byte) []byte { return append(make([]byte, 0, len(b)), b...) }

// CloneAll returns copies of all slices of list, in one piece of memory.
func CloneAll(list [][]byte) [][]byte {
	total := 0
	for _, b := range list {
		total += len(b)
	}
	own, buf := make([][]byte, len(list)), make([]byte, 0, total)
	for i, b := range list {
		at := len(buf)
		buf = append(buf, b...)
		own[i] = buf[at:len(buf):len(buf)]
	}
	return own
}

// NowMS returns the time of this unit in milliseconds since 1970; every command of a unit sees the same.
func (c *Ctx) NowMS() int64 { return c.DB.Store().NowMS() }

// CeilNowMS is NowMS rounded up. An event at a time that is counted from there is up to a millisecond late,
// never early. The deadlines of keys and fields count from NowMS: keys and fields exist through the
// millisecond of their deadline (store.Past).
func (c *Ctx) CeilNowMS() int64 { return (c.DB.Store().NowUS() + 999) / 1000 }

// LeaseEndMS returns the deadline of a lease of ms milliseconds that begins now: see LeaseLeftMS.
func LeaseEndMS(c *Ctx, ms int64) int64 { return c.CeilNowMS() - 1 + ms }

// Scratch returns a small empty buffer for writing numbers; its content is lost at the next call.
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

// hasField reports whether a hash, which may be missing, has a field for a reader. As in Redis a replica
// hides an overdue field, although HLEN and HRANDFIELD count it.
func (c *Ctx) hasField(h *hash.Hash, field []byte) bool {
	return h != nil && h.Has(field) && !c.DB.Overdue(h, field)
}

// findSet looks up key for a command on sets; nil if there is no such key.
func (c *Ctx) findSet(key []byte) (*set.Set, error) {
	r := c.DB.Find(key)
	if !r.Is(store.Set) {
		return nil, ErrWrongType
	}
	return r.Set(), nil
}

// findZSet looks up key for a command on sorted sets; nil if there is no such key.
func (c *Ctx) findZSet(key []byte) (*zset.ZSet, error) {
	r := c.DB.Find(key)
	if !r.Is(store.ZSet) {
		return nil, ErrWrongType
	}
	return r.ZSet(), nil
}

// findList looks up key for a command on lists; nil if there is no such key.
func (c *Ctx) findList(key []byte) (*list.List, error) {
	r := c.DB.Find(key)
	if !r.Is(store.List) {
		return nil, ErrWrongType
	}
	return r.List(), nil
}

// findStream looks up key for a command on streams; nil if there is no such key.
func (c *Ctx) findStream(key []byte) (*stream.Stream, error) {
	r := c.DB.Find(key)
	if !r.Is(store.Stream) {
		return nil, ErrWrongType
	}
	return r.Stream(), nil
}

// Notify publishes an event of a key if events of this class are enabled (notify-keyspace-events); otherwise
// it costs a comparison. Handlers call it after the change, once for each event, in Redis' order and with
// Redis' names. Events without a handler, such as expiry, are reported to the server by the store: see
// store.Witness.
func (c *Ctx) Notify(class keyevent.Class, event string, key []byte) {
	if c.Settings.Events&class != 0 {
		c.Host.KeyEvent(c.DB, event, Clone(key)) // a copy, so that a key on the caller's stack may stay there
	}
}

// NotifyIn is Notify for a key of another database than the session's.
func (c *Ctx) NotifyIn(db *store.DB, class keyevent.Class, event string, key []byte) {
	if c.Settings.Events&class != 0 {
		c.Host.KeyEvent(db, event, Clone(key))
	}
}

// NotifyTaken is Notify for an event that removed an element from a container. gone: the key was removed with
// its last element.
func (c *Ctx) NotifyTaken(class keyevent.Class, event string, key []byte, gone bool) {
	c.Notify(class, event, key)
	if gone {
		c.Notify(keyevent.Generic, "del", key)
	}
}

// notifyStored is Notify for a command that stored its result in a key. empty: the result was empty. existed:
// the key existed before.
func (c *Ctx) notifyStored(class keyevent.Class, event string, key []byte, empty, existed bool) {
	switch {
	case !empty:
		c.Notify(class, event, key)
	case existed:
		c.Notify(keyevent.Generic, "del", key)
	}
}

// notifySet publishes that a key was made a string, with a deadline if ttl has one. With a deadline that has
// passed the key is removed at once.
func (c *Ctx) notifySet(key []byte, ttl store.TTL) {
	c.Notify(keyevent.String, "set", key)
	if ttl <= 0 {
		return
	}
	c.Notify(keyevent.Generic, "expire", key)
	if !c.DB.Store().Takes(int64(ttl)) {
		c.Notify(keyevent.Expired, "expired", key)
	}
}

// notifyDeadline publishes that a key was given a deadline, or, if the deadline has passed, that the key was
// removed at once.
func (c *Ctx) notifyDeadline(key []byte, atMS int64) {
	if !c.DB.Store().Takes(atMS) {
		c.Notify(keyevent.Generic, "del", key)
	} else {
		c.Notify(keyevent.Generic, "expire", key)
	}
}
