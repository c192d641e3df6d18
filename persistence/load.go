package persistence

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"lockserver/persistence/rdb"
	"lockserver/store"
	"lockserver/store/hash"
	"lockserver/store/list"
	"lockserver/store/stream"
	"lockserver/store/zset"
)

// Loaded is the result of loading a snapshot.
type Loaded struct {
	Keys    int
	Expired int // keys that were overdue before the load, and were dropped
	Bytes   int64
	Version int // of the format
	// TokenLimit is that of SaveOptions; 0: the file does not state it.
	TokenLimit int64
	// History is that of SaveOptions; its ID is empty if the file does not state it.
	History History
	// Agreed is that of SaveOptions; a text is empty if the file does not state it.
	Agreed Agreed
}

// LoadOptions configures a load.
type LoadOptions struct {
	// NoChecksum leaves the checksum at the end unverified.
	NoChecksum bool
	// NeedsChecksum refuses a snapshot without a checksum.
	NeedsChecksum bool
	// Replace lets a key of the snapshot replace the key in the store. Otherwise an existing key is an error.
	Replace bool
	// Functions is called with the code of the function libraries, in the order of the file, before the first
	// key. Its error ends the load. If it is nil, the libraries are skipped.
	Functions func(code [][]byte) error
	// Warn, if not nil, is called with each wrong statement of the file that was corrected, and with each
	// skipped part.
	Warn func(text string)
	// Overdue, if not nil, is called for each overdue field of a hash that was left out, or, with a nil
	// field, for each overdue key. The slices are valid during the call.
	Overdue func(db int, key, field []byte)
	// EachKey, if not nil, is called before each key. Its error ends the load.
	EachKey func() error
	// Keep, if not nil, reports whether a key is loaded. The others are read and left out.
	Keep func(key []byte) bool
}

// Load fills a store from a snapshot of any RDB version up to 12. It leaves out overdue keys and fields,
// unless the store's time is frozen. The time must be frozen if a log follows, because the log may extend a
// deadline. The error has the offset and the reason, or is the error of a function in o. After any error the
// store may hold a part and must be discarded. If the reader has a method Size, as bytes.Reader has, the
// file's claim about its number of keys is trusted up to the number that fits that size.
func Load(r io.Reader, st *store.Store, o LoadOptions) (got Loaded, err error) {
	l := loader{st: st, o: o, db: -1}
	l.in = rdb.NewReader(r, rdb.ReaderOptions{NoChecksum: o.NoChecksum, NeedsChecksum: o.NeedsChecksum, Databases: st.Len(), Producers: l.producers})
	if sized, ok := r.(interface{ Size() int64 }); ok {
		l.reservable = uint64(max(sized.Size(), 0)) / leastKeyBytes
	}
	err = l.load()
	return l.got, err
}

// leastKeyBytes is the smallest size of a key with its value in a file: a type and two lengths.
const leastKeyBytes = 3

// loader loads one snapshot.
type loader struct {
	in         *rdb.Reader
	st         *store.Store
	o          LoadOptions
	functions  int // number of libraries passed to Functions
	got        Loaded
	reservable uint64 // number of keys that the input may still hold, minus the keys already reserved
	db         int    // database of the last entry, -1: there was no entry
	ahead      stringsAhead
	stream     bool // the last entry is a stream, and was added to the store
}

func (l *loader) load() error {
	for {
		e, err := l.in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = l.entry(e)
		}
		if err != nil {
			return err
		}
	}
	if err := l.ahead.load(l.in, l.st, &l.got); err != nil {
		return err
	}
	if err := l.handOnFunctions(); err != nil {
		return err
	}
	if err := l.aux(); err != nil {
		return err
	}
	l.got.Bytes, l.got.Version = l.in.Offset(), l.in.Version()
	if l.o.Warn != nil {
		skipped := l.in.Skipped()
		for _, text := range skipped.Texts() {
			l.o.Warn(text)
		}
	}
	return nil
}

// aux reads the statements of the file about itself.
func (l *loader) aux() error {
	l.got.History.DB = -1
	for _, a := range l.in.Aux() {
		n, err := strconv.ParseInt(a.Value, 10, 64)
		h := &l.got.History
		switch a.Name {
		case rdb.AuxTokenLimit:
			if a.Value == rdb.RulesMark {
				continue
			}
			if err != nil || n < 0 {
				return fmt.Errorf("%s is %.40q", a.Name, a.Value)
			}
			l.got.TokenLimit = n
		case rdb.AuxUsers:
			l.got.Agreed.Users = a.Value
		case rdb.AuxSlots:
			l.got.Agreed.Slots = a.Value
		case rdb.AuxHistoryID:
			h.ID = a.Value
		case rdb.AuxHistoryOffset:
			if h.Offset = n; err != nil || n < 0 {
				h.Offset = -1
			}
		case rdb.AuxStreamDB:
			if err == nil && n >= 0 && n < int64(l.st.Len()) {
				h.DB = int(n)
			}
		}
	}
	if len(l.got.History.ID) != historyIDBytes || l.got.History.Offset < 0 {
		l.got.History = History{}
	}
	return nil
}

