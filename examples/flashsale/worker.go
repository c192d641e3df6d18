package main

import (
	"context"
	"errors"
	"log"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	batchSize = 100         // largest number of orders in a transaction
	idle      = time.Second // time to wait for an order before the worker looks for orders of dead workers
)

// Worker copies orders from the stream into the database. Run any number of workers, in any number of
// processes, each with its own name.
//
// Three rules make it exactly once. First, a worker acknowledges after the commit: if it dies in between, the
// order is delivered again, and not lost. Second, writing an order twice has no effect, because of the
// database's indexes. Third, no order is forgotten: a worker that starts finishes the orders it had when it
// ended, and every worker takes over the orders of dead workers.
type Worker struct {
	Redis    *redis.Client
	Database *Database
	Name     string
	// TakeOverAfter is how long a worker may have an order before it is considered dead: longer than any
	// transaction takes. If the worker was alive, the order is written twice, which has no effect.
	TakeOverAfter time.Duration
}

// RunForever runs the worker until ctx ends. After an error it logs the error and starts again with the
// worker's own unfinished orders.
func (w *Worker) RunForever(ctx context.Context) {
	for ctx.Err() == nil {
		if err := w.Run(ctx); err != nil && ctx.Err() == nil {
			log.Printf("%s: %v", w.Name, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// Run works until ctx ends or an error occurs.
func (w *Worker) Run(ctx context.Context) error {
	// The group starts at the beginning of the stream, so that it gets the orders that were placed before the
	// first worker started.
	err := w.Redis.XGroupCreateMkStream(ctx, ordersStream, workersGroup, "0").Err()
	if err != nil && !strings.HasPrefix(err.Error(), "BUSYGROUP") {
		return err
	}
	if err := w.finish(ctx); err != nil {
		return err
	}
	var lookedAfter time.Time
	for {
		entries, err := w.read(ctx, ">", idle)
		if err != nil {
			return err
		}
		if err := w.handle(ctx, entries); err != nil {
			return err
		}
		if time.Since(lookedAfter) > w.TakeOverAfter/2 {
			lookedAfter = time.Now()
			if err := w.takeOver(ctx); err != nil {
				return err
			}
		}
	}
}

// finish writes the orders that this worker had when it ended. A read from "0" returns the worker's own
// pending entries.
func (w *Worker) finish(ctx context.Context) error {
	for {
		entries, err := w.read(ctx, "0", -1)
		if err != nil || len(entries) == 0 {
			return err
		}
		if err := w.handle(ctx, entries); err != nil {
			return err
		}
	}
}

// takeOver writes the orders that other workers have had for too long. It also finds orders that were sent to
// this worker in an answer that was lost.
func (w *Worker) takeOver(ctx context.Context) error {
	for next := "0-0"; ; {
		entries, cursor, err := w.Redis.XAutoClaim(ctx, &redis.XAutoClaimArgs{Stream: ordersStream, Group: workersGroup,
			Consumer: w.Name, MinIdle: w.TakeOverAfter, Start: next, Count: batchSize}).Result()
		if err != nil {
			return err
		}
		if err := w.handle(ctx, entries); err != nil {
			return err
		}
		if next = cursor; next == "0-0" {
			return nil
		}
	}
}

// read reads entries. A negative wait means not to wait.
func (w *Worker) read(ctx context.Context, from string, wait time.Duration) ([]redis.XMessage, error) {
	streams, err := w.Redis.XReadGroup(ctx, &redis.XReadGroupArgs{Group: workersGroup, Consumer: w.Name,
		Streams: []string{ordersStream, from}, Count: batchSize, Block: wait}).Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return streams[0].Messages, nil
}

// handle writes entries and then acknowledges them.
func (w *Worker) handle(ctx context.Context, messages []redis.XMessage) error {
	if len(messages) == 0 {
		return nil
	}
	batch, ids := make([]Entry, len(messages)), make([]string, len(messages))
	for i, m := range messages {
		batch[i], ids[i] = entry(m), m.ID
	}
	if _, err := w.Database.Write(ctx, batch); err != nil {
		return err
	}
	return w.Redis.XAck(ctx, ordersStream, workersGroup, ids...).Err()
}

// entry parses the fields that SECKILL writes.
func entry(m redis.XMessage) Entry {
	field := func(name string) string { s, _ := m.Values[name].(string); return s }
	e := Entry{ID: m.ID, Order: Order{ID: field("id"), User: field("userId"), Voucher: field("voucherId")}}
	if e.Order.ID == "" || e.Order.User == "" || e.Order.Voucher == "" {
		e.Bad = "not an order"
	}
	return e
}
