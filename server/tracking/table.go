// Package tracking remembers the keys that clients have copies of (CLIENT TRACKING), and makes the messages
// that invalidate a copy.
//
// By default the table remembers which keys a client has read. The client gets one message for each, and must
// then read the key again to track it again. With BCAST nothing is remembered, and the client gets a message
// for every key that begins with one of its prefixes. As in Redis a key is a name, whatever the database: a
// change of k in database 1 also invalidates k of database 0.
//
// The package owns the table of keys and readers, the prefixes and their changed keys, the bytes of a
// message, and to which client it goes when (News). It has the subcommands of CLIENT that are about that. It
// must not know what a client is, or how messages are sent: what it asks of the server is Door. Table and
// News are generic, so that no call to a client goes through an interface. Nothing here locks; its owner
// does.
//
// To add an option of CLIENT TRACKING: a field of Options, and what follows from it in Tracker.
package tracking

import "lockserver/commands"

// Table remembers the keys that clients have copies of. The zero value is ready for use.
type Table[C comparable] struct {
	trackers map[*Tracker[C]]struct{}
	keys     map[string]*Key[C]
	order    []*Key[C] // the same keys, to draw a random key
	readings int       // total of all keys
	names    int       // size of the names of keys
	// resting holds clients that have stopped tracking, but stay connected. If they track again in time, they
	// get messages about keys that they had read. Each has at least one reading.
	resting map[C]*Tracker[C]
	// leaving lists trackers of disconnected clients. Their readings are still in the table; Sweep removes
	// them bit by bit.
	leaving  []*Tracker[C]
	prefixes []*Prefix[C] // by name
}

// Options holds the options of a client's tracking.
type Options struct {
	Redirect int64 // the client that gets the messages, by ID; 0: the client itself
	BCast    bool  // it gets messages for prefixes, and its reads are not remembered
	OptIn    bool  // only keys read after CLIENT CACHING YES count
	OptOut   bool  // keys read after CLIENT CACHING NO do not count
	NoLoop   bool  // the client gets no messages about its own changes
}

// Tracker is a client with tracking.
type Tracker[C comparable] struct {
	Of C // the client
	Options
	Broken   bool // the target of Redirect has disconnected
	Caching  bool // CLIENT CACHING applies to the next command
	state    state
	reads    map[string]*Reading[C]
	prefixes []*Prefix[C] // by name
	names    int          // size of the names of prefixes
}

// state says which list a tracker belongs to: Table.trackers, resting or leaving.
type state uint8

const (
	tracks state = iota
	rests
	left
)

// Key is a key that at least one client has read. It is removed with its last reading. Only its table changes
// it.
type Key[C comparable] struct {
	Name    string
	Readers []*Reading[C]
	place   int // in Table.order
}

// Reading records that a tracker has read a key.
type Reading[C comparable] struct {
	By    *Tracker[C]
	key   *Key[C]
	place int // in key.Readers
}

// Redirection returns the number of the client that gets the messages. 0 means the client itself, and -1
// means that it does not track (tr is nil).
func (tr *Tracker[C]) Redirection() int64 {
	if tr == nil {
		return -1
	}
	return tr.Redirect
}

// EndCaching ends the effect of CLIENT CACHING, after the next command, or transaction, that does not concern
// clients. row is that of the finished command, or nil.
func (tr *Tracker[C]) EndCaching(row *commands.Row) {
	if row == nil || row.Parent() == nil || !row.Parent().Flags.Has(commands.KeepsCaching) {
		tr.Caching = false
	}
}

// Remembers reports whether the keys that the client reads now must be remembered.
func (tr *Tracker[C]) Remembers() bool {
	return !tr.BCast && (!tr.OptIn || tr.Caching) && !(tr.OptOut && tr.Caching)
}

// Hears reports whether the client gets a message about a key that it has read and that actor has changed.
func (tr *Tracker[C]) Hears(actor C) bool {
	return tr.state == tracks && !tr.BCast && !(tr.NoLoop && tr.Of == actor)
}

// InUse reports whether a client tracks, or has readings that would count if it tracked again.
func (t *Table[C]) InUse() bool { return len(t.trackers)+len(t.resting) > 0 }

// Trackers returns the trackers of all clients that track, in no order. The map belongs to the table.
func (t *Table[C]) Trackers() map[*Tracker[C]]struct{} { return t.trackers }

// Keys returns the number of remembered keys.
func (t *Table[C]) Keys() int { return len(t.order) }

// KeyAt returns one of the remembered keys, 0..Keys-1, in no order.
func (t *Table[C]) KeyAt(i int) *Key[C] { return t.order[i] }

// Key returns the entry of a key, or nil.
func (t *Table[C]) Key(name []byte) *Key[C] { return t.keys[string(name)] }

// Readings returns the number of readings: pairs of a key and a client.
func (t *Table[C]) Readings() int { return t.readings }

// The memory of a remembered key without its name, and of each reading: the struct, its entries in slices and
// its cell of a map. TestBytes measures it.
const (
	keyBytes     = 128
	readingBytes = 68
)

