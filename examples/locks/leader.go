package main

import (
	"context"
	"errors"
	"log"
	"time"

	"github.com/redis/go-redis/v9"
)

// Lead makes this process the leader whenever it is its turn, until ctx ends. Run it in every process: one
// leads, the others stand in line. The next one takes over at the moment in which the leader ends, or within
// one lease after it was killed, or its machine lost the network.
//
// In that last case there are two for a moment, because the old one does not know. What it does then is kept
// from doing harm by its token: see fenced.go.
func Lead(ctx context.Context, options redis.Options, key string, lead func(ctx context.Context, token int64) error) error {
	for {
		err := WhileHeld(ctx, options, key, lead)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil && !errors.Is(err, ErrLost) {
			log.Print("leader: ", err)
		}
		select { // not at once: the server may be away
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}

// EachTick runs a job at once and then at every tick, until ctx ends, as a leader that replaces cron. A job
// that takes longer than a tick delays the next one and never overlaps it.
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
