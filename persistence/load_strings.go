package persistence

import (
	"lockserver/persistence/rdb"
	"lockserver/store"
)

// aheadBytes limits the bytes of keys and values that are read ahead.
const aheadBytes = 32 << 10

// stringsAhead holds strings of one database that were read and are not yet in the store. Adding many strings
// to a large database together takes less time than adding them one by one: see store.Loading.Strings.
type stringsAhead struct {
	db      int
	n       int
	entries [store.MaxPrefetch]store.StringEntry
	read    [store.MaxPrefetch]stringRead
	text    []byte // the keys and values
}

// stringRead holds the other facts about an entry.
type stringRead struct {
	offset  int64 // offset after the entry
	idleSec int64
	freq    int
}

// add takes a string that the reader has just read. It returns false if it has no space, or if the entry is
// not a string.
func (a *stringsAhead) add(e *rdb.Entry, offset int64) bool {
	if e.Kind != rdb.String || a.n == len(a.entries) || len(a.text)+len(e.Key)+len(e.Bytes) > aheadBytes || a.n > 0 && a.db != e.DB {
		return false
	}
	if a.text == nil {
		a.text = make([]byte, 0, aheadBytes) // never reallocated
	}
	a.db = e.DB
	a.entries[a.n] = store.StringEntry{Key: a.copy(e.Key), Val: a.copy(e.Bytes), DeadlineMS: e.ExpireAtMS}
	a.read[a.n] = stringRead{offset, e.IdleSec, e.Freq}
	a.n++
	return true
}

func (a *stringsAhead) copy(b []byte) []byte {
	from := len(a.text)
	a.text = append(a.text, b...)
	return a.text[from:len(a.text):len(a.text)]
}

// load puts the strings into the store. The error is that of the reader, for a key that the database already
// has.
func (a *stringsAhead) load(in *rdb.Reader, st *store.Store, got *Loaded) error {
	db, entries := st.DB(a.db), a.entries[:a.n]
	loaded := db.Loading().Strings(entries)
	got.Keys += loaded
	if loaded < len(entries) {
		return in.DuplicateString(a.db, entries[loaded].Key, a.read[loaded].offset)
	}
	for i, r := range a.read[:a.n] {
		if r.idleSec >= 0 || r.freq >= 0 {
			db.Loading().Use(entries[i].Key, r.idleSec, r.freq)
		}
	}
	a.n, a.text = 0, a.text[:0]
	return nil
}