// Bytes returns about the memory of the table.
func (t *Table[C]) Bytes() int { return keyBytes*len(t.order) + readingBytes*t.readings + t.names }

// prefixBytes is the size of a prefix with a single client, without its name: the struct with its map, and
// its entries in slices. TestPrefixBytes measures it.
const prefixBytes = 248

// Bytes returns about the memory of the tracker's prefixes; tr may be nil. The readings of a client are
// counted in the Bytes of its table. A name with several clients counts for each.
func (tr *Tracker[C]) Bytes() int {
	if tr == nil {
		return 0
	}
	return prefixBytes*len(tr.prefixes) + tr.names
}

// Start makes a client a tracker; it must not be a tracker yet. The caller sets its options.
func (t *Table[C]) Start(client C) *Tracker[C] {
	if t.trackers == nil {
		t.trackers = map[*Tracker[C]]struct{}{}
	}
	tr := t.resting[client]
	if tr == nil {
		tr = new(Tracker[C])
	}
	delete(t.resting, client)
	*tr = Tracker[C]{Of: client, reads: tr.reads}
	t.trackers[tr] = struct{}{}
	return tr
}

// Stop ends the tracking of a client. Its readings are kept, because it may start again.
func (t *Table[C]) Stop(tr *Tracker[C]) {
	for _, p := range tr.prefixes {
		t.leavePrefix(tr, p)
	}
	delete(t.trackers, tr)
	if len(tr.reads) == 0 {
		tr.state = left
		return
	}
	if t.resting == nil {
		t.resting = map[C]*Tracker[C]{}
	}
	tr.state, tr.prefixes, tr.names = rests, nil, 0
	t.resting[tr.Of] = tr
}

// Leave removes a client that has stopped. It may have a million readings, which are not removed at once:
// sweep says that the caller must call Sweep.
func (t *Table[C]) Leave(client C) (sweep bool) {
	tr := t.resting[client]
	if tr != nil {
		delete(t.resting, client)
		tr.state = left
	}
	if !t.InUse() {
		t.ForgetAll()
		return false
	}
	if tr == nil {
		return false
	}
	t.leaving = append(t.leaving, tr)
	return true
}

// Sweep removes at most most readings of disconnected clients, and reports whether there are more.
func (t *Table[C]) Sweep(most int) (more bool) {
	for len(t.leaving) > 0 {
		last := len(t.leaving) - 1
		tr := t.leaving[last]
		for _, r := range tr.reads {
			if most--; most < 0 {
				return true
			}
			t.forgetReading(r)
		}
		t.leaving[last] = nil
		t.leaving = t.leaving[:last]
	}
	return false
}

// Remember records that tr has read a key, and reports whether it is the first reader.
func (t *Table[C]) Remember(tr *Tracker[C], key []byte) (fresh bool) {
	if tr.reads[string(key)] != nil {
		return false
	}
	k := t.keys[string(key)]
	if k == nil {
		if t.keys == nil {
			t.keys = map[string]*Key[C]{}
		}
		k = &Key[C]{Name: string(key), place: len(t.order)}
		t.keys[k.Name] = k
		t.order = append(t.order, k)
		t.names += len(key)
		fresh = true
	}
	r := &Reading[C]{By: tr, key: k, place: len(k.Readers)}
	k.Readers = append(k.Readers, r)
	if tr.reads == nil {
		tr.reads = map[string]*Reading[C]{}
	}
	tr.reads[k.Name] = r
	t.readings++
	return fresh
}

// forgetReading removes one reading of a key.
func (t *Table[C]) forgetReading(r *Reading[C]) {
	k := r.key
	t.unread(r)
	last := len(k.Readers) - 1
	k.Readers[r.place] = k.Readers[last]
	k.Readers[r.place].place = r.place
	k.Readers[last] = nil
	k.Readers = k.Readers[:last]
	t.readings--
	if last == 0 {
		t.Forget(k)
	}
}

// unread removes a reading from its reader.
func (t *Table[C]) unread(r *Reading[C]) {
	delete(r.By.reads, r.key.Name)
	if len(r.By.reads) == 0 && r.By.state == rests {
		r.By.state = left
		delete(t.resting, r.By.Of)
	}
}

// Forget removes a key with all its readers.
func (t *Table[C]) Forget(k *Key[C]) {
	for _, r := range k.Readers {
		t.unread(r)
	}
	t.readings -= len(k.Readers)
	delete(t.keys, k.Name)
	t.names -= len(k.Name)
	last := len(t.order) - 1
	t.order[k.place] = t.order[last]
	t.order[k.place].place = k.place
	t.order[last] = nil
	t.order = t.order[:last]
}

// ForgetAll removes all keys.
func (t *Table[C]) ForgetAll() {
	t.keys, t.order, t.readings, t.names, t.leaving = nil, nil, 0, 0, nil
	for _, tr := range t.resting {
		tr.state, tr.reads = left, nil
	}
	t.resting = nil
	for tr := range t.trackers {
		tr.reads = nil
	}
}
