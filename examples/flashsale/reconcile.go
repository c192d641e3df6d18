package main

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Books compares the books of a sale: the counts of the server, the stream of orders and the database.
type Books struct {
	Total, Stock, Sold int64 // pieces, from SECKILL.INFO
	Entries            int   // orders of the sale in the stream
	Rows               int   // orders in the database
	Missing            []Entry
	Surplus            []Order // orders in the database that are not in the stream
}

// Reconcile compares the books of a sale. Call it after the workers have finished: orders that are still
// being written are Missing, too.
func Reconcile(ctx context.Context, client *redis.Client, database *Database, voucher string) (*Books, error) {
	b := new(Books)
	info, err := client.Do(ctx, "SECKILL.INFO", voucher).Result()
	if err != nil {
		return nil, err
	}
	sums, ok := info.(map[any]any) // RESP3, the default of go-redis
	if !ok {
		return nil, fmt.Errorf("SECKILL.INFO: %v", info)
	}
	for name, sum := range map[string]*int64{"total": &b.Total, "stock": &b.Stock, "sold": &b.Sold} {
		*sum, _ = sums[name].(int64)
	}
	rows, err := database.Orders(ctx, voucher)
	if err != nil {
		return nil, err
	}
	b.Rows = len(rows)
	for from := "-"; ; {
		page, err := client.XRangeN(ctx, ordersStream, from, "+", batchSize).Result()
		if err != nil {
			return nil, err
		}
		if len(page) == 0 {
			break
		}
		from = "(" + page[len(page)-1].ID
		for _, m := range page {
			e := entry(m)
			if e.Bad != "" || e.Order.Voucher != voucher {
				continue
			}
			b.Entries++
			if rows[e.Order.ID] != e.Order {
				b.Missing = append(b.Missing, e)
			}
			delete(rows, e.Order.ID)
		}
	}
	for _, o := range rows {
		b.Surplus = append(b.Surplus, o)
	}
	return b, nil
}

// Balanced reports whether the books agree.
func (b *Books) Balanced() bool {
	return b.Total == b.Stock+b.Sold && b.Sold == int64(b.Entries) && b.Entries == b.Rows && len(b.Missing)+len(b.Surplus) == 0
}

// Repair writes the missing orders; a late worker may write one again without effect. Orders that no user has
// placed are left for a person to examine.
func (b *Books) Repair(ctx context.Context, database *Database) error {
	if len(b.Missing) == 0 {
		return nil
	}
	_, err := database.Write(ctx, b.Missing)
	return err
}

func (b *Books) String() string {
	word := "the books agree"
	if !b.Balanced() {
		word = "THE BOOKS DO NOT AGREE"
	}
	return fmt.Sprintf("%s: %d pieces = %d in stock + %d sold; %d orders in the stream, %d in the database; %d missing, %d too many",
		word, b.Total, b.Stock, b.Sold, b.Entries, b.Rows, len(b.Missing), len(b.Surplus))
}
