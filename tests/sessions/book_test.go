package sessions

import "fmt"

// book holds what the replies of a connection have said.
type book struct {
	owner string // its unique name as an owner of locks
	holds map[place]*hold
	// popped holds the elements that it took out of lists; lost counts those that it may have taken without a
	// reply.
	popped []string
	lost   int
	pushed []string
}

// hold is its knowledge about one lock.
type hold struct {
	count, token int64
	unsure       bool // the real number of holds may differ from count
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

// took records that it got a lock.
func (b *book) took(p place, token int64) bool {
	h := b.hold(p)
	if !h.unsure && h.count > 0 && h.token != token {
		return false // a re-entry: the same token
	}
	h.count, h.token = h.count+1, token
	return true
}

// released records the reply to a release.
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

// check compares the book with LOCK.INFO: the holder, the number of holds, and the token. alive says whether
// the connection lives. exact says that it is known what the connection had not read when the server ended
// it.
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

// lockInfo is the content of LOCK.INFO; owner is empty if the lock is free.
type lockInfo struct {
	owner        string
	holds, token int64
}
