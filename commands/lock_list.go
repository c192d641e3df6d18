package commands

import (
	"math"

	"lockserver/internal/glob"
	"lockserver/internal/waiting"
	"lockserver/store"
)

// lockFilter is what LOCK.LIST asks of a lock; nil: nothing.
type lockFilter struct{ pattern, owner []byte }

// listedLock is a lock that LOCK.LIST shows.
type listedLock struct {
	key    string
	mode   string // empty: it has no shared holders
	holder Holder // of its own, whatever becomes of the lock
	latch  int64  // what is left of a latch; 0: it is none
}

// latchCursor marks the cursor of a list that has not come to the end of the latches, which come first.
const latchCursor = 1 << 63

// lockList lists the held locks of the database that the client may read, in no order: those that have a
// token. One that Redisson's scripts took is among them as soon as a native command has. Before them come the
// latches that clients wait for. With a cursor it looks at some of them, as SCAN does.
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
	c.DB.EachToken(func(key string, r store.LiveRef) bool {
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

// lockPiece looks at count latches and locks below a cursor; -1: the default of SCAN.
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
		cursor = math.MaxInt // all locks
		switch {
		case next != 0:
			next |= latchCursor
		case left == 0:
			next = cursor
		}
	}
	if next == 0 {
		next = c.DB.TokensBelow(cursor, left, func(key string, r store.LiveRef) {
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

// each visits those who hold a key's lock and are to be shown: the filter wants them, and the client may read
// the key.
func (f *lockFilter) each(c *Ctx, key string, r store.LiveRef, visit func(l listedLock) bool) {
	if f.pattern != nil && !glob.Match(f.pattern, []byte(key), false) || !c.Host.MayRead(c, []byte(key)) {
		return
	}
	state, err := lockAt(r)
	if err != nil || !state.Held() {
		return
	}
	if f.owner != nil && state.Limit > 0 && CheckOwner(f.owner) == nil { // there may be many holders
		if h, ok := HolderOf(r, f.owner); ok {
			visit(listed(key, &state, h))
		}
		return
	}
	EachHolder(r, func(h Holder) bool {
		return f.owner != nil && string(h.Owner) != string(f.owner) || visit(listed(key, &state, h))
	})
}

// latch returns what is shown of a latch with waiters; ok is false if it is not to be shown.
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

// listed is what is shown of a holder of a lock.
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
