package commands

import "strconv"

// The errors of sales made with SECKILL.CREATE, and of NEXTID, that clients see; errors.go has the others.
const (
	ErrSaleQuantity   Error = "ERR seckill QTY must be a positive integer"
	ErrSaleTime       Error = "ERR seckill START and END must be unix times in milliseconds"
	ErrSaleWindow     Error = "ERR seckill START must be before END"
	ErrSaleLimitValue Error = "ERR seckill LIMIT must be a positive integer"
	ErrSaleHold       Error = "ERR seckill HOLD must be a positive number of milliseconds"

	ErrSaleRate  Error = "ERR seckill RATE needs a count and a period in milliseconds, both positive integers"
	ErrSaleBurst Error = "ERR seckill BURST must be a positive integer"

	ErrIDCounter Error = "ERR the counter of ids is not an integer or out of range"
	ErrIDsGone   Error = "ERR no more ids of this name are left for today"
	ErrIDClock   Error = "ERR the clock shows a time that an id cannot hold: only 2022 to 2090"
)

// ErrSaleLimit says that an order is for more pieces than a user may have.
func ErrSaleLimit(limit int64) Error {
	return Error("ERR seckill QTY is above the limit of " + strconv.FormatInt(limit, 10) + " per user")
}

// ErrSaleOrder names an order that is another user's.
func ErrSaleOrder(order []byte) Error {
	return quoted("ERR seckill order '", order, "' belongs to another user")
}

// ErrSaleExists names a sale that SECKILL.CREATE would overwrite.
func ErrSaleExists(voucher []byte) Error {
	return quoted("ERR seckill '", voucher, "' exists already, REPLACE begins it anew")
}

// ErrSaleBare names a sale that knows no orders.
func ErrSaleBare(voucher []byte) Error {
	return quoted("ERR seckill '", voucher, "' keeps no orders, it was not made with SECKILL.CREATE")
}

// ErrSaleField names a setting that is no number any more; nothing of ours writes such a thing.
func ErrSaleField(field []byte) Error {
	return quoted("ERR seckill sale has an invalid field '", field, "'")
}

// ErrSaleRecord names an order with an invalid record. The server never writes one.
func ErrSaleRecord(order []byte) Error {
	return quoted("ERR seckill order '", order, "' has an invalid record")
}
