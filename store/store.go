package store

import (
	"hash/maphash"

	"lockserver/store/cow"
	"lockserver/store/dict"
	"lockserver/store/due"
	"lockserver/store/hash"
	"lockserver/store/hll"
	"lockserver/store/list"
	"lockserver/store/marks"
	"lockserver/store/renewals"
	"lockserver/store/set"
	"lockserver/store/stream"
	"lockserver/store/zset"
)

// Limits are the sizes up to which containers stay compact, as Redis'
// *-max-listpack-* and stream-node-* settings.
type Limits struct {
	Hash   hash.Limits
	Set    set.Limits
	List   list.Limits
	ZSet   zset.Limits
	Stream stream.Limits
	HLL    hll.Limits
	// Producers are the limits of streams that were given none; zero stands for Redis' own.
	Producers stream.ProducerLimits
}

// Observer is notified of every changed key while it is attached. It is called in the middle of a mutation:
// it may record the key but not touch the store.
type Observer interface {
	// KeyChanged: the key was created, written, given another deadline or removed.
	KeyChanged(db int, key []byte)
	// HolderChanged is KeyChanged for a semaphore with many holders. Only what the owner holds has changed;
	// owner nil: nothing that an owner holds.
	HolderChanged(db int, key, owner []byte)
	// KeyReady: nothing of the key's data changed, but who waits for it may have
	// something to do (XGROUP DESTROY).
	KeyReady(db int, key []byte)
	// DatabaseChanged: every key of the database may have changed (FLUSHDB, FLUSHALL, SWAPDB).
	DatabaseChanged(db int)
}

// Follower is notified of the new place of keys that move. It is called in the middle of a mutation and may
// not touch the store.
type Follower interface {
	// KeyMoved: what stood at key now stands at newKey of database to, whatever stood there.
	KeyMoved(db int, key []byte, to int, newKey []byte)
	// DatabasesSwapped: the contents of two databases have changed places.
	DatabasesSwapped(a, b int)
}

// Stats are counts since the start or the last ResetStats.
type Stats struct {
	Expired int64 // keys removed because their time had come
	// ExpiredFields is the same for fields of hashes.
	ExpiredFields int64
	Evicted       int64 // keys removed because memory was full
	Hits          int64 // look-ups by reading commands that found a key
	Misses        int64
	Freed         int64 // objects that Redis would have freed beside its commands: see Lazy
}

// Store is the data of one server.
type Store struct {
	nowMS, nowUS int64
	dbs          []*DB
	apart        *DB // nil until Apart is called
	// soonestMS is a time before which no key dies, no later than the bounds of any space; due.Never: none.
	soonestMS int64
	// renewMS is the same for renewals: see renew.go.
	renewMS     int64
	fields      due.Queue[timedKey]             // hashes, by the deadline of the field that dies first
	spareAlarms []*deadline                     // in no queue, for the next hashes that come into fields
	spareTimes  hash.Spare                      // of hashes that have gone
	alarms      [alarmKinds]due.Queue[timedKey] // sorted sets, by their first member: see alarms.go
	remembered  due.Queue[timedKey]             // streams, by what they are to forget first of their producers
	epoch       *cow.Epoch                      // of the keyspace
	values      *cow.Epoch                      // of the values: all cuts share these, too, and so does undo
	undo        *undo                           // nil: it is off
	seed        maphash.Seed
	hashes      *hash.Common
	sets        *set.Common
	zsets       *zset.Common
	limits      Limits
	used        int // bytes: see memory.go
	eviction    eviction
	lazy        Lazy
	effects     *recorder // nil: there is no journal
	observer    Observer  // nil: no client is waiting or watching
	follower    Follower  // nil: there is no follower
	lockEnds    LockEnds  // nil: no function
	witness     Witness   // nil: there is no witness
	dirty       int64     // see changes.go
	stats       Stats
	noTouch     bool
	// highestToken is returned by HighestToken.
	highestToken int64
	heldLooked   int64  // returned by HeldLooked
	prefetched   uint64 // what Prefetch read: kept so that it does read
	walk         set.Walk
	// frozenTime: overdue keys live on (while a journal is replayed, and only its own DELs remove them).
	frozenTime bool
	// follows: overdue keys and fields are gone for who looks, and stay: see SetFollows.
	follows bool
	// own are the keys that have their deadlines from clients of a writable replica: see own.go.
	ownDeadlines bool
	own          due.Queue[timedKey]
}

