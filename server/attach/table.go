// Package attach knows which connections are attached to which owners of locks (LOCK.ATTACH), and which
// locks those owners hold. So the connections get a message when an owner loses one.
//
// It does not know the server, sessions or the data: connections are a type parameter, and a lock is a name,
// an owner and a token. Code that changes a key, or sees it changed, leaves a doubt here. At the end of the
// unit the server takes the doubts out, looks at the data, and says what it found (Hold, Lose). So it does
// not matter what changed a lock. A lock that expired and one that was deleted leave the same data behind.
// So such a reason is recorded when it happens (Because); the first one counts.
//
// To add a reason: a Reason, its word in reasons, and a call of Because.
package attach

import "slices"

// Reason says how an owner came to hold a lock no more.
type Reason uint8

const (
	unknown     Reason = iota
	scripted           // a script that was given the owner's name did it; as Released, unless the lease had ended
	Released           // the owner did it itself, and gets no message
	Expired            // the lease ended
	Forced             // LOCK.FORCE
	Overwritten        // something else stands at the key
	Deleted            // nothing does
)

var reasons = [...]string{Expired: "expired", Forced: "forced", Overwritten: "overwritten", Deleted: "deleted"}

// Owner is an owner of locks that connections are attached to.
type Owner[S comparable] struct {
	Name string
	// By are those connections, in the order in which they came. There is one at least, unless there are
	// prefixes: then the table also knows owners that hold locks.
	By    []S
	first *Lock[S]
}

// Lock is a lock that such an owner holds.
type Lock[S comparable] struct {
	Owner *Owner[S]
	DB    int
	Key   string
	Token int64

	why        Reason
	doubted    bool     // it is in Table.doubts
	beside     *Lock[S] // of another owner at the same key
	above      *Lock[S] // the lock that has this one beside it
	prev, next *Lock[S] // of the same owner
}

// Doubt is a lock to be looked at.
type Doubt struct {
	DB         int
	Key, Owner string
}

// Attachments are the owners that one connection is attached to. The zero value is ready.
type Attachments[S comparable] struct {
	owners   map[string]*Owner[S]
	prefixes map[string]*prefix[S]
	bytes    int
}

// Len returns how many owners and prefixes there are.
func (v *Attachments[S]) Len() int { return len(v.owners) + len(v.prefixes) }

// Has reports whether the connection is attached to an owner.
func (v *Attachments[S]) Has(owner []byte) bool { return v.owners[string(owner)] != nil }

// Names are the owners, in no order.
func (v *Attachments[S]) Names() (names []string) {
	for name := range v.owners {
		names = append(names, name)
	}
	return names
}

// Bytes returns about how much memory the connection takes here.
func (v *Attachments[S]) Bytes() int { return v.bytes }

// attachmentBytes is about what an owner takes beside its name: itself, and its places in two maps.
const attachmentBytes = 160

// Table holds all owners that a connection is attached to.
type Table[S comparable] struct {
	owners   map[string]*Owner[S]
	prefixes prefixes[S]
	attached int                   // how often a connection is attached to an owner or to a prefix
	locks    []map[string]*Lock[S] // by database and key
	doubts   []Doubt
	others   []*Owner[S] // to be forgotten, unless connections attach to them again: see Forget
}

// Open makes an empty table for so many databases.
func (t *Table[S]) Open(databases int) {
	t.owners = make(map[string]*Owner[S])
	t.locks = make([]map[string]*Lock[S], databases)
}

// InUse reports whether a connection is attached to an owner or to a prefix.
func (t *Table[S]) InUse() bool { return t.attached > 0 }

// Owner returns an owner that the table knows, nil if it does not.
func (t *Table[S]) Owner(name []byte) *Owner[S] { return t.owners[string(name)] }

// AttachedByOther reports whether another connection than s is attached to an owner.
func (t *Table[S]) AttachedByOther(s S, owner []byte) (yes bool) {
	t.Each(owner, func(other S, _ bool) bool {
		yes = other != s
		return !yes
	})
	return yes
}

