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
	batchSize = 100         // orders in one transaction
	idle      = time.Second // how long to wait for the next order before looking after the others' ones
)

// Worker carries orders from the stream into the database. Run as many as you like, in as many
// processes, each with a name of its own.
//
// Three rules make it exactly once. Acknowledge after the commit: who dies in between leaves an order that is
// delivered again, never one that is lost. Write what may have been written already, without harm: the
// database's indexes do that. And let nothing lie: a worker that starts finishes what it had in its hands
// when it ended, and every worker takes over what a dead one has left.
type Worker struct {
	Redis    *redis.Client
	Database *Database
	Name     string
	// TakeOverAfter is how long a worker may have an order before it is considered dead: longer than any
	// transaction takes. If the worker was alive, the order is written twice, which has no effect.
	TakeOverAfter time.Duration
}

// RunForever runs the worker until ctx ends. What goes wrong is logged and begun again, from the
// worker's own unfinished orders on.
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

// Run works until ctx ends or something goes wrong.
func (w *Worker) Run(ctx context.Context) error {
	// The group begins at the stream's beginning, so that no order is missed that was
	// placed before there was a worker.
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

// finish does what this worker had in its hands when it ended. Read from "0", a group answers
// with the reader's own pending list.
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

// takeOver does what others have had in their hands for too long. It also finds what was sent to this
// worker in an answer that got lost.
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

// read asks for entries; a negative wait is none.
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

// handle writes entries and acknowledges them, in this order.
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

// entry reads the fields that SECKILL writes.
func entry(m redis.XMessage) Entry {
	field := func(name string) string { s, _ := m.Values[name].(string); return s }
	e := Entry{ID: m.ID, Order: Order{ID: field("id"), User: field("userId"), Voucher: field("voucherId")}}
	if e.Order.ID == "" || e.Order.User == "" || e.Order.Voucher == "" {
		e.Bad = "not an order"
	}
	return e
}
