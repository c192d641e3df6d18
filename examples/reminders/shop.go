package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// The names of the keys. The server adds an entry to the stream timers when it is due.
const (
	timers = "shop:timers"
	dead   = "shop:timers:dead"
	group  = "workers"
)

func statusKey(order string) string { return "shop:order:" + order }

// The states of an order.
const (
	unpaid    = "unpaid"
	paid      = "paid"
	cancelled = "cancelled"
)

// Shop takes orders and payments.
type Shop struct {
	Redis       *redis.Client
	RemindAfter time.Duration // 10 s in the program
	CancelAfter time.Duration // 30 s
}

// ErrExists says that an order with this id exists.
var ErrExists = errors.New("there is such an order")

// Place records an order and its two timers in one step: all three, or nothing. If the order exists it is
// left unchanged, so the call may be repeated.
func (s *Shop) Place(ctx context.Context, order, user string) error {
	made := false
	err := s.Redis.Watch(ctx, func(tx *redis.Tx) error {
		switch n, err := tx.Exists(ctx, statusKey(order)).Result(); {
		case err != nil:
			return err
		case n > 0:
			made = true
			return nil
		}
		_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Set(ctx, statusKey(order), unpaid, 0)
			delay(ctx, p, s.RemindAfter, order+":remind", "do", "remind", "order", order, "user", user, "attempt", "1")
			delay(ctx, p, s.CancelAfter, order+":cancel", "do", "cancel", "order", order, "user", user, "attempt", "1")
			return nil
		})
		return err
	}, statusKey(order))
	if errors.Is(err, redis.TxFailedErr) || err == nil && made {
		return ErrExists
	}
	return err
}

// Pay marks an order as paid, unless it was cancelled, and removes its timers. If this process dies in
// between, the timers fire, find that the order is paid, and do nothing.
func (s *Shop) Pay(ctx context.Context, order string) (done bool, err error) {
	if done, err = move(ctx, s.Redis, order, unpaid, paid); !done || err != nil {
		return false, err
	}
	for _, timer := range []string{":remind", ":cancel"} {
		if err := s.Redis.Do(ctx, "DELAY.CANCEL", timers, order+timer).Err(); err != nil {
			return true, err
		}
	}
	return true, nil
}

// move changes the state of an order if it is the expected one. done is also true if an earlier attempt with
// a lost answer has made the change.
func move(ctx context.Context, rdb *redis.Client, order, from, to string) (done bool, err error) {
	err = rdb.Do(ctx, "SET", statusKey(order), to, "IFEQ", from).Err()
	if !errors.Is(err, redis.Nil) {
		return err == nil, err
	}
	now, err := rdb.Get(ctx, statusKey(order)).Result()
	if errors.Is(err, redis.Nil) {
		return false, fmt.Errorf("there is no order %q", order)
	}
	return now == to, err
}

// delay adds an entry to timers later.
func delay(ctx context.Context, p redis.Pipeliner, after time.Duration, id string, fields ...any) {
	p.Do(ctx, append([]any{"DELAY.ADD", timers, "PX", after.Milliseconds(), "ID", id}, fields...)...)
}