// New returns an empty store of n databases (at least 1).
func New(n int, limits Limits) *Store {
	s := &Store{seed: maphash.MakeSeed(), limits: limits, epoch: new(cow.Epoch), values: new(cow.Epoch), soonestMS: due.Never, renewMS: due.Never}
	s.hashes = &hash.Common{Epoch: s.values, Seed: s.seed}
	s.sets = &set.Common{Epoch: s.values, Seed: s.seed}
	s.zsets = &zset.Common{Epoch: s.values, Seed: s.seed}
	s.fill(n)
	return s
}

// fill makes n empty databases.
func (s *Store) fill(n int) {
	dbs := make([]DB, n) // they are there for as long as the store
	for id := range dbs {
		db := &dbs[id]
		db.id, db.store = id, s
		db.attach(s.newSpace())
		s.dbs = append(s.dbs, db)
	}
}

// space is the content of a database. SWAPDB exchanges the spaces of two databases and leaves the databases,
// which sessions point at, where they are.
type space struct {
	store *Store
	db    *DB // the database that holds this space now
	keys  *dict.Dict[value]
	timed int // keys with a deadline
	// bounds has, for each 64 slots, a time before which none of their keys dies.
	bounds      due.Bounds
	lockRecords lockRecords // of slots: see SetLockRecord
	// heldSince has the same for the times at which their locks were acquired: see lock_records.go.
	heldSince due.Bounds
	// renewals are of slots as well: see renew.go.
	renewals renewals.Table
	// deadlineSum is the sum of their deadlines, in milliseconds since 1970: the low half first.
	deadlineSum [2]uint64
	used        int // bytes of the store's used that are in this space
	// timedHashes is how many hashes of this space have fields with deadlines, and queuedHashes how many of
	// them stand in the store's queue of fields: the others die first.
	timedHashes, queuedHashes int
	// sharers is how many hold locks of this space beside the first holder of each.
	sharers     int
	remembering int                  // the same for streams and their producers
	tokens      marks.Set            // slots of the hashes that may have a token: see tokens.go
	stocks      marks.Set            // slots of the keys that begin with StockPrefix
	companions  int                  // keys with the prefix CompanionPrefix
	blooms      int                  // keys that hold Bloom filters
	recent      int                  // the slot of the key that was found last, or is expected next; may be any number
	alarms      [alarmKinds]alarms   // of sorted sets with members that fall due
	ownKeys     map[string]*deadline // the keys that stand in the store's queue own; nil: none
}

// before records the key of a slot for an undo, before its value or its deadline changes.
func (sp *space) before(slot int) {
	if u := sp.store.undo; u != nil {
		u.keep(sp, slot)
	}
}

// beforeOwned is before for a slot with a container that has just been cloned.
func (sp *space) beforeOwned(slot int, was value) {
	if u := sp.store.undo; u != nil {
		u.keepOwned(sp, slot, was)
	}
}

// absent records for an undo that the key of a slot was not there before.
func (sp *space) absent(slot int) {
	if u := sp.store.undo; u != nil {
		u.keepAbsent(sp, slot)
	}
}

func (s *Store) newSpace() *space {
	return &space{store: s, keys: dict.New[value](s.epoch, s.seed)}
}

// SetNow fixes the time for the units that follow, in microseconds since 1970. It follows the clock
// backwards too, as Redis does: deadlines are points in time.
func (s *Store) SetNow(us int64) {
	s.nowUS = us
	s.nowMS = us / 1000
}

