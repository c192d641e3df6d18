package commands

import (
	"bytes"
	"strconv"

	"lockserver/internal/decimal"
	"lockserver/store"
	"lockserver/store/hash"
)

// An RReadWriteLock of Redisson is a hash with the field "mode" ("read" or "write"). Each owner has a field
// with the number of its holds. A reader's field is its name; a writer's field is its name and ":write". Each
// read hold also has a string "{key}:<owner>:rwlock_timeout:<i>", which expires with its lease.
//
// Readers of Redisson and native readers may share one hash. When a reader of Redisson leaves, it computes
// the key's deadline from those strings alone, and removes the key if there is none. So one such reader
// represents all native holders: the field readersField, and its string. Redisson's scripts do not take the
// values of native holders for numbers.
const (
	rwChannel      = "redisson_rwlock"
	writeSuffix    = ":write"
	timeoutInfix   = ":rwlock_timeout:"
	mostTimeouts   = 1024 // the strings of one reader that are looked up
	mostScriptHold = 1 << 31
)

var (
	readersField = []byte(store.ReadersField)
	// The messages to RReadWriteLock's clients: one waiter may try, or all.
	tellOne, tellAll = unlockMessage, []byte("1")
)

// scriptHolders returns how many owners hold a lock with the field "mode". native says that native owners
// hold it, too. The error is ErrHeldByScript if Redisson's scripts hold it for the owner, and ErrWrongType if
// it is no such lock.
func scriptHolders(h *hash.Hash, owner []byte, native bool) (n int, err error) {
	h.Each(func(field, value []byte) bool {
		holds, isInt := decimal.ParseInt(value)
		_, isShare := parseShare(value)
		switch {
		case store.ReservedField(field):
			return true
		case native && isShare:
		case !isInt || holds <= 0 || holds >= mostScriptHold:
			err = ErrWrongType
		case len(owner) > 0 && bytes.Equal(bytes.TrimSuffix(field, []byte(writeSuffix)), owner):
			err = ErrHeldByScript
		}
		n++
		return err != ErrWrongType
	})
	if n == 0 && !native {
		err = ErrWrongType
	}
	return n, err
}

// readScript sets the owner and its holds from a field of Redisson's.
func (h *Holder) readScript(field []byte, holds int64) {
	if writer, ok := bytes.CutSuffix(field, []byte(writeSuffix)); ok {
		h.Owner, h.Exclusive = writer, holds
	} else {
		h.Shared = holds
	}
}

// adoptReader is called after a script has added a field to a hash by HINCRBY. On a lock with native shared
// holders that field is a reader of an RReadWriteLock.
func (c *Ctx) adoptReader(key []byte, e store.HashEdit) {
	mode, native := e.Hash().Get(nil, shareField)
	if !native || string(mode) != "read" {
		return
	}
	if !e.Hash().Has(modeField) {
		e.Set(modeField, readMode)
	}
	updateShares(c.DB, key, e)
}

// timeoutKey appends the name of the string that lives as long as a hold of a reader.
func timeoutKey(dst, key, owner []byte, number int64) []byte {
	if bytes.IndexByte(key, '{') >= 0 {
		dst = append(dst, key...)
	} else {
		dst = append(append(append(dst, '{'), key...), '}')
	}
	dst = append(append(append(dst, ':'), owner...), timeoutInfix...)
	return strconv.AppendInt(dst, number, 10)
}

// scriptsEndMS returns when the last hold of a reader of Redisson's ends, by its strings, or 0 if it has
// none.
func scriptsEndMS(db *store.DB, key, reader []byte, holds int64) (endMS int64) {
	for i := range min(holds, mostTimeouts) {
		var name [160]byte
		endMS = max(endMS, db.Peek(timeoutKey(name[:0], key, reader, i+1)).DeadlineMS())
	}
	return endMS
}

// updateShares is called after a holder has changed. It makes the key's deadline the latest of its holders',
// and creates or removes the reader that represents the native holders.
func updateShares(db *store.DB, key []byte, e store.HashEdit) {
	h := e.Hash()
	var nativeMS, scriptMS int64
	natives, scripts := 0, 0
	h.EachTimed(func(field, value []byte, atMS int64) bool {
		if store.ReservedField(field) {
			return true
		}
		if _, ok := parseShare(value); ok {
			natives++
			nativeMS = max(nativeMS, atMS)
		} else if n, ok := decimal.ParseInt(value); ok {
			scripts++
			scriptMS = max(scriptMS, scriptsEndMS(db, key, field, n))
		}
		return true
	})
	var name [160]byte
	stand := timeoutKey(name[:0], key, readersField, 1)
	if scripts > 0 {
		e = db.EditHash(key) // the look-up may have removed an overdue string, and that moves slots
	}
	if scripts > 0 && natives > 0 {
		e.SetInt(readersField, 1)
		e.HoldUntil(readersField, nativeMS)
		db.EditString(stand).SetInt(1)
		db.Expire(stand, max(nativeMS, db.Store().NowMS()+1)) // a deadline that is due now would remove the string at once
		e = db.EditHash(key)                                  // as above
	} else if h.Has(modeField) {
		if e.Delete(readersField) {
			db.Delete(stand)
			e = db.EditHash(key)
		}
		if scripts == 0 {
			e.Delete(modeField)
		} else {
			e.Delete(shareField)
		}
	}
	if endMS := max(nativeMS, scriptMS); endMS >= db.Store().NowMS() && endMS != db.Peek(key).DeadlineMS() {
		e.Expire(endMS)
	}
}

// standInEndMS returns when the last lease of the native holders beside Redisson's readers ends, or 0.
// Redisson's scripts give the key the deadline of the reader that calls, which must not shorten the leases of
// others.
func standInEndMS(h *hash.Hash) int64 { return h.Deadline(readersField) }

// dropStandIn removes the string of the reader that represents native holders, if there is one.
func dropStandIn(c *Ctx, key []byte) {
	if h := c.DB.Peek(key).Hash(); h != nil && h.Has(readersField) {
		var name [160]byte
		c.DB.Delete(timeoutKey(name[:0], key, readersField, 1))
	}
}

// announceShares sends tell to the waiters of an RReadWriteLock: one of them may try, or all.
func announceShares(c *Ctx, key, tell []byte) {
	if c.Host.AnyoneListens() {
		c.Host.Publish(companion(make([]byte, 0, 128), rwChannel, key), tell)
	}
}
