package persistence

import (
	"io"

	"lockserver/persistence/rdb"
	"lockserver/store"
	"lockserver/store/hash"
	"lockserver/store/list"
	"lockserver/store/listpack"
	"lockserver/store/set"
	"lockserver/store/stream"
	"lockserver/store/zset"
)

// SaveOptions configures a snapshot.
type SaveOptions struct {
	Compress bool // strings over 20 bytes with LZF
	Checksum bool
	// CreatedS is the time of the cut in seconds since 1970. Version is the Redis version that the file
	// states.
	CreatedS int64
	Version  string
	// Functions is the code of the function libraries at that time.
	Functions [][]byte
	// TokenLimit is an upper limit of all fencing tokens; 0 means that the file does not state it.
	TokenLimit int64
	// History, unless its ID is empty, is the replication history of the data and their position in it.
	History History
	// Agreed has the texts of a raft group beside its data.
	Agreed Agreed
	// Base says that a log follows: the snapshot is the base of an append-only file.
	Base bool
	// EachKey, if not nil, is called after each key.
	EachKey func()
	// Breathe, if not nil, is called regularly with the number of written keys, so that a background writer
	// can yield the processor.
	Breathe func(keys int)
}

// Agreed has the texts of a raft group about its users and its slots, in the forms of package raft. An empty
// text means that there are no such users, or slots.
type Agreed struct{ Users, Slots string }

// History is a position in a replication history. It has the name of the history, the number of bytes before
// the position, and the database of the commands after it (-1: they begin with SELECT).
type History struct {
	ID     string
	Offset int64
	DB     int
}

// breathBytes is the number of bytes between two calls of Breathe: some tenths of a millisecond's work.
const breathBytes = 16 << 10

// SaveFile writes a snapshot to path, replacing it as a whole, and returns the size in bytes.
func SaveFile(path string, snap *store.Snapshot, o SaveOptions) (bytes int64, err error) {
	err = ReplaceFile(path, SnapshotMode, func(w io.Writer) error {
		bytes, err = Save(w, snap, o)
		return err
	})
	return bytes, err
}

// Save writes a snapshot in the RDB format, version 10, or 12 if a field of a hash has a deadline, and
// returns its size in bytes. It drains the snapshot, which can only be released afterwards.
func Save(w io.Writer, snap *store.Snapshot, o SaveOptions) (bytes int64, err error) {
	version := rdb.Version7
	if snap.HasFieldTimes() {
		version = rdb.VersionFieldExpiry
	}
	out := begin(w, version, o)
	keys := keyWriter{out: out, snap: snap}
	lastBreath, saved := int64(0), 0
	var name []byte // shared by all keys: garbage from a save would start the garbage collector during the save
	for db := range snap.DBs() {
		n, timed := snap.Len(db)
		if n == 0 {
			continue
		}
		out.SelectDB(db)
		out.ResizeDB(n, timed)
		snap.Drain(db, func(key string, r store.Ref) bool {
			name = append(name[:0], key...)
			keys.write(name, r)
			if o.EachKey != nil {
				o.EachKey()
			}
			saved++
			if o.Breathe != nil && out.Written()-lastBreath >= breathBytes {
				lastBreath = out.Written()
				o.Breathe(saved)
			}
			return out.Err() == nil
		})
	}
	err = keys.close()
	return out.Written(), err
}

// keyWriter writes the keys of a snapshot to a file.
type keyWriter struct {
	out    *rdb.Writer
	snap   *store.Snapshot
	recurs bool // a key has delayed entries that recur
}

// write writes a key with its use and its value.
func (k *keyWriter) write(name []byte, r store.Ref) {
	if idleS, freq := k.snap.Use(r); idleS >= 0 {
		k.out.Idle(uint64(idleS))
	} else if freq >= 0 {
		k.out.Freq(uint8(freq))
	}
	saveKey(k.out, name, r)
	k.recurs = k.recurs || store.HoldsEntries(name) && r.Recurs()
}

// close ends the file. A file with entries that recur has a mark, which older versions refuse.
func (k *keyWriter) close() error {
	if k.recurs {
		k.out.Aux(rdb.AuxTokenLimit, rdb.RulesMark)
	}
	return k.out.Close()
}

// SaveFunctions writes a snapshot with the function libraries and without keys.
func SaveFunctions(w io.Writer, o SaveOptions) error { return begin(w, rdb.Version7, o).Close() }

