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
	// Producers are the limits of streams without limits of their own; zero stands for the limits of Redis.
	Producers stream.ProducerLimits
}

// Observer is notified of every changed key while it is attached. It is called in the middle of a mutation:
// it may record the key but not touch the store.
type Observer interface {
	// KeyChanged: the key was created, written, given another deadline or removed.
	KeyChanged(db int, key []byte)
	// HolderChanged is KeyChanged for a semaphore with many holders. Only the holds of owner have changed; if
	// owner is nil, no owner's holds have changed.
	HolderChanged(db int, key, owner []byte)
	// KeyReady: nothing of the key's data changed, but a client that waits for it may have something to do
	// (XGROUP DESTROY).
	KeyReady(db int, key []byte)
	// DatabaseChanged: every key of the database may have changed (FLUSHDB, FLUSHALL, SWAPDB).
	DatabaseChanged(db int)
}

// Follower is notified of the new key of values that move. It is called in the middle of a mutation and may
// not touch the store.
type Follower interface {
	// KeyMoved: the value of key is now at newKey of database to, and has replaced the value there.
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
	// soonestMS is a time before which no key expires, no later than the bounds of any space; due.Never if no
	// key expires.
	soonestMS int64
	// renewMS is the same for renewals: see renew.go.
	renewMS     int64
	fields      due.Queue[timedKey]             // hashes, by the earliest deadline of a field
	spareAlarms []*deadline                     // in no queue, for the next hashes that are put into fields
	spareTimes  hash.Spare                      // of removed hashes
	alarms      [alarmKinds]due.Queue[timedKey] // sorted sets, by their first member: see alarms.go
	remembered  due.Queue[timedKey]             // streams, by the time at which they forget the first message of a producer
	epoch       *cow.Epoch                      // of the keyspace
	containers
	undo     *undo // nil: it is off
	noUndo   bool  // nothing can be undone: see Undoing.Enable
	seed     maphash.Seed
	used     int // bytes: see value.go
	eviction eviction
	lazy     Lazy
	effects  *recorder // nil: there is no journal
	observer Observer  // nil: no client is waiting or watching
	follower Follower  // nil: there is no follower
	lockEnds LockEnds  // nil: no function
	witness  Witness   // nil: there is no witness
	dirty    int64     // see changes.go
	stats    Stats
	noTouch  bool
	// highestToken is returned by HighestToken.
	highestToken int64
	heldLooked   int64  // returned by HeldLooked
	prefetched   uint64 // the sum of the bytes that Prefetch reads, so that the compiler keeps the reads
	walk         set.Walk
	// frozenTime: overdue keys live on (while a journal is replayed, and only its own DELs remove them).
	frozenTime bool
	// follows: look-ups do not find overdue keys and fields, but these are kept: see SetFollows.
	follows bool
	// own holds the keys that have their deadlines from clients of a writable replica: see own.go.
	ownDeadlines bool
	own          due.Queue[timedKey]
}

// New returns an empty store of n databases (at least 1).
func New(n int, limits Limits) *Store {
	s := &Store{seed: maphash.MakeSeed(), epoch: new(cow.Epoch), soonestMS: due.Never, renewMS: due.Never}
	s.eviction.store = s
	s.limits, s.values = limits, new(cow.Epoch)
	s.hashes = &hash.Common{Epoch: s.values, Seed: s.seed}
	s.sets = &set.Common{Epoch: s.values, Seed: s.seed}
	s.zsets = &zset.Common{Epoch: s.values, Seed: s.seed}
	s.fill(n)
	return s
}

// Renewals are the renewals of all databases.
type Renewals struct{ store *Store }

// Renewals returns the door to the renewals of all databases.
func (s *Store) Renewals() Renewals { return Renewals{s} }

// fill makes n empty databases.
func (s *Store) fill(n int) {
	dbs := make([]DB, n) // they exist for as long as the store
	for id := range dbs {
		db := &dbs[id]
		db.id, db.store = id, s
		db.attach(s.newSpace())
		s.dbs = append(s.dbs, db)
	}
}

