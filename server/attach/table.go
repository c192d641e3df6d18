// Package attach knows which connections are attached to which owners of locks (LOCK.ATTACH), and which locks
// those owners hold. So the connections get a message when an owner loses a lock.
//
// It does not know the server, sessions or the data: connections are a type parameter, and a lock is a name,
// an owner and a token. Code that changes a key, or notices a change, leaves a doubt here. At the end of the
// unit the server takes the doubts, looks at the data, and reports the result (Hold, Lose). So it does not
// matter what changed a lock. A lock that expired and a lock that was deleted leave the same data behind, so
// such a reason is recorded when it happens (Because). The first recorded reason counts.
//
// To add a reason, add a Reason, its word in reasons, and a call of Because.
package attach

import "slices"

// Reason is the reason why an owner does not hold a lock any more.
type Reason uint8

const (
	unknown     Reason = iota
	scripted           // a script with the owner's name as an argument released it; counts as Released, unless the lease had ended
	Released           // the owner released it, and gets no message
	Expired            // the lease ended
	Forced             // LOCK.FORCE
	Overwritten        // the key has another value
	Deleted            // the key does not exist
)

var reasons = [...]string{Expired: "expired", Forced: "forced", Overwritten: "overwritten", Deleted: "deleted"}

// Owner is an owner of locks with attached connections.
type Owner[S comparable] struct {
	Name string
	// By lists these connections, in the order of their calls. It has at least one, unless there are
	// prefixes: then the table also knows other owners that hold locks.
	By    []S
	first *Lock[S]
}

// Lock is a lock of such an owner.
type Lock[S comparable] struct {
	Owner *Owner[S]
	DB    int
	Key   string
	Token int64

	why        Reason
	doubted    bool     // it is in Table.doubts
	beside     *Lock[S] // a lock of another owner at the same key
	above      *Lock[S] // the lock that has this lock as beside
	prev, next *Lock[S] // of the same owner
}

// Doubt is a lock that must be checked.
type Doubt struct {
	DB         int
	Key, Owner string
}

// Attachments holds the owners that a connection is attached to. The zero value is ready.
type Attachments[S comparable] struct {
	owners   map[string]*Owner[S]
	prefixes map[string]*prefix[S]
	bytes    int
}

// Len returns the number of owners and prefixes.
func (v *Attachments[S]) Len() int { return len(v.owners) + len(v.prefixes) }

// Has reports whether the connection is attached to an owner.
func (v *Attachments[S]) Has(owner []byte) bool { return v.owners[string(owner)] != nil }

// Names returns the owners, in no order.
func (v *Attachments[S]) Names() (names []string) {
	for name := range v.owners {
		names = append(names, name)
	}
	return names
}

// Bytes returns about the memory that the connection takes here.
func (v *Attachments[S]) Bytes() int { return v.bytes }

// attachmentBytes is about the size of an owner without its name: the struct, and its entries in two maps.
const attachmentBytes = 160

// Table holds all owners with attached connections.
type Table[S comparable] struct {
	owners   map[string]*Owner[S]
	prefixes prefixes[S]
	attached int                   // number of attachments to owners and prefixes
	locks    []map[string]*Lock[S] // by database and key
	doubts   []Doubt
	others   []*Owner[S] // owners to be removed, unless connections attach to them again: see Forget
}

// Open makes an empty table for a number of databases.
func (t *Table[S]) Open(databases int) {
	t.owners = make(map[string]*Owner[S])
	t.locks = make([]map[string]*Lock[S], databases)
}

// InUse reports whether a connection is attached to an owner or to a prefix.
func (t *Table[S]) InUse() bool { return t.attached > 0 }

// Owner returns an owner that the table knows, or nil.
func (t *Table[S]) Owner(name []byte) *Owner[S] { return t.owners[string(name)] }

