package store

import (
	"bytes"
	"math"

	"lockserver/internal/decimal"
	"lockserver/store/hash"
	"lockserver/store/marks"
	"lockserver/store/renewals"
)

// Indexes of locks and sales, so that they can be listed without a walk through the keyspace, and so that
// keys of Redisson cost nothing where there are none. They hold the hashes with a token, the keys with the
// prefix of a stock of a sale, and the number of keys with the prefix of Redisson's companions of a lock.

const (
	// TokenField is the field of a hash that makes it one of EachToken's: a native lock's fencing token.
	TokenField = "$token"
	// WatchdogField is the field of a lock with a lease that the server renews.
	WatchdogField = "$watchdog"
	// ShareField is the other such field, for a lock with shared holders. Their tokens are in the values of
	// their fields (ShareToken).
	ShareField = "$mode"
	// CompanionPrefix begins the names of the keys that Redisson keeps beside a lock: its token, its
	// queue, the timeouts of those who queue.
	CompanionPrefix = "redisson_lock_"
	// StockPrefix begins the names of the keys that make a sale: that of the stock, with the voucher behind
	// it.
	StockPrefix = "seckill:stock:"
)

// IsCompanion reports whether a key is named like a companion of a lock.
func IsCompanion(key []byte) bool {
	return len(key) >= len(CompanionPrefix) && key[0] == CompanionPrefix[0] && string(key[:len(CompanionPrefix)]) == CompanionPrefix
}

// HasCompanions reports whether the database has any key with the prefix CompanionPrefix.
func (db *DB) HasCompanions() bool { return db.space.companions > 0 }

// insert puts a key into the space, which must not have it.
func (sp *space) insert(h uint64, key []byte, v value) (slot int) {
	if IsCompanion(key) {
		sp.companions++
	}
	if v.tag() == Bloom {
		sp.blooms++
	}
	sp.charge(keyBytes + named(len(key)) + v.size())
	if name := v.name(); name != nil && string(name.Bytes()) == string(key) {
		slot = sp.keys.InsertKey(h, name, v)
	} else {
		slot = sp.keys.Insert(h, key, v)
	}
	if isStock(key) {
		sp.stocks.Add(slot)
	}
	sp.absent(slot)
	return slot
}

func isStock(key []byte) bool {
	return len(key) >= len(StockPrefix) && key[0] == StockPrefix[0] && string(key[:len(StockPrefix)]) == StockPrefix
}

// delete takes the key of a slot out of the space.
func (sp *space) delete(h uint64, slot int) {
	sp.before(slot)
	name, v := sp.keys.At(slot)
	sp.charge(-keyBytes - named(len(name)) - v.size())
	if len(name) > 0 && name[0] == CompanionPrefix[0] && IsCompanion([]byte(name)) {
		sp.companions--
	}
	sp.forgetAlarm(name)
	last := sp.keys.Len() - 1
	sp.moveHeld(slot, last)
	sp.tokens.Moved(slot, last)
	sp.stocks.Moved(slot, last)
	sp.moveLockRecord(slot, last)
	if sp.renewals.Moved(slot, last) {
		sp.charge(-renewals.Bytes)
	}
	if slot>>boundBits != last>>boundBits {
		if movedMS := sp.keys.Side(last); movedMS != 0 {
			sp.bounds.Lower(slot>>boundBits, movedMS)
		}
	}
	sp.keys.Delete(h, slot)
}

// markToken adds a slot to the index if it holds a hash with a token. Later changes of the hash are detected
// by EachToken.
func (sp *space) markToken(slot int) (marked bool) {
	_, v := sp.keys.At(slot)
	if marked = v.hasToken(); marked {
		sp.tokens.Add(slot)
		sp.held(slot, tokenTimeMS(v.hash()))
	}
	return marked
}

func (v *value) hasToken() bool {
	return v.tag() == Hash && (v.hash().Has([]byte(TokenField)) || v.hash().Has(shareField))
}

var shareField = []byte(ShareField)

// addToken is markToken for a field that has just been added.
func (e *HashEdit) addToken(field []byte) {
	if len(field) > 0 && field[0] == '$' && (string(field) == TokenField || string(field) == ShareField) {
		e.db.space.tokens.Add(e.slot)
	}
}

// MaxToken is above every fencing token. A JavaScript number holds it exactly, and the clock reaches it in
// the year 2255. A hash that claims as much is no lock of ours.
const MaxToken = 1<<53 - 1

// furthestTokenUS is how far ahead of the clock a token in the data may be (100 years) for new ones to start
// above it. Tokens never fall, so one that a client wrote by hand raises those of all locks for good; without
// a bound one key could use all of them up.
const furthestTokenUS = 100 * 366 * 86_400_000_000

// TokenCanRise reports whether a new token can be made above one that is in the data; nowUS is the
// time in microseconds since 1970.
func TokenCanRise(nowUS, token int64) bool {
	return token <= nowUS+furthestTokenUS && token < MaxToken-1
}

// HighestToken returns the highest fencing token that any hash of this store has ever had, whatever became
// of the hash. All ways on which a hash gets a field pass through this store, so it counts commands, scripts,
// RESTORE, files, the log, and what a master or a group sends. A token that TokenCanRise refuses does not
// count.
func (s *Store) HighestToken() int64 { return s.highestToken }

// ForgetTokens makes HighestToken begin anew, for tests.
func (s *Store) ForgetTokens() { s.highestToken = 0 }

