package commands

import (
	"lockserver/internal/glob"
	"lockserver/store"
)

// lockFilter is what LOCK.LIST asks of a lock; nil: nothing.
type lockFilter struct{ pattern, owner []byte }

// listedLock is a lock that LOCK.LIST shows.
type listedLock struct {
	key   string
	state LockState
}

// lockList lists the held locks of the database that the client may read, in no order: those that have a
// token. One that Redisson's scripts took is among them as soon as a native command has. With a cursor it
// looks at some of them, as SCAN does.
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
	c.DB.EachToken(func(key string, r store.Ref) bool {
		if l, ok := f.takes(c, key, r); ok {
			l.write(c)
			n++
		}
		return n != most
	})
	c.Out.SetArray(list, int(n))
	return nil
}

// lockPiece looks at count locks below a cursor; -1: as many as SCAN does if it is not told.
func lockPiece(c *Ctx, f *lockFilter, cursor uint64, count int64) {
	var found []listedLock
	next := c.DB.TokensBelow(cursor, PieceOf(count), func(key string, r store.Ref) {
		if l, ok := f.takes(c, key, r); ok {
			found = append(found, l)
		}
	})
	c.WritePiece(next, len(found))
	for i := range found {
		found[i].write(c)
	}
}

// takes says whether a key's lock is to be shown: it is held, the filter wants it, and the client may read
// it.
func (f *lockFilter) takes(c *Ctx, key string, r store.Ref) (l listedLock, ok bool) {
	if f.pattern != nil && !glob.Match(f.pattern, []byte(key), false) || !c.Host.MayRead(c, []byte(key)) {
		return l, false
	}
	state, err := lockAt(r)
	if err != nil || state.Holds == 0 || f.owner != nil && string(state.Owner) != string(f.owner) {
		return l, false
	}
	return listedLock{key, state}, true
}

func (l *listedLock) write(c *Ctx) {
	c.Out.Map(5)
	c.Out.BulkString("key")
	c.Out.BulkString(l.key)
	c.Out.BulkString("owner")
	c.Out.Bulk(l.state.Owner)
	c.Out.BulkString("holds")
	c.Out.Int(l.state.Holds)
	c.Out.BulkString("token")
	c.Out.Int(l.state.Token)
	c.Out.BulkString("ttl")
	c.Out.Int(l.state.TTLMS(c.NowMS()))
}
