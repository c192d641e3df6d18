package commands

import (
	"math"

	"lockserver/internal/glob"
	"lockserver/internal/waiting"
	"lockserver/store"
)

// lockFilter holds the filters of LOCK.LIST; nil means no filter.
type lockFilter struct{ pattern, owner []byte }

// listedLock is a lock that LOCK.LIST shows.
type listedLock struct {
	key    string
	mode   string // empty for a lock that never had shared holders
	holder Holder // a copy, valid whatever happens to the lock
	latch  int64  // the count of a latch, or 0 for a lock
}

// latchCursor marks a cursor in the list of latches, which come before the locks.
const latchCursor = 1 << 63

// lockList lists the held locks of the database that have a token and that the client may read, in no order.
// A lock of Redisson's scripts has a token after the first native command on it. Before the locks come the
// latches for which clients wait. With a cursor it examines a part of them, as SCAN does.
func lockList(c *Ctx) error {
	var f lockFilter
	var cursor uint64
	inPieces, most := false, int64(-1)
	for a := c.Args(); a.More(); {
		switch a.Option() {
		case "MATCH":
			f.pattern = a.Bytes()
		case "OWNER":
			f.owner = a.Bytes()
		case "COUNT":
			if most = a.IntOr(ErrNotPositive); most < 1 {
				a.Fail(ErrNotPositive)
			}
		case "CURSOR":
			cursor, inPieces = a.Cursor(), true
		}
		if err := a.Err(); err != nil {
			return err
		}
	}
	if inPieces {
		lockPiece(c, &f, cursor, most)
		return nil
	}
	list := c.Out.DeferArray()
	n := int64(0)
	c.Queues.LatchesBelow(c.DB.ID(), 0, math.MaxInt, func(q *waiting.Queue) {
		if l, ok := f.latch(c, q); ok && n != most {
			l.write(c)
			n++
		}
	})
	c.DB.Keys().EachToken(func(key string, r store.LiveRef) bool {
		if n == most {
			return false
		}
		f.each(c, key, r, func(l listedLock) bool {
			l.write(c)
			n++
			return n != most
		})
		return true
	})
	c.Out.SetArray(list, int(n))
	return nil
}

// lockPiece examines count latches and locks below a cursor. A count of -1 means the default of SCAN.
func lockPiece(c *Ctx, f *lockFilter, cursor uint64, count int64) {
	var found []listedLock
	left, next := PieceOf(count), uint64(0)
	if cursor == 0 || cursor&latchCursor != 0 {
		next = c.Queues.LatchesBelow(c.DB.ID(), cursor&^latchCursor, left, func(q *waiting.Queue) {
			left--
			if l, ok := f.latch(c, q); ok {
				found = append(found, l)
			}
		})
		cursor = math.MaxInt // the cursor of the whole list of locks
		switch {
		case next != 0:
			next |= latchCursor
		case left == 0:
			next = cursor
		}
	}
	if next == 0 {
		next = c.DB.Keys().TokensBelow(cursor, left, func(key string, r store.LiveRef) {
			f.each(c, key, r, func(l listedLock) bool {
				l.holder.Owner = Clone(l.holder.Owner)
				found = append(found, l)
				return true
			})
		})
	}
	c.WritePiece(next, len(found))
	for i := range found {
		found[i].write(c)
	}
}

// each visits the holders of a key's lock that match the filter, if the client may read the key.
func (f *lockFilter) each(c *Ctx, key string, r store.LiveRef, visit func(l listedLock) bool) {
	if f.pattern != nil && !glob.Match(f.pattern, []byte(key), false) || !c.Host.MayRead(c, []byte(key)) {
		return
	}
	state, err := lockAt(r)
	if err != nil || !state.Held() {
		return
	}
	if f.owner != nil && state.Limit > 0 && CheckOwner(f.owner) == nil { // a semaphore may have many holders
		if h, ok := HolderOf(r, f.owner); ok {
			visit(listed(key, &state, h))
		}
		return
	}
	EachHolder(r, func(h Holder) bool {
		return f.owner != nil && string(h.Owner) != string(f.owner) || visit(listed(key, &state, h))
	})
}

// latch returns the entry for a latch with waiters; ok is false if the filter or the rights of the client
// exclude it.
func (f *lockFilter) latch(c *Ctx, q *waiting.Queue) (l listedLock, ok bool) {
	key := []byte(q.Key())
	if f.owner != nil || f.pattern != nil && !glob.Match(f.pattern, key, false) || !c.Host.MayRead(c, key) {
		return l, false
	}
	latch, ok := FindLatch(c, key)
	l = listedLock{key: q.Key(), mode: LatchMode, latch: latch.Count}
	if latch.TTLMS >= 0 {
		l.holder.DeadlineMS = c.NowMS() + latch.TTLMS
	}
	return l, ok
}

// listed returns the entry for a holder of a lock.
func listed(key string, state *LockState, h Holder) listedLock {
	l := listedLock{key: key, holder: h}
	switch {
	case state.Limit > 0:
		l.mode = state.Mode()
	case state.Shares > 0:
		l.mode = h.Mode()
	}
	return l
}

func (l *listedLock) write(c *Ctx) {
	fields := 5
	if l.mode != "" {
		fields++
	}
	c.Out.Map(fields)
	c.Out.BulkString("key")
	c.Out.BulkString(l.key)
	c.Out.BulkString("owner")
	c.Out.Bulk(l.holder.Owner)
	c.Out.BulkString("holds")
	c.Out.Int(l.holder.Holds() + l.latch)
	c.Out.BulkString("token")
	c.Out.Int(l.holder.Token)
	c.Out.BulkString("ttl")
	c.Out.Int(l.holder.TTLMS(c.DB.Store().NowUS()))
	if l.mode != "" {
		c.Out.BulkString("mode")
		c.Out.BulkString(l.mode)
	}
}