// space is the content of a database. SWAPDB exchanges the spaces of two databases. The databases themselves,
// to which sessions point, stay.
type space struct {
	store *Store
	db    *DB // the database that holds this space now
	keys  *dict.Dict[value]
	timed int // keys with a deadline
	// bounds has, for each 64 slots, a time before which none of their keys expires.
	bounds      due.Bounds
	lockRecords lockRecords // of slots: see SetLockRecord
	// heldSince has, for each 64 slots, a time before which none of their locks was acquired: see
	// lock_records.go.
	heldSince due.Bounds
	// renewals are by slot as well: see renew.go.
	renewals renewals.Table
	// deadlineSum is the sum of their deadlines, in milliseconds since 1970: the low half first.
	deadlineSum [2]uint64
	used        int // the part of the store's used bytes that is in this space
	// timedHashes is the number of hashes of this space that have fields with deadlines. queuedHashes is the
	// number of them in the store's queue of fields; the keys of the other hashes expire first.
	timedHashes, queuedHashes int
	// sharers is the number of holders of locks of this space, without the first holder of each lock.
	sharers     int
	remembering int                  // streams in the queue remembered
	tokens      marks.Set            // slots of the hashes that may have a token: see tokens.go
	stocks      marks.Set            // slots of the keys that begin with StockPrefix
	companions  int                  // keys with the prefix CompanionPrefix
	blooms      int                  // keys that hold Bloom filters
	recent      int                  // the slot of the key that was found last, or is expected next; any number is allowed
	alarms      [alarmKinds]alarms   // of sorted sets with members that fall due
	ownKeys     map[string]*deadline // the keys in the store's queue own; nil: no keys
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

// SetNow sets the time for the following units, in microseconds since 1970. The time may also go backwards,
// as in Redis: deadlines are points in time.
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

// Past reports whether a deadline has passed: a key or a field with such a deadline is gone. As in Redis a
// key exists until the end of the millisecond of its deadline, so that it never lives for less time than it
// was given. While time is frozen no deadline passes.
func (s *Store) Past(atMS int64) bool { return atMS < s.nowMS && !s.frozenTime }

// Comes reports whether a deadline is later than the present millisecond. As in Redis, a key or a field that
// is given any other deadline is removed at once (but see Takes). While time is frozen every deadline is
// accepted.
func (s *Store) Comes(atMS int64) bool { return atMS > s.nowMS || s.frozenTime }

// Takes reports whether a key or a field keeps a deadline that it is given. On a replica any deadline from a
// client is kept. As in Redis, a deadline that has passed removes nothing: the key, or the field, is overdue
// then.
func (s *Store) Takes(atMS int64) bool { return s.Comes(atMS) || s.ownDeadlines }

// pastMS returns the latest deadline that has passed: see Past.
func (s *Store) pastMS() int64 { return s.nowMS - 1 }

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
	a.space.endAllLocks(true)
	b.space.endAllLocks(true)
	swap := func() {
		sa, sb := a.space, b.space
		a.attach(sb)
		b.attach(sa)
	}
	swap()
	s.undoBy(swap)
	s.record(a, "SWAPDB", appendInt(nil, int64(a.id)), appendInt(nil, int64(b.id)))
	if s.follower != nil {
		s.follower.DatabasesSwapped(a.id, b.id)
	}
	if s.observer != nil {
		s.observer.DatabaseChanged(a.id)
		s.observer.DatabaseChanged(b.id)
	}
}

// eviction is the state of eviction.
type eviction struct {
	Memory
	store  *Store
	policy Policy // of Memory
	lfu    bool   // policy is one of the LFU policies: the hot path reads this field
	beside int    // bytes that are used, but not by the data
	chance Chance
	pool   []candidate // by score: the last is evicted first
	turn   int         // the next database, for random policies
	cursor int         // where search continues
	looks  int         // how many keys search may still look at in this call
}

// candidate is a key that may be evicted. It is only a name: Evict checks whether the key still exists and
// may be evicted when its turn comes.
type candidate struct {
	score uint64 // the highest score is evicted first
	space *space
	key   string
}

// Witness is called for events at keys that no command reports. The call is made in the middle of a mutation:
// it may not touch the store. The keys belong to the store.
type Witness interface {
	// KeyExpired: the key's deadline has passed, and the key is removed.
	KeyExpired(db *DB, key []byte)
	// KeyEvicted: the key was removed because memory was full.
	KeyEvicted(db *DB, key []byte)
	// FieldsExpired: fields of a hash have expired. gone: the key was removed with the last field.
	FieldsExpired(db *DB, key []byte, gone bool)
	// KeyMade: the key is new. Its value may still be incomplete.
	KeyMade(db *DB, key []byte)
	// KeyMissed: a command read a key that is not there.
	KeyMissed(db *DB, key []byte)
}

// Used returns the approximate size of the data in bytes. SetMemory limits the sum of it and the bytes of
// SetBeside.
func (s *Store) Used() int { return s.used }

// SetLazy sets which removals count as freed in the background.
func (s *Store) SetLazy(l Lazy) { s.lazy = l }

// Lazy returns what SetLazy set.
func (s *Store) Lazy() Lazy { return s.lazy }

// CountFreed counts n objects as freed in the background. Each key of a removed database is one object.
func (s *Store) CountFreed(n int) { s.stats.Freed += int64(n) }

// CountFreedTable counts the n entries of a table outside the data as freed in the background, with more
// objects for the table itself. It does so if that is more than Redis frees at once.
func (s *Store) CountFreedTable(n, more int) {
	if n > lazyEffort {
		s.CountFreed(n + more)
	}
}

// SetWitness attaches w, or detaches the present one when w is nil. Without a witness the cost is a nil
// check.
func (s *Store) SetWitness(w Witness) { s.witness = w }

// SetLimits changes the sizes up to which containers stay compact. An existing container is converted when it
// is next written to.
func (s *Store) SetLimits(l Limits) { s.limits = l }

// SetObserver attaches o, or detaches the present one when o is nil.
func (s *Store) SetObserver(o Observer) { s.observer = o }

// SetFollower attaches f, or detaches the present one when f is nil.
func (s *Store) SetFollower(f Follower) { s.follower = f }

// SetNoTouch decides whether look-ups leave the time of last access alone (CLIENT NO-TOUCH).
func (s *Store) SetNoTouch(on bool) { s.noTouch = on }

// SetFrozenTime decides whether overdue keys are kept and found, as they must be while a journal or a
// snapshot is loaded.
func (s *Store) SetFrozenTime(on bool) { s.frozenTime = on }

// SetFollows decides whether overdue keys, and their content, are kept although look-ups do not find them. On
// a replica only the master's commands remove them; under CLIENT PAUSE nothing removes them.
func (s *Store) SetFollows(on bool) { s.follows = on }

// Stats returns the counts since the last ResetStats.
func (s *Store) Stats() Stats { return s.stats }

// ResetStats sets every count to zero.
func (s *Store) ResetStats() {
	s.stats = Stats{}
	for _, db := range s.dbs {
		db.leasesExpired = 0
	}
}
