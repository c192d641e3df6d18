package main

import (
	"context"
	"strings"

	"github.com/redis/go-redis/v9"
)

// The names that the shop and the workers share.
const (
	ordersStream = "shop:orders" // the stream to which the sales append orders
	workersGroup = "workers"     // the consumer group that reads it
	orderIDs     = "order"       // the name of the counter of order numbers
)

// Order is one order.
type Order struct {
	ID      string // from NEXTID; the idempotency key from the click to the database
	User    string
	Voucher string
}

// OpenSale puts a number of pieces on sale, one for each user. It does not change a sale that is already
// open, or over.
//
// With START and END as arguments of SECKILL.CREATE, any number of programs may call it long before the sale.
func OpenSale(ctx context.Context, client *redis.Client, voucher string, stock int) error {
	err := client.Do(ctx, "SECKILL.CREATE", voucher, "STOCK", stock, "STREAM", ordersStream).Err()
	if err != nil && strings.Contains(err.Error(), "exists already") {
		return nil
	}
	return err
}