// historyIDBytes is the length of the name of a history.
const historyIDBytes = 40

// handOnFunctions passes the new libraries to Functions.
func (l *loader) handOnFunctions() error {
	all := l.in.Functions()
	fresh := all[l.functions:]
	if len(fresh) == 0 || l.o.Functions == nil {
		return nil
	}
	l.functions = len(all)
	return l.o.Functions(fresh)
}

// entry adds an entry to the store. Strings may be added later.
func (l *loader) entry(e *rdb.Entry) error {
	l.stream = false
	if err := l.handOnFunctions(); err != nil {
		return err
	}
	if l.o.EachKey != nil {
		if err := l.o.EachKey(); err != nil {
			return err
		}
	}
	if l.o.Keep != nil && !l.o.Keep(e.Key) {
		return nil
	}
	db := l.st.DB(e.DB)
	if l.db != e.DB {
		l.db = e.DB
		keys, _ := l.in.SizeHint()
		keys = min(keys, l.reservable)
		l.reservable -= keys // a file may return to the same database many times, without keeping any of its keys
		db.Loading().Reserve(int(keys))
	}
	if e.ExpireAtMS != 0 && l.st.Past(e.ExpireAtMS) {
		l.got.Expired++
		l.o.overdue(e, nil)
		seeDead(l.st, e)
		return nil
	}
	if l.o.Replace {
		db.Delete(e.Key)
	}
	if l.ahead.add(e, l.in.Offset()) {
		return nil
	}
	if err := l.ahead.load(l.in, l.st, &l.got); err != nil {
		return err
	}
	if l.ahead.add(e, l.in.Offset()) { // now there is space
		return nil
	}
	fresh, err := loadKey(l.in, db, e, &l.o)
	switch {
	case errors.Is(err, errExpired):
		l.got.Expired++
		l.o.overdue(e, nil)
	case err != nil:
		return err
	case !fresh:
		return l.in.DuplicateKey()
	default:
		l.got.Keys++
		l.stream = e.Kind == rdb.Stream
		if e.IdleSec >= 0 || e.Freq >= 0 {
			db.Loading().Use(e.Key, e.IdleSec, e.Freq)
		}
	}
	return nil
}

// producers adds the producers in a field to the stream before it.
func (l *loader) producers(db int, key, field []byte) error {
	if !l.stream {
		return nil
	}
	return loadProducers(l.in, l.st.DB(db), key, field)
}

// input is the source of an entry: a file or a payload.
type input interface {
	// Offset returns the number of bytes read.
	Offset() int64
}

// overdue reports an overdue key or field that was left out.
func (o *LoadOptions) overdue(e *rdb.Entry, field []byte) {
	if o.Overdue != nil {
		o.Overdue(e.DB, e.Key, field)
	}
}

// loadKey adds an entry to a database. fresh is false if the key already exists; then nothing was changed.
// After an error the key may exist with a part of its value.
func loadKey(in input, db *store.DB, e *rdb.Entry, o *LoadOptions) (fresh bool, err error) {
	st := db.Store()
	switch e.Kind {
	case rdb.String:
		fresh = db.Loading().String(e.Key, e.Bytes, e.ExpireAtMS)
	case rdb.Hash:
		h, err := loadHash(st, e, o)
		if err != nil {
			return false, err
		}
		if h.Len() == 0 && e.Err() == nil { // all fields are overdue
			return false, errExpired
		}
		fresh = db.Loading().Hash(e.Key, h, e.ExpireAtMS)
	case rdb.Set:
		s := st.NewSet(e.Key)
		for m, ok := e.NextMember(); ok; m, ok = e.NextMember() {
			if !s.Add(st.Limits().Set, m) {
				return false, e.Duplicate(m)
			}
		}
		fresh = db.Loading().Set(e.Key, s.Set, e.ExpireAtMS)
	case rdb.List:
		l := st.NewList(e.Key)
		for m, ok := e.NextMember(); ok; m, ok = e.NextMember() {
			l.Push(st.Limits().List, list.Right, m)
		}
		fresh = db.Loading().List(e.Key, l.List, e.ExpireAtMS)
	case rdb.ZSet:
		z, err := loadZSet(st, e)
		if err != nil {
			return false, err
		}
		fresh = db.Loading().ZSet(e.Key, z, e.ExpireAtMS)
	case rdb.Stream:
		s, err := loadStream(in, st, e, o.Warn)
		if err != nil {
			return false, err
		}
		fresh = db.Loading().Stream(e.Key, s, e.ExpireAtMS)
	case rdb.Bloom:
		f, err := loadBloom(in, st, e)
		if err != nil {
			return false, err
		}
		fresh = db.Loading().Bloom(e.Key, f, e.ExpireAtMS)
	default:
		return false, cannotHold(in, e, "a "+e.Kind.String())
	}
	return fresh, e.Err()
}