// AttachedByOther reports whether another connection than s is attached to an owner.
func (t *Table[S]) AttachedByOther(s S, owner []byte) (yes bool) {
	t.Each(owner, func(other S, _ bool) bool {
		yes = other != s
		return !yes
	})
	return yes
}

// add adds an owner.
func (t *Table[S]) add(name []byte) *Owner[S] {
	o := &Owner[S]{Name: string(name)}
	t.owners[o.Name] = o
	if t.HasPrefixes() {
		t.prefixes.sorted.Set(o.Name, o)
	}
	return o
}

// forget removes an owner and its locks.
func (t *Table[S]) forget(o *Owner[S]) {
	delete(t.owners, o.Name)
	t.prefixes.sorted.Delete(o.Name)
	for o.first != nil {
		t.drop(o.first)
	}
}

// Attach attaches s, with its attachments v, to an owner. It does nothing if s is attached already.
func (t *Table[S]) Attach(s S, v *Attachments[S], name []byte) {
	if v.Has(name) {
		return
	}
	o := t.owners[string(name)]
	if o == nil {
		o = t.add(name)
	}
	o.By = append(o.By, s)
	if v.owners == nil {
		v.owners = make(map[string]*Owner[S])
	}
	v.owners[o.Name] = o
	v.bytes += attachmentBytes + len(name)
	t.attached++
}

// mostLeft limits the locks that Detach and DetachPrefix look at.
const mostLeft = 256

// Detach ends the attachment. If no connection is attached to the owner or to a prefix of it any more, it
// returns locks of the owner, at most mostLeft.
func (t *Table[S]) Detach(s S, v *Attachments[S], name string) (left []*Lock[S]) {
	o := v.owners[name]
	if o == nil {
		return nil
	}
	delete(v.owners, name)
	v.bytes -= attachmentBytes + len(name)
	t.attached--
	i := slices.Index(o.By, s)
	if o.By = slices.Delete(o.By, i, i+1); len(o.By) > 0 {
		return nil
	}
	if !t.IsAttached([]byte(name)) {
		for l := o.first; l != nil && len(left) < mostLeft; l = l.next {
			left = append(left, l)
		}
	}
	if o.first == nil {
		t.forget(o)
	} else if !t.HasPrefixes() {
		t.others = append(t.others, o)
	}
	t.detached()
	return left
}

// detached clears the table if no connection is attached any more.
func (t *Table[S]) detached() {
	if !t.InUse() {
		*t = Table[S]{owners: make(map[string]*Owner[S]), locks: make([]map[string]*Lock[S], len(t.locks))}
	}
}

// Find returns the lock that an owner is known to hold at a key, or nil.
func (t *Table[S]) Find(db int, key, owner string) *Lock[S] {
	o := t.owners[owner]
	if o == nil {
		return nil
	}
	// Many owners may hold permits of one semaphore, and one owner may hold many locks. The search ends with
	// the shorter list.
	at, of := t.locks[db][key], o.first
	for at != nil && of != nil {
		switch {
		case at.Owner == o:
			return at
		case of.DB == db && of.Key == key:
			return of
		}
		at, of = at.beside, of.next
	}
	return nil
}

// Hold records that an owner with an attached connection holds a lock that Find does not know.
func (t *Table[S]) Hold(o *Owner[S], db int, key string, token int64) {
	l := &Lock[S]{Owner: o, DB: db, Key: key, Token: token, beside: t.locks[db][key], next: o.first}
	if l.next != nil {
		l.next.prev = l
	}
	o.first = l
	if l.beside != nil {
		l.beside.above = l
	}
	if t.locks[db] == nil {
		t.locks[db] = make(map[string]*Lock[S])
	}
	t.locks[db][key] = l
}

// Holds says that a lock is still held: the recorded reason was wrong.
func (l *Lock[S]) Holds() { l.why = unknown }

