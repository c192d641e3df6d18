package commands

import (
	"bytes"
	"strconv"

	"lockserver/internal/decimal"
	"lockserver/store"
	"lockserver/store/hash"
)

// What an RReadWriteLock of Redisson keeps: the hash has the field "mode" with "read" or "write", and a
// field an owner with its read holds. The field of a writer is its name with ":write" behind it. For each
// read hold there is a string "{key}:<owner>:rwlock_timeout:<i>" that dies with its lease. Its readers and
// native ones may be in one hash. Each of its readers that leaves computes the key's deadline anew, from
// those strings alone, and removes the key if there is none. So the native holders, with values that its
// scripts take for no numbers, have one reader of that kind for all of them. That is the field
// readersField, and its string.
const (
	rwChannel      = "redisson_rwlock"
	writeSuffix    = ":write"
	timeoutInfix   = ":rwlock_timeout:"
	mostTimeouts   = 1024 // of one reader that are looked up
	mostScriptHold = 1 << 31
)

var (
	readersField = []byte(store.ReadersField)
	// What RReadWriteLock's clients hear: one of those that wait may try, or all.
	tellOne, tellAll = unlockMessage, []byte("1")
)

// scriptHolders returns how many owners hold a lock with the field "mode". native: native ones do, too.
// ErrHeldByScript: the owner holds it by Redisson's scripts. ErrWrongType: it is no such lock.
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

// readScript reads a field of Redisson's.
func (h *Holder) readScript(field []byte, holds int64) {
	if writer, ok := bytes.CutSuffix(field, []byte(writeSuffix)); ok {
		h.Owner, h.Exclusive = writer, holds
	} else {
		h.Shared = holds
	}
}

// adoptReader is called when a script has added a field to a hash, by HINCRBY: on a lock with native shared
// holders that is a reader of an RReadWriteLock.
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

// timeoutKey appends the name of the string that says how long a reader's hold lasts.
func timeoutKey(dst, key, owner []byte, number int64) []byte {
	if bytes.IndexByte(key, '{') >= 0 {
		dst = append(dst, key...)
	} else {
		dst = append(append(append(dst, '{'), key...), '}')
	}
	dst = append(append(append(dst, ':'), owner...), timeoutInfix...)
	return strconv.AppendInt(dst, number, 10)
}

// scriptsEndMS returns when the last hold of a reader of Redisson's ends, as its strings say; 0: there is
// none.
func scriptsEndMS(db *store.DB, key, reader []byte, holds int64) (endMS int64) {
	for i := range min(holds, mostTimeouts) {
		var name [160]byte
		endMS = max(endMS, db.Peek(timeoutKey(name[:0], key, reader, i+1)).DeadlineMS())
	}
	return endMS
}

// updateShares makes the key's deadline the latest of its holders', once one of them has changed, and keeps
// the reader that stands for the native holders before Redisson's.
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
		e = db.EditHash(key) // a string that was looked up and found overdue may have moved it
	}
	if scripts > 0 && natives > 0 {
		e.SetInt(readersField, 1)
		e.HoldUntil(readersField, nativeMS)
		db.SetInt(stand, 1)
		db.Expire(stand, max(nativeMS, db.Store().NowMS()+1)) // what would end now would be gone at once
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

// standInEndMS returns when the last lease of the native holders ends that stand beside Redisson's
// readers; 0: there are none. Its scripts give the key the deadline of the reader that asks, who must not
// cut the leases of others.
func standInEndMS(h *hash.Hash) int64 { return h.Deadline(readersField) }

// dropStandIn removes the string of the reader that stands for native holders, if there is one.
func dropStandIn(c *Ctx, key []byte) {
	if h := c.DB.Peek(key).Hash(); h != nil && h.Has(readersField) {
		var name [160]byte
		c.DB.Delete(timeoutKey(name[:0], key, readersField, 1))
	}
}

// announceShares tells those that wait for an RReadWriteLock that they may try: one, or all.
func announceShares(c *Ctx, key, tell []byte) {
	if c.Host.AnyoneListens() {
		c.Host.Publish(companion(make([]byte, 0, 128), rwChannel, key), tell)
	}
}