// mayBeToken is the part of SeeField that every written field pays for.
func mayBeToken(field, val []byte) bool {
	return len(field) == len(TokenField) && field[0] == '$' || len(val) > 0 && val[0] == '$'
}

// SeeField counts the token of a field, if it is one that holds a token. The Load functions and HashEdit do
// so themselves; a caller that drops an overdue field or hash calls it.
func (s *Store) SeeField(field, val []byte) {
	if token, ok := tokenIn(field, val); ok {
		s.seeToken(token)
	}
}

// tokenIn returns the fencing token of a field, if it is one that holds a token.
func tokenIn(field, val []byte) (token int64, ok bool) {
	if string(field) == TokenField {
		return decimal.ParseInt(val)
	}
	token, _, ok = ShareToken(val)
	return token, ok
}

func (s *Store) seeToken(token int64) {
	if token > s.highestToken && TokenCanRise(s.nowUS, token) {
		s.highestToken = token
	}
}

// seeTokens counts the tokens of a hash that comes from elsewhere.
func (s *Store) seeTokens(h *hash.Hash) {
	h.Each(func(field, val []byte) bool {
		s.SeeField(field, val)
		return true
	})
}

// ShareToken reads the fencing token with which the value of a shared holder's field begins,
// "$token:...": no script of Redisson's takes that for a number. rest is what stands behind the colon.
func ShareToken(value []byte) (token int64, rest []byte, ok bool) {
	if len(value) == 0 || value[0] != '$' {
		return 0, nil, false
	}
	const usual = 17 // where the colon is behind a token that is made of the time
	if len(value) > usual && value[usual] == ':' {
		if token, ok = decimal.ParseInt(value[1:usual]); ok {
			return token, value[usual+1:], token > 0
		}
	}
	number, rest, ok := bytes.Cut(value[1:], []byte{':'})
	if !ok {
		return 0, nil, false
	}
	token, ok = decimal.ParseInt(number)
	return token, rest, ok && token > 0
}

// TokenDigits returns the digits of the token in the value of a shared holder's field, which has one.
func TokenDigits(value []byte) []byte { return value[1:bytes.IndexByte(value, ':')] }

// EachToken visits every live key that is a hash with a token, or with shared holders, until visit
// returns false. It takes as long as there are such keys, whatever else the database holds.
func (db *DB) EachToken(visit func(key string, r LiveRef) bool) {
	sp := db.space
	for slot := sp.tokens.Next(0); slot >= 0; slot = sp.tokens.Next(slot + 1) {
		name, r := sp.entry(slot)
		if !r.v.hasToken() {
			sp.tokens.Remove(slot) // it was overwritten, or lost its token
			continue
		}
		if live := db.liveRef(r); live.OK() && !visit(name, live) {
			return
		}
	}
}

// TokensBelow visits what EachToken does in pieces, the keys that came last first: those below a cursor,
// most of them at most. It returns the cursor of those that are left, 0 at the end, which is also where to
// begin. A key that is there from the first piece to the last is visited, perhaps twice: a slot that
// becomes free gets the key of the last one.
func (db *DB) TokensBelow(cursor uint64, most int, visit func(key string, r LiveRef)) (next uint64) {
	sp := db.space
	return below(&sp.tokens, cursor, most, func(slot int) {
		if name, r := sp.entry(slot); !r.v.hasToken() {
			sp.tokens.Remove(slot)
		} else if live := db.liveRef(r); live.OK() {
			visit(name, live)
		}
	})
}

// Stocks returns the number of keys with the prefix StockPrefix.
func (db *DB) Stocks() int { return db.space.stocks.Len() }

// StocksBelow is TokensBelow for the keys with the prefix StockPrefix, of any type.
func (db *DB) StocksBelow(cursor uint64, most int, visit func(key string)) (next uint64) {
	sp := db.space
	return below(&sp.stocks, cursor, most, func(slot int) {
		if name, r := sp.entry(slot); db.live(r) {
			visit(name)
		}
	})
}

// below visits the marked slots below a cursor in falling order.
func below(of *marks.Set, cursor uint64, most int, visit func(slot int)) (next uint64) {
	slot := math.MaxInt
	if cursor > 0 && cursor < math.MaxInt {
		slot = int(cursor)
	}
	for range most {
		if slot = of.Prev(slot); slot < 0 {
			return 0
		}
		visit(slot)
	}
	if of.Prev(slot) < 0 {
		return 0
	}
	return uint64(slot)
}

// Holders returns how many hold the locks that EachToken may visit: one each, or several who share one.
func (db *DB) Holders() int { return db.space.tokens.Len() + db.space.sharers }

// addLease counts the key of a slot that is due if it is a lock that is held.
func (db *DB) addLease(slot int) {
	if !db.space.tokens.Has(slot) {
		return
	}
	key, v := db.space.keys.At(slot)
	if owners(v) > 0 {
		db.leasesExpired += int64(max(1, v.hash().Timed()))
		db.endLock(slot, []byte(key), LockEnd{Expired: true})
	}
}

// LeasesExpired returns how many holders of locks with a token lost them because their time had come: since
// the start, or the last ResetStats.
func (db *DB) LeasesExpired() int64 { return db.leasesExpired }

// ReservedField reports whether a field of a lock or a semaphore cannot be an owner's, whatever its value.
func ReservedField(field []byte) bool {
	if len(field) > 0 && field[0] != '$' {
		return string(field) == ModeField
	}
	switch string(field) {
	case TokenField, WatchdogField, ShareField, LimitField, ReadersField:
		return true
	}
	return false
}
