package commands

import (
	"time"

	"lockserver/internal/ascii"
	"lockserver/store"
)

// The keys that the commands of sales use and do not name (Row.Implied): what their client must be allowed to
// use. That of the stream comes last, because it takes a look at the sale to know which it is.

// saleReads are the keys of a command that only looks at a sale.
func saleReads(db *store.DB, args [][]byte, visit func([]byte, KeyFlags) bool) {
	if key, ok := visitSale(db, args, RO|Access, visit); ok {
		visit(key, RO|Access|unusedOf(db, args[1]))
	}
}

// saleWrites are those of a command that changes a sale: an order may go to the stream, or to the one of
// those that were taken back.
func saleWrites(db *store.DB, args [][]byte, visit func([]byte, KeyFlags) bool) {
	if stream, ok := visitSale(db, args, RW|Access|Update|Insert|Delete, visit); ok {
		unused := unusedOf(db, args[1])
		visitStreams(stream, func(key []byte, use KeyFlags) bool { return visit(key, use|unused) })
	}
}

// unusedOf returns Unused if there is no sale of a voucher, so that its commands fail with ErrNoSale.
func unusedOf(db *store.DB, voucher []byte) KeyFlags {
	if db.Peek(append([]byte(stockPrefix), voucher...)).Kind() == store.None {
		return Unused
	}
	return 0
}

// saleCreates visits the keys of SECKILL.CREATE, with the stream that the call names.
func saleCreates(db *store.DB, args [][]byte, visit func([]byte, KeyFlags) bool) {
	stream := []byte(orderStream)
	for i := 2; i+1 < len(args); i++ { // what is wrong with the words, the command says
		if ascii.EqualFold(args[i], "REPLACE") || ascii.EqualFold(args[i], "RATE-ALL") {
			continue
		}
		if ascii.EqualFold(args[i], "RATE") {
			i += 2 // its values
			continue
		}
		if ascii.EqualFold(args[i], "STREAM") {
			stream = args[i+1]
		}
		i++ // every other option has a value
	}
	if _, ok := visitSale(db, args, RW|Access|Update|Insert|Delete, visit); ok {
		visitStreams(stream, visit)
	}
}

// visitSale visits the keys of a sale but its stream, which it returns; ok is false if visit has had enough.
func visitSale(db *store.DB, args [][]byte, use KeyFlags, visit func([]byte, KeyFlags) bool) (stream []byte, ok bool) {
	voucher := args[1]
	for _, prefix := range saleKeys {
		if !visit(append([]byte(prefix), voucher...), use) {
			return nil, false
		}
	}
	var s sale
	if r := db.Peek(append([]byte(salePrefix), voucher...)); r.Kind() == store.Hash {
		s.read(r.Hash())
	}
	return s.streamKey(nil), true
}

// idKeys is the counter of NEXTID: today's.
func idKeys(db *store.DB, args [][]byte, visit func([]byte, KeyFlags) bool) {
	visit(idKey(nil, args[1], db.Store().NowMS()/1000), RW|Access|Update|Insert)
}

// idKey appends the key of the counter of a name on the day of a second.
func idKey(dst, name []byte, second int64) []byte {
	dst = append(append(dst, idPrefix...), name...)
	return time.Unix(second, 0).UTC().AppendFormat(dst, idDay)
}