// begin writes the part before the keys.
func begin(w io.Writer, version int, o SaveOptions) *rdb.Writer {
	out := rdb.NewWriter(w, rdb.WriterOptions{Compress: o.Compress, NoChecksum: !o.Checksum, Version: version})
	out.Aux("redis-ver", o.Version)
	out.AuxInt("redis-bits", 64)
	out.AuxInt("ctime", o.CreatedS)
	if o.History.ID != "" {
		out.AuxInt(rdb.AuxStreamDB, int64(max(0, o.History.DB))) // a Redis that finds -1 there begins a new history
		out.Aux(rdb.AuxHistoryID, o.History.ID)
		out.AuxInt(rdb.AuxHistoryOffset, o.History.Offset)
	}
	base := int64(0)
	if o.Base {
		base = 1
	}
	out.AuxInt("aof-base", base)
	if o.TokenLimit > 0 {
		out.AuxInt(rdb.AuxTokenLimit, o.TokenLimit)
	}
	if o.Agreed.Users != "" {
		out.Aux(rdb.AuxUsers, o.Agreed.Users)
	}
	if o.Agreed.Slots != "" {
		out.Aux(rdb.AuxSlots, o.Agreed.Slots)
	}
	for _, code := range o.Functions {
		out.Function(code)
	}
	return out
}

func saveKey(out *rdb.Writer, key []byte, r store.Ref) {
	out.Key(key, r.DeadlineMS())
	saveValue(out, r)
}

func saveValue(out *rdb.Writer, r store.Ref) {
	switch r.Kind() {
	case store.String:
		out.String(r.Bytes())
	case store.Hash:
		saveHash(out, r.Hash())
	case store.Set:
		saveSet(out, r.Set())
	case store.List:
		saveList(out, r.List())
	case store.ZSet:
		saveZSet(out, r.ZSet())
	case store.Stream:
		saveStream(out, r.Stream())
	case store.Bloom:
		saveBloom(out, r.Bloom())
	default:
		panic("persistence: a kind of value that cannot be saved: " + r.Kind().String())
	}
}

func saveHash(out *rdb.Writer, h *hash.Hash) {
	if h.Timed() > 0 {
		out.HashExpiring(h.Len(), h.LeastDeadline())
		h.EachTimed(func(field, value []byte, atMS int64) bool {
			out.ExpiringField(field, value, atMS)
			return true
		})
		return
	}
	if lp, ok := h.Listpack(); ok {
		out.HashListpack(lp)
		return
	}
	out.Hash(h.Len())
	h.Each(func(field, value []byte) bool {
		out.Field(field, value)
		return true
	})
}

// saveSet writes a compact set of strings in the plain form: its own encoding came with version 11.
func saveSet(out *rdb.Writer, s *set.Set) {
	if ints, ok := s.Intset(); ok {
		out.SetIntset(ints)
		return
	}
	out.Set(s.Len())
	s.Each(func(member []byte) bool {
		out.Member(member)
		return true
	})
}

func saveList(out *rdb.Writer, l *list.List) {
	out.List(l.NodeCount())
	l.EachNode(func(b []byte, plain bool) {
		if plain {
			out.ListPlain(b)
		} else {
			out.ListPacked(b)
		}
	})
}

// saveZSet writes a large sorted set from its end, as Redis does. Loading then adds each member at the front.
func saveZSet(out *rdb.Writer, z *zset.ZSet) {
	if lp, ok := z.Listpack(); ok {
		out.ZSetListpack(lp)
		return
	}
	out.ZSet(z.Len())
	z.RangeDown(0, z.Len(), func(member []byte, score float64) bool {
		out.Scored(member, score)
		return true
	})
}

func saveStream(out *rdb.Writer, s *stream.Stream) {
	out.Stream(s.NodeCount())
	s.Nodes()(func(master stream.ID, lp listpack.List) bool {
		out.StreamNode(rdb.ID(master), lp)
		return true
	})
	out.StreamInfo(rdb.StreamInfo{
		Length:       uint64(s.Len()),
		LastID:       rdb.ID(s.LastID()),
		FirstID:      rdb.ID(s.FirstID()),
		MaxDeletedID: rdb.ID(s.MaxDeletedID()),
		EntriesAdded: s.EntriesAdded(),
		Groups:       uint64(len(s.Groups())),
	})
	for _, g := range s.Groups() {
		out.Group(fileGroup(g))
	}
	saveProducers(out, s.Producers())
}

// fileGroup converts a consumer group to the form of a file.
func fileGroup(g *stream.Group) *rdb.Group {
	f := &rdb.Group{Name: []byte(g.Name()), LastID: rdb.ID(g.LastID()), EntriesRead: g.EntriesRead()}
	index := make(map[*stream.Consumer]int, len(g.Consumers()))
	for i, c := range g.Consumers() {
		index[c] = i
		f.Consumers = append(f.Consumers, rdb.Consumer{Name: []byte(c.Name()), SeenMS: c.SeenMS, ActiveMS: c.ActiveMS})
	}
	g.EachPending(stream.ID{}, func(p stream.Pending) bool {
		f.Pending = append(f.Pending, rdb.Pending{ID: rdb.ID(p.ID), DeliveredMS: p.DeliveredMS, Deliveries: p.Deliveries,
			Consumer: index[g.Owner(p)]})
		return true
	})
	return f
}