// add makes an owner known.
func (t *Table[S]) add(name []byte) *Owner[S] {
	o := &Owner[S]{Name: string(name)}
	t.owners[o.Name] = o
	if t.HasPrefixes() {
		t.prefixes.sorted.Set(o.Name, o)
	}
	return o
}

// forget forgets an owner and its locks.
func (t *Table[S]) forget(o *Owner[S]) {
	delete(t.owners, o.Name)
	t.prefixes.sorted.Delete(o.Name)
	for o.first != nil {
		t.drop(o.first)
	}
}

// Attach attaches s, with its attachments v, to an owner; it does nothing if s is attached already.
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

// mostLeft is how many locks Detach and DetachPrefix look at.
const mostLeft = 256

// Detach ends it. If no connection is left that is attached to the owner or to a prefix of it, locks of the
// owner are returned. There may be very many: then it is only the first of them.
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

// detached forgets everything if no connection is attached any more.
func (t *Table[S]) detached() {
	if !t.InUse() {
		*t = Table[S]{owners: make(map[string]*Owner[S]), locks: make([]map[string]*Lock[S], len(t.locks))}
	}
}

// Find returns the lock that an owner is known to hold at a key, nil if none is.
func (t *Table[S]) Find(db int, key, owner string) *Lock[S] {
	o := t.owners[owner]
	if o == nil {
		return nil
	}
	// Many owners may hold permits of one semaphore, and one owner may hold many locks. The shorter list ends
	// the search.
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

// Holds says that a lock was found to be held as before: what seemed to be the reason of its end was none.
func (l *Lock[S]) Holds() { l.why = unknown }

// Lose forgets a lock that is held no more, and returns why it is not: found, unless another reason was
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

// Because records why the locks at a key are about to be held no more, or have just ceased to be.
func (t *Table[S]) Because(db int, key []byte, why Reason) {
	for l := t.locks[db][string(key)]; l != nil; l = l.beside {
		if l.why <= scripted {
			l.why = why
		}
	}
}

// Changed leaves a doubt about the locks at a key that has changed. runsFor tells whether a script runs that
// was given a name: a release by such a script (Redisson's) is the owner's own.
func (t *Table[S]) Changed(db int, key []byte, runsFor func(owner string) bool) {
	for l := t.locks[db][string(key)]; l != nil; l = l.beside {
		if l.why == unknown && runsFor(l.Owner.Name) {
			l.why = scripted
		}
		t.doubt(l)
	}
}

// DatabaseChanged is Changed for every key of a database.
func (t *Table[S]) DatabaseChanged(db int) {
	for _, l := range t.locks[db] {
		for ; l != nil; l = l.beside {
			t.doubt(l)
		}
	}
}

func (t *Table[S]) doubt(l *Lock[S]) {
	if !l.doubted {
		l.doubted = true
		t.doubts = append(t.doubts, Doubt{l.DB, l.Key, l.Owner.Name})
	}
}

// Look leaves a doubt whether an owner holds a lock that may be unknown here.
func (t *Table[S]) Look(db int, key, owner []byte) {
	if t.owners[string(owner)] != nil || t.HasPrefixes() {
		t.doubts = append(t.doubts, Doubt{db, string(key), string(owner)})
	}
}

// Moved leaves doubts about the locks that may stand at newKey of to now, where those of key went.
func (t *Table[S]) Moved(db int, key []byte, to int, newKey []byte) {
	for l := t.locks[db][string(key)]; l != nil; l = l.beside {
		t.doubts = append(t.doubts, Doubt{to, string(newKey), l.Owner.Name})
	}
}

// Swapped is Moved for all locks of two databases.
func (t *Table[S]) Swapped(a, b int) {
	for _, way := range [][2]int{{a, b}, {b, a}} {
		for key, l := range t.locks[way[0]] {
			for ; l != nil; l = l.beside {
				t.doubts = append(t.doubts, Doubt{way[1], key, l.Owner.Name})
			}
		}
	}
}

// Doubts returns how many doubts there are.
func (t *Table[S]) Doubts() int { return len(t.doubts) }

// TakeDoubts returns all doubts, in the order in which they came.
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
