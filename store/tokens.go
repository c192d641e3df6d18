package store

import (
	"bytes"
	"math"

	"lockserver/internal/decimal"
	"lockserver/store/hash"
	"lockserver/store/marks"
	"lockserver/store/renewals"
)

// Indexes of locks and sales. They are for listing without a walk through the keyspace. They contain the
// hashes with a token, the keys with the prefix of a sale's stock, and the number of keys with the prefix of
// Redisson's companions of a lock. So companions of Redisson cost nothing in a database without them.

const (
	// TokenField is the field with a native lock's fencing token. EachToken visits the hashes with this
	// field.
	TokenField = "$token"
	// WatchdogField is the field of a lock with a lease that the server renews.
	WatchdogField = "$watchdog"
	// ShareField is the field that marks a lock with shared holders; EachToken visits these, too. Their
	// tokens are in the values of their holders' fields (ShareToken).
	ShareField = "$mode"
	// CompanionPrefix begins the names of the keys that Redisson stores beside a lock: its token, its queue,
	// and the timeouts of the clients in the queue.
	CompanionPrefix = "redisson_lock_"
	// StockPrefix begins the names of the keys of a sale: the stock, with the voucher after the prefix.
	StockPrefix = "seckill:stock:"
)

// IsCompanion reports whether a key has the name of a companion of a lock.
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

// delete removes the key of a slot from the space.
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
// the year 2255. A hash with a higher token is no lock of ours.
const MaxToken = 1<<53 - 1

// furthestTokenUS is how far a token in the data may be ahead of the clock (100 years) for new tokens to
// start above it. Tokens never fall, so a token that a client wrote by hand raises the tokens of all locks
// for ever. Without a bound one key could use up all tokens.
const furthestTokenUS = 100 * 366 * 86_400_000_000

// TokenCanRise reports whether a new token can be made above one that is in the data; nowUS is the
// time in microseconds since 1970.
func TokenCanRise(nowUS, token int64) bool {
	return token <= nowUS+furthestTokenUS && token < MaxToken-1
}

// HighestToken returns the highest fencing token that any hash of this store has ever had, even if the hash
// is gone. All ways in which a hash gets a field pass through this store. So the token counts whether it
// comes from a command, a script, RESTORE, a file, the log, a master or a group. A token that TokenCanRise
// refuses does not count.
func (s *Store) HighestToken() int64 { return s.highestToken }

// ForgetTokens resets HighestToken, for tests.
func (s *Store) ForgetTokens() { s.highestToken = 0 }

// mayBeToken is the cheap first check of SeeField, which runs for every written field.
func mayBeToken(field, val []byte) bool {
	return len(field) == len(TokenField) && field[0] == '$' || len(val) > 0 && val[0] == '$'
}

// SeeField counts the token of a field, if the field holds a token. The Load functions and HashEdit do so
// themselves; a caller that drops an overdue field or hash calls it.
func (s *Store) SeeField(field, val []byte) {
	if token, ok := tokenIn(field, val); ok {
		s.seeToken(token)
	}
}

// tokenIn returns the fencing token of a field, if the field holds a token.
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

// seeTokens counts the tokens of a hash that was not built by HashEdit.
func (s *Store) seeTokens(h *hash.Hash) {
	h.Each(func(field, val []byte) bool {
		s.SeeField(field, val)
		return true
	})
}

// ShareToken reads the fencing token at the start of a shared holder's value, "$token:...". No script of
// Redisson takes such a value for a number. rest is the text after the colon.
func ShareToken(value []byte) (token int64, rest []byte, ok bool) {
	if len(value) == 0 || value[0] != '$' {
		return 0, nil, false
	}
	const usual = 17 // the usual index of the colon: behind a token that is made of the time
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

// TokenDigits returns the digits of the token in the value of a shared holder's field. The value must have a
// token.
func TokenDigits(value []byte) []byte { return value[1:bytes.IndexByte(value, ':')] }

// EachToken visits every live key that is a hash with a token, or with shared holders, until visit returns
// false. Its time depends on the number of such keys, not on the other keys of the database.
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

// TokensBelow visits the keys of EachToken in several calls, latest keys first. A call visits the keys below
// a cursor, at most so many. It returns the cursor for the next call; 0 is the first cursor and the last. A
// key that exists from the first call to the last is visited, perhaps twice: when a slot becomes free the
// last key takes it.
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

// Holders returns the number of holders of the locks that EachToken may visit: one for each lock, or several
// if it is shared.
func (db *DB) Holders() int { return db.space.tokens.Len() + db.space.sharers }

// addLease counts the key of an overdue slot in LeasesExpired if it is a held lock.
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

// LeasesExpired returns the number of holders that lost locks with a token because their deadlines passed. It
// counts from the start, or from the last ResetStats.
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
