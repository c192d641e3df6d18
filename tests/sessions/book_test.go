package sessions

import "fmt"

// book is what one connection learned from its replies.
type book struct {
	owner string // its name as an owner of locks, which no other connection has
	holds map[place]*hold
	// popped are the elements that it took out of lists; lost is how many it may have taken without a reply.
	popped []string
	lost   int
	pushed []string
}

// hold is what it knows of one lock.
type hold struct {
	count, token int64
	unsure       bool // it may hold it, more or less often than count
}

func newBook(owner string) *book { return &book{owner: owner, holds: make(map[place]*hold)} }

func (b *book) hold(p place) *hold {
	h := b.holds[p]
	if h == nil {
		h = &hold{}
		b.holds[p] = h
	}
	return h
}

// took records that a lock was given to it.
func (b *book) took(p place, token int64) bool {
	h := b.hold(p)
	if !h.unsure && h.count > 0 && h.token != token {
		return false // reentrant: the same token
	}
	h.count, h.token = h.count+1, token
	return true
}

// released records a reply about a release.
func (b *book) released(p place, freed bool) bool {
	h := b.hold(p)
	if h.unsure {
		return true
	}
	if freed != (h.count > 0) {
		return false
	}
	h.count = max(0, h.count-1)
	return true
}

// check compares with what LOCK.INFO says: who holds the lock, how often, and with which token. alive is
// whether the connection is, exact whether what it did not read before the server ended it is known.
func (b *book) check(p place, info lockInfo, alive, exact bool) error {
	h := b.holds[p]
	if h == nil {
		h = &hold{}
	}
	mine := info.owner == b.owner
	switch {
	case h.unsure, !alive && !exact:
		return nil
	case mine && h.count == 0:
		return fmt.Errorf("%s is %s's, which was not told so", p, b.owner)
	case mine && (info.holds != h.count || info.token != h.token):
		return fmt.Errorf("%s is %s's %d times with token %d; it was told %d times and %d", p, b.owner, info.holds, info.token,
			h.count, h.token)
	case !mine && h.count > 0 && alive:
		return fmt.Errorf("%s is not %s's (but %q's), which was told that it is", p, b.owner, info.owner)
	}
	return nil
}

// lockInfo is what LOCK.INFO says; owner is empty if the lock is free.
type lockInfo struct {
	owner        string
	holds, token int64
}
