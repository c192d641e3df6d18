package main

import (
	"context"
	"errors"
	"log"
	"time"

	"github.com/redis/go-redis/v9"
)

// Lead makes this process the leader whenever it is its turn, until ctx ends. Run it in every process: one
// leads, the others wait in the queue. If the leader ends, the next one takes over at once. If it was killed,
// or its machine lost the network, the next one takes over within one lease.
//
// If the network is lost there are two leaders for a moment, because the old one does not know. Its token
// prevents it from doing harm: see fenced.go.
func Lead(ctx context.Context, options redis.Options, key string, lead func(ctx context.Context, token int64) error) error {
	for {
		err := WhileHeld(ctx, options, key, lead)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil && !errors.Is(err, ErrLost) {
			log.Print("leader: ", err)
		}
		select { // with a pause: the server may be down
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}

// EachTick runs a job at once and then at every tick, until ctx ends, like cron. If a job takes longer than a
// tick, the next run is delayed: runs never overlap.
func EachTick(ctx context.Context, every time.Duration, job func(context.Context)) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for ctx.Err() == nil {
		job(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	return context.Cause(ctx)
}
