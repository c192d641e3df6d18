// Package watching is WATCH: the keys that clients watch, and whether one of them has changed.
//
// It owns the table of watched keys and the keys that each client watches. It knows databases, and must not
// know clients, transactions or commands. Nothing here locks; its owner does.
//
// The owner reports each changed key to the table. To watch anything else than keys, add a method beside
// KeyChanged that fails the watches.
package watching

import (
	"fmt"

	"lockserver/store"
)

// Table holds every watched key.
type Table struct {
	keys    []map[string][]*watch // one for each database
	count   int                   // number of watches
	clients int                   // number of clients that watch a key
}

// Watches holds the keys that a client watches. The zero value is empty. After the first change of a key, by
// any client, further changes do not matter.
type Watches struct {
	all     []*watch
	changed bool
}

// watch is one key that a client watches.
type watch struct {
	of      *Watches
	db      *store.DB
	key     string
	place   int  // in Table.keys[db][key]
	existed bool // the key existed when the watch began
}

// New returns a table for a number of databases.
func New(databases int) Table { return Table{keys: make([]map[string][]*watch, databases)} }

// Len returns the number of watches: pairs of a client and a key.
func (t *Table) Len() int { return t.count }

// Clients returns the number of clients that watch a key.
func (t *Table) Clients() int { return t.clients }

// Keys returns the number of watched keys, in all databases.
func (t *Table) Keys() (n int) {
	for _, keys := range t.keys {
		n += len(keys)
	}
	return n
}

// Len returns the number of keys that the client watches.
func (w *Watches) Len() int { return len(w.all) }

// Changed reports whether a watched key has changed.
func (w *Watches) Changed() bool { return w.changed }

// Look does what Changed does, after a look at each key, which removes expired keys.
func (w *Watches) Look() bool {
	for _, one := range w.all {
		one.db.Peek([]byte(one.key))
	}
	return w.changed
}

// Add makes a client watch a key. It does nothing if the client already watches the key.
func (t *Table) Add(w *Watches, db *store.DB, key []byte) {
	for _, other := range w.all {
		if other.db == db && other.key == string(key) {
			return
		}
	}
	id := db.ID()
	list := t.keys[id][string(key)]
	one := &watch{of: w, db: db, key: string(key), place: len(list), existed: db.Peek(key).OK()}
	if t.keys[id] == nil {
		t.keys[id] = make(map[string][]*watch)
	}
	t.keys[id][one.key] = append(list, one)
	if len(w.all) == 0 {
		t.clients++
	}
	w.all = append(w.all, one)
	t.count++
}

// Forget ends the watches of a client, and clears its change. It reports whether there was any watch.
func (t *Table) Forget(w *Watches) bool {
	w.changed = false
	if len(w.all) == 0 {
		return false
	}
	t.end(w)
	return true
}

// end ends the watches of a client that has at least one.
func (t *Table) end(w *Watches) {
	for _, one := range w.all {
		t.remove(one)
	}
	w.all = nil
	t.clients--
}

// KeyChanged fails the transactions of all clients that watch the key.
func (t *Table) KeyChanged(db int, key []byte) {
	for list := t.keys[db][string(key)]; len(list) > 0; list = t.keys[db][string(key)] {
		w := list[len(list)-1].of
		w.changed = true
		t.end(w)
	}
}

// KeysChanged calls KeyChanged for the watched keys of a database that has accepts.
func (t *Table) KeysChanged(db int, has func(key []byte) bool) {
	for name := range t.keys[db] {
		if key := []byte(name); has(key) {
			t.KeyChanged(db, key)
		}
	}
}

// DatabaseChanged calls KeyChanged for every key of a database that existed before or exists now.
func (t *Table) DatabaseChanged(db int) {
	for _, list := range t.keys[db] {
		for _, one := range list {
			if one.existed || one.db.Holds([]byte(one.key)) {
				one.of.changed = true
			}
		}
	}
}

func (t *Table) remove(one *watch) {
	keys := t.keys[one.db.ID()]
	list := keys[one.key]
	last := list[len(list)-1]
	list[one.place], last.place = last, one.place
	list[len(list)-1] = nil
	if list = list[:len(list)-1]; len(list) == 0 {
		delete(keys, one.key)
	} else {
		keys[one.key] = list
	}
	t.count--
}

// Check returns the first inconsistency in the table, or nil. It is for tests.
func (t *Table) Check() error {
	n := 0
	for db, keys := range t.keys {
		for key, list := range keys {
			if len(list) == 0 {
				return fmt.Errorf("key %q of database %d has no watch", key, db)
			}
			for i, one := range list {
				if one.place != i || one.key != key || one.db.ID() != db {
					return fmt.Errorf("watch %d of %q: place %d, key %q", i, key, one.place, one.key)
				}
			}
			n += len(list)
		}
	}
	if n != t.count {
		return fmt.Errorf("%d watches, counted %d", n, t.count)
	}
	return nil
}
