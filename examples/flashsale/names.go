package main

import (
	"context"
	"strings"

	"github.com/redis/go-redis/v9"
)

// What the shop and the workers have to agree on.
const (
	ordersStream = "shop:orders" // the stream that the sales append to
	workersGroup = "workers"     // the group that reads it
	orderIDs     = "order"       // the name under which order numbers are counted
)

// Order is one order.
type Order struct {
	ID      string // made by NEXTID; the idempotency key all the way
	User    string
	Voucher string
}

// OpenSale puts a number of pieces on sale, one for each user. A sale that is open
// already, or over, is left as it is.
//
// Give it START and END, and many programs may do this long before.
func OpenSale(ctx context.Context, client *redis.Client, voucher string, stock int) error {
	err := client.Do(ctx, "SECKILL.CREATE", voucher, "STOCK", stock, "STREAM", ordersStream).Err()
	if err != nil && strings.Contains(err.Error(), "exists already") {
		return nil
	}
	return err
}