// NowMS returns the time of this unit in milliseconds since 1970.
func (s *Store) NowMS() int64 { return s.nowMS }

// NowUS returns the time of this unit in microseconds since 1970.
func (s *Store) NowUS() int64 { return s.nowUS }

// Len returns the number of databases.
func (s *Store) Len() int { return len(s.dbs) }

// DB returns database id, or nil if there is no such database.
func (s *Store) DB(id int) *DB {
	if id < 0 || id >= len(s.dbs) {
		return nil
	}
	return s.dbs[id]
}

// SetLimits changes the sizes up to which containers stay compact; what exists is
// converted when next written to.
func (s *Store) SetLimits(l Limits) { s.limits = l }

// SetObserver attaches o, or detaches the present one when o is nil.
func (s *Store) SetObserver(o Observer) { s.observer = o }

// SetFollower attaches f, or detaches the present one when f is nil.
func (s *Store) SetFollower(f Follower) { s.follower = f }

// SetNoTouch decides whether look-ups leave the time of last access alone (CLIENT NO-TOUCH).
func (s *Store) SetNoTouch(on bool) { s.noTouch = on }

// SetFrozenTime decides whether overdue keys live on, as they must while a journal or a snapshot is loaded.
func (s *Store) SetFrozenTime(on bool) { s.frozenTime = on }

// SetFollows decides whether overdue keys, and what they hold, are kept although look-ups do not find them.
// On a replica only the master's commands remove them; under CLIENT PAUSE nothing does.
func (s *Store) SetFollows(on bool) { s.follows = on }

// Past reports whether a deadline has passed: a key, or a field, with such a deadline is gone. As in Redis it
// lives through the millisecond of its deadline, so that it never lives for less time than it was given.
// While time is frozen no deadline passes.
func (s *Store) Past(atMS int64) bool { return atMS < s.nowMS && !s.frozenTime }

// Comes reports whether a deadline is later than the present millisecond. As in Redis, a key or a field that
// is given any other deadline is removed at once (but see Takes). While time is frozen every deadline may be
// given.
func (s *Store) Comes(atMS int64) bool { return atMS > s.nowMS || s.frozenTime }

// Takes reports whether a key or a field keeps a deadline that it is given. On a replica any deadline stays
// that a client gives: as in Redis, one that has passed removes nothing. The key, or the field, is overdue
// then.
func (s *Store) Takes(atMS int64) bool { return s.Comes(atMS) || s.ownDeadlines }

// pastMS is the latest deadline that has passed: see Past.
func (s *Store) pastMS() int64 { return s.nowMS - 1 }

// Stats returns the counts since the last ResetStats.
func (s *Store) Stats() Stats { return s.stats }

// ResetStats sets every count to zero.
func (s *Store) ResetStats() {
	s.stats = Stats{}
	for _, db := range s.dbs {
		db.leasesExpired = 0
	}
}

// FlushAll removes every key of every database and returns how many there were.
func (s *Store) FlushAll() int {
	n := 0
	for _, db := range s.dbs {
		n += db.drop()
	}
	s.record(s.dbs[0], "FLUSHALL")
	s.dirty += int64(n)
	return n
}

// SwapDB exchanges the contents of two databases.
func (s *Store) SwapDB(a, b *DB) {
	s.dirty++
	if a == b {
		return
	}
	a.endAllLocks(true)
	b.endAllLocks(true)
	sa, sb := a.space, b.space
	a.attach(sb)
	b.attach(sa)
	if s.undo != nil {
		now := &s.undo.periods[1]
		now.swaps = append(now.swaps, [2]*DB{a, b})
	}
	s.record(a, "SWAPDB", appendInt(nil, int64(a.id)), appendInt(nil, int64(b.id)))
	if s.follower != nil {
		s.follower.DatabasesSwapped(a.id, b.id)
	}
	if s.observer != nil {
		s.observer.DatabaseChanged(a.id)
		s.observer.DatabaseChanged(b.id)
	}
}