// seeDead counts the fencing tokens of a key that is dropped: its lease has ended, but its token must not be
// given out again.
func seeDead(st *store.Store, e *rdb.Entry) {
	if e.Kind != rdb.Hash {
		return
	}
	for f, ok := e.NextField(); ok; f, ok = e.NextField() {
		st.SeeField(f.Name, f.Value)
	}
}

// errExpired says that all fields of a hash are overdue.
var errExpired = errors.New("persistence: every field of the hash is overdue")

// loadHash reads a hash, and drops fields with a deadline in the past.
func loadHash(st *store.Store, e *rdb.Entry, o *LoadOptions) (*hash.Hash, error) {
	h := st.NewHash(e.Key)
	for f, ok := e.NextField(); ok; f, ok = e.NextField() {
		if f.ExpireAtMS != 0 && st.Past(f.ExpireAtMS) {
			st.SeeField(f.Name, f.Value)
			o.overdue(e, f.Name)
			continue
		}
		if !h.Set(st.Limits().Hash, f.Name, f.Value) {
			return nil, e.Duplicate(f.Name)
		}
		if f.ExpireAtMS != 0 {
			h.SetDeadline(f.Name, f.ExpireAtMS)
		}
	}
	return h.Hash, nil
}

// loadZSet reads a sorted set. A listpack with ordered members is used unchanged.
func loadZSet(st *store.Store, e *rdb.Entry) (*zset.ZSet, error) {
	if lp := e.Listpack; lp != nil {
		return st.NewZSetOf(e.Key, lp), nil
	}
	z := st.NewZSetTable(e.Key)
	for m, score, ok := e.NextScored(); ok; m, score, ok = e.NextScored() {
		if added, _ := z.Set(st.Limits().ZSet, m, score); !added {
			return nil, e.Duplicate(m)
		}
	}
	z.Compact(st.Limits().ZSet)
	return z.ZSet, nil
}

// loadStream reads a stream. Old versions of Redis could write a wrong number of entries, or a too small last
// ID. Redis loads such a stream unchanged; here the numbers are corrected by the entries.
func loadStream(in input, st *store.Store, e *rdb.Entry, warn func(text string)) (*stream.Stream, error) {
	s := st.NewStream()
	for n, ok := e.NextNode(); ok; n, ok = e.NextNode() {
		lp := n.Listpack
		if !n.Owned {
			lp = lp.Clone()
		}
		if err := s.AppendNode(stream.ID(n.Master), lp); err != nil {
			return nil, fmt.Errorf("rdb: offset %d: corrupt: key %q: %w", in.Offset(), e.Key, err)
		}
	}
	info, err := e.StreamInfo()
	if err != nil {
		return nil, err
	}
	if text := info.Wrong(uint64(s.Len()), rdb.ID(s.LastID())); text != "" && warn != nil {
		warn(fmt.Sprintf("key %.64q of database %d: %s", e.Key, e.DB, text))
	}
	last, deleted := stream.ID(info.LastID), stream.ID(info.MaxDeletedID)
	if last.Less(s.LastID()) {
		last = s.LastID()
	}
	added := max(info.EntriesAdded, uint64(s.Len()))
	if info.Legacy {
		added = uint64(s.Len())
	}
	s.SetID(last, &added, &deleted)
	for g, ok := e.NextGroup(); ok; g, ok = e.NextGroup() {
		if info.Legacy {
			g.EntriesRead = s.Ordinal(stream.ID(g.LastID))
		}
		loadGroup(s, g)
	}
	return s, e.Err()
}

// loadGroup adds a group to a stream. The decoder has checked that no other group has its name.
func loadGroup(s *stream.Stream, f *rdb.Group) {
	s.CreateGroup(f.Name, stream.ID(f.LastID), f.EntriesRead)
	g := s.EditGroup(f.Name)
	consumers := make([]*stream.Consumer, len(f.Consumers))
	for i, c := range f.Consumers {
		consumers[i] = g.AddConsumer(c.Name, c.SeenMS)
		consumers[i].ActiveMS = c.ActiveMS
	}
	for _, p := range f.Pending {
		g.SetPending(stream.Pending{ID: stream.ID(p.ID), DeliveredMS: p.DeliveredMS, Deliveries: p.Deliveries}, consumers[p.Consumer])
	}
}

// cannotHold refuses a valid value that the store cannot hold: loading the rest without it would lose it at
// the next save.
func cannotHold(in input, e *rdb.Entry, what string) error {
	return fmt.Errorf("rdb: offset %d: key %q of database %d is %s, which this version cannot hold",
		in.Offset(), e.Key, e.DB, what)
}