// Lose removes a lock that is not held any more, and returns the reason: found, unless another reason was
// recorded.
func (t *Table[S]) Lose(l *Lock[S], found Reason) Reason {
	t.drop(l)
	if o := l.Owner; o.first == nil && len(o.By) == 0 {
		t.forget(o)
	}
	switch l.why {
	case unknown:
		return found
	case scripted:
		return Released
	}
	return l.why
}

func (t *Table[S]) drop(l *Lock[S]) {
	switch at := t.locks[l.DB]; {
	case l.above != nil:
		l.above.beside = l.beside
	case l.beside != nil:
		at[l.Key] = l.beside
	default:
		delete(at, l.Key)
	}
	if l.beside != nil {
		l.beside.above = l.above
	}
	if l.prev != nil {
		l.prev.next = l.next
	} else {
		l.Owner.first = l.next
	}
	if l.next != nil {
		l.next.prev = l.prev
	}
}

// Because records the reason why the locks at a key are about to end, or have just ended.
func (t *Table[S]) Because(db int, key []byte, why Reason) {
	for l := t.locks[db][string(key)]; l != nil; l = l.beside {
		if l.why <= scripted {
			l.why = why
		}
	}
}

// Changed leaves a doubt about the locks at a key that has changed. runsFor reports whether a script is
// running that has a name as an argument: a release by such a script (Redisson's) counts as the owner's own.
func (t *Table[S]) Changed(db int, key []byte, runsFor func(owner string) bool) {
	for l := t.locks[db][string(key)]; l != nil; l = l.beside {
		if l.why == unknown && runsFor(l.Owner.Name) {
			l.why = scripted
		}
		t.doubt(l)
	}
}

// DatabaseChanged calls Changed for every key of a database.
func (t *Table[S]) DatabaseChanged(db int) {
	for _, l := range t.locks[db] {
		for ; l != nil; l = l.beside {
			t.doubt(l)
		}
	}
}

// EachAt visits the locks at keys that at accepts.
func (t *Table[S]) EachAt(at func(db int, key string) bool, visit func(l *Lock[S])) {
	for db, locks := range t.locks {
		for key, l := range locks {
			for accepted := at(db, key); accepted && l != nil; l = l.beside {
				visit(l)
			}
		}
	}
}

func (t *Table[S]) doubt(l *Lock[S]) {
	if !l.doubted {
		l.doubted = true
		t.doubts = append(t.doubts, Doubt{l.DB, l.Key, l.Owner.Name})
	}
}

// Look leaves a doubt whether an owner holds a lock that the table does not know.
func (t *Table[S]) Look(db int, key, owner []byte) {
	if t.owners[string(owner)] != nil || t.HasPrefixes() {
		t.doubts = append(t.doubts, Doubt{db, string(key), string(owner)})
	}
}

// Moved leaves doubts about locks at newKey of database to, after the value of key was moved there.
func (t *Table[S]) Moved(db int, key []byte, to int, newKey []byte) {
	for l := t.locks[db][string(key)]; l != nil; l = l.beside {
		t.doubts = append(t.doubts, Doubt{to, string(newKey), l.Owner.Name})
	}
}

// Swapped does what Moved does, for all locks of two databases.
func (t *Table[S]) Swapped(a, b int) {
	for _, way := range [][2]int{{a, b}, {b, a}} {
		for key, l := range t.locks[way[0]] {
			for ; l != nil; l = l.beside {
				t.doubts = append(t.doubts, Doubt{way[1], key, l.Owner.Name})
			}
		}
	}
}

// Doubts returns the number of doubts.
func (t *Table[S]) Doubts() int { return len(t.doubts) }

// TakeDoubts returns and removes all doubts, in the order of their creation.
func (t *Table[S]) TakeDoubts() []Doubt {
	taken := t.doubts
	t.doubts = nil
	for i := range taken {
		if l := t.Find(taken[i].DB, taken[i].Key, taken[i].Owner); l != nil {
			l.doubted = false
		}
	}
	return taken
}
