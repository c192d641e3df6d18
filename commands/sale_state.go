package commands

import (
	"math"

	"lockserver/internal/decimal"
	"lockserver/store"
	"lockserver/store/hash"
	"lockserver/store/listpack"
)

// A sale consists of a few ordinary keys. The first two are those of the classic script, and the only ones
// of a sale on bare keys. A sale made with SECKILL.CREATE has the others, too. docs/decisions/0010-sales.md
// gives the reasons.
const (
	stockPrefix  = store.StockPrefix // a string: the pieces that are left
	buyersPrefix = "seckill:order:"  // a set: the users who have a piece
	salePrefix   = "seckill:sale:"   // a hash: the settings and the sums, see sale
	ordersPrefix = "seckill:orders:" // a hash: what became of each order, see orderRecord
	piecesPrefix = "seckill:pieces:" // a hash: how many pieces those users have who have more than one
	ratesPrefix  = "seckill:rates:"  // a hash: the limiters of users, see sale_rate.go
	holdsPrefix  = store.HoldsPrefix // a sorted set: the orders that wait for their confirmation, by the end of that

	orderStream     = "stream.orders" // unless SECKILL.CREATE named another
	cancelledSuffix = ":cancelled"    // of the stream of orders that were taken back
)

// saleKeyPrefix begins all of them but the streams.
var saleKeyPrefix = []byte("seckill:")

// saleKeys are the prefixes of all keys of a sale but its streams.
var saleKeys = [...]string{stockPrefix, buyersPrefix, salePrefix, ordersPrefix, piecesPrefix, holdsPrefix, ratesPrefix}

// saleKey is the name of one of a sale's keys. It is valid until the next one is asked for.
func saleKey(c *Ctx, prefix string, voucher []byte) []byte {
	return append(append(c.names[0][:0], prefix...), voucher...)
}

// These are the fields of a sale's hash. A sale without a window or a hold lacks their fields.
var (
	startField     = []byte("start")     // unix ms
	endField       = []byte("end")       // unix ms
	limitField     = []byte("limit")     // pieces a user
	holdField      = []byte("hold")      // ms
	holdMaxField   = []byte("hold-max")  // ms; not there if there is no bound
	streamField    = []byte("stream")    // a key
	rateField      = []byte("rate")      // calls a period; not there if there is no rate, as are the next three
	periodField    = []byte("period")    // ms
	burstField     = []byte("burst")     // calls
	rateAllField   = []byte("rate-all")  // 1: of all users together
	totalField     = []byte("total")     // pieces: created and restocked
	soldField      = []byte("sold")      // pieces: sold and not taken back
	heldField      = []byte("held")      // pieces: of those sold, not yet confirmed, with a hold
	confirmedField = []byte("confirmed") // pieces: of those sold
	returnedField  = []byte("returned")  // pieces: ever taken back; not there as long as that is none
)

// sale has the fields of a sale's hash. For bare keys it has the default values.
//
// Invariant (tests/sales): total == stock + sold, and sold is the sum over the orders that were not taken
// back.
type sale struct {
	made           bool  // with SECKILL.CREATE
	startMS, endMS int64 // 0: none
	limit          int64
	holdMS         int64  // 0: none
	holdMaxMS      int64  // the longest hold with its extensions; 0: no bound
	stream         []byte // valid until the next change of the store
	rate           saleRate
	total          int64
	sold           int64
	held           int64
	confirmed      int64
	returned       int64
}

// findSale reads the hash of a sale.
func findSale(c *Ctx, voucher []byte) (s sale, err error) {
	s = sale{limit: 1}
	r := c.DB.Peek(saleKey(c, salePrefix, voucher))
	switch {
	case !r.OK():
		return s, nil
	case !r.Is(store.Hash):
		return s, ErrWrongType
	}
	s.made = true
	bad := s.read(r.Hash())
	if bad != nil {
		return s, ErrSaleField(bad)
	}
	return s, nil
}

