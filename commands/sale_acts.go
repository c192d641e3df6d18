package commands

import (
	"bytes"

	"lockserver/store"
)

// Some keys direct what the server writes later: the delayed entries of a stream, and of a sale the holds,
// the orders, the pieces and the settings. A user that writes to such a key, by any command, needs the right
// to what the server will write because of it. The stream of a sale is named by the content of a key, so the
// words of the call count, too.
//
// A new key of this kind goes into ActsLater and KeyWrite.ActedOn. TestWritesStayWithinRights finds a
// missing key.

// directsSale are the prefixes of the keys of a sale from which the end of a hold is worked out.
var directsSale = [...]string{holdsPrefix, ordersPrefix, piecesPrefix, salePrefix}

// ActsLater reports whether a key directs later writes.
func ActsLater(key []byte) bool {
	if len(key) == 0 || key[0] != store.DelayedPrefix[0] && key[0] != saleKeyPrefix[0] {
		return false
	}
	if _, ok := store.DelayedStream(key); ok {
		return true
	}
	_, ok := directedSale(key)
	return ok
}

// directedSale returns the voucher of the sale that a key directs.
func directedSale(key []byte) (voucher []byte, ok bool) {
	if !bytes.HasPrefix(key, saleKeyPrefix) {
		return nil, false
	}
	for _, prefix := range directsSale {
		if voucher, ok := bytes.CutPrefix(key, []byte(prefix)); ok {
			return voucher, true
		}
	}
	return nil, false
}

// KeyWrite is a write of a call to a key for which ActsLater holds.
type KeyWrite struct {
	Row  *Row
	Argv [][]byte
	Key  []byte
	Use  KeyFlags // how the call uses Key
}

// ActedOn calls visit for each key of a database that the write leads to, until visit returns false. The keys
// are valid during the call of visit only. any reports that the write may lead to any key.
func (w *KeyWrite) ActedOn(db *store.DB, visit func(key []byte, use KeyFlags) bool) (any bool) {
	if stream, ok := store.DelayedStream(w.Key); ok {
		visit(stream, RW|Insert)
		return false
	}
	voucher, ok := directedSale(w.Key)
	if !ok {
		return false
	}
	saleWrites(db, [][]byte{nil, voucher}, visit) // of the stream that the sale has until then
	if !bytes.HasPrefix(w.Key, []byte(salePrefix)) || w.Row.Code != NoCode {
		return false // the commands that a script calls each have a check of their own
	}
	return w.namesStream(visit)
}

// namesStream is ActedOn for the stream that a sale has after a write to its settings. HSET and its kin have
// its name among their words. A command that replaces the key, or writes the field in another way, could
// bring any name. Without the field, or the key, it is the usual stream.
func (w *KeyWrite) namesStream(visit func(key []byte, use KeyFlags) bool) (any bool) {
	pairs := false
	switch w.Row.Name {
	case "hset", "hmset", "hsetnx":
		pairs = true
	}
	for i := 1; i < len(w.Argv); i++ {
		if !bytes.Equal(w.Argv[i], streamField) {
			continue
		}
		switch {
		case !pairs:
			return true
		case i%2 == 0 && i+1 < len(w.Argv) && !visitStreams(w.Argv[i+1], visit):
			return false
		}
	}
	switch {
	case w.Row.Group == Hash:
		return false
	case w.Use&OW != 0:
		return true
	}
	visitStreams(nil, visit)
	return false
}

// visitStreams visits the stream of a sale with this field, and the stream of orders that were taken back.
func visitStreams(field []byte, visit func(key []byte, use KeyFlags) bool) bool {
	s := sale{stream: field}
	return visit(s.streamKey(nil), RW|Insert) && visit(append(s.streamKey(nil), cancelledSuffix...), RW|Insert)
}