// read takes all fields in one pass. It returns the name of a field with an invalid value. It ignores
// unknown fields.
func (s *sale) read(h *hash.Hash) (bad []byte) {
	if lp, small := h.Listpack(); small {
		for pos := lp.First(); pos >= 0; {
			field, at := lp.Step(pos)
			value, next := lp.Step(at)
			if pos = next; !field.IsInt && !s.take(field.Bytes(), value) {
				bad = field.Bytes()
			}
		}
		return bad
	}
	h.Each(func(field, text []byte) bool {
		value := listpack.String(text)
		if n, ok := decimal.ParseInt(text); ok {
			value = listpack.Integer(n)
		}
		if !s.take(field, value) {
			bad = field
		}
		return true
	})
	return bad
}

// take reads one field; false: it is ours and makes no sense.
func (s *sale) take(field []byte, value listpack.Value) bool {
	var number *int64
	least := int64(0)
	switch string(field) {
	case "stream":
		if s.stream = value.Bytes(); value.IsInt {
			s.stream = value.Append(nil)
		}
		return true
	case "start":
		number = &s.startMS
	case "end":
		number = &s.endMS
	case "limit":
		number, least = &s.limit, 1
	case "hold":
		number = &s.holdMS
	case "hold-max":
		number = &s.holdMaxMS
	case "total":
		number, least = &s.total, math.MinInt64
	case "sold":
		number, least = &s.sold, math.MinInt64
	case "held":
		number, least = &s.held, math.MinInt64
	case "confirmed":
		number, least = &s.confirmed, math.MinInt64
	case "returned":
		number = &s.returned
	case "rate":
		number = &s.rate.count
	case "period":
		number, least = &s.rate.periodMS, 1
	case "burst":
		number, least = &s.rate.burst, 1
	case "rate-all":
		s.rate.all = value.Int != 0
		return value.IsInt
	default:
		return true
	}
	*number = value.Int
	return value.IsInt && value.Int >= least
}

// streamKey is the key of the stream of orders.
func (s *sale) streamKey(dst []byte) []byte {
	if len(s.stream) == 0 {
		return append(dst, orderStream...)
	}
	return append(dst, s.stream...)
}

// started and ended are the two ends of the window: END is the first moment at which nothing is sold.
func (s *sale) started(nowMS int64) bool { return nowMS >= s.startMS }
func (s *sale) ended(nowMS int64) bool   { return s.endMS != 0 && nowMS >= s.endMS }

// findStock reads the stock of a sale; it counts as a look-up of a command that reads.
func findStock(c *Ctx, voucher []byte) (stock int64, err error) {
	text, exists, err := c.findString(saleKey(c, stockPrefix, voucher))
	if err != nil {
		return 0, err
	}
	if !exists {
		return 0, ErrNoSale(voucher)
	}
	stock, ok := decimal.ParseInt(text)
	if !ok {
		return 0, ErrStock
	}
	return stock, nil
}

// holdOf returns when the hold of an order ends, in milliseconds since 1970; false: the order is not held.
func holdOf(c *Ctx, voucher, order []byte) (atMS int64, ok bool, err error) {
	r := c.DB.Peek(saleKey(c, holdsPrefix, voucher))
	if !r.Is(store.ZSet) {
		return 0, false, ErrWrongType
	}
	if !r.OK() {
		return 0, false, nil
	}
	score, ok := r.ZSet().Score(order)
	return store.DueMS(score), ok, nil
}

// piecesOf returns how many pieces a user has.
func piecesOf(c *Ctx, voucher, user []byte) (int64, error) {
	r := c.DB.Peek(saleKey(c, buyersPrefix, voucher))
	if !r.Is(store.Set) {
		return 0, ErrWrongType
	}
	if !r.OK() || !r.Set().Has(user) {
		return 0, nil
	}
	r = c.DB.Peek(saleKey(c, piecesPrefix, voucher))
	if !r.Is(store.Hash) {
		return 0, ErrWrongType
	}
	if !r.OK() {
		return 1, nil
	}
	n, isInt, ok := r.Hash().GetInt(user)
	if !ok || !isInt {
		return 1, nil
	}
	return n, nil
}
