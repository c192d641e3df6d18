package main

import (
	"context"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

func withRedsync(ctx context.Context, address string, work work) error {
	rdb := redis.NewClient(&redis.Options{Addr: address})
	defer rdb.Close()

	mutex := redsync.New(goredis.NewPool(rdb)).NewMutex("report:lock", redsync.WithExpiry(lease), redsync.WithTries(1_000))
	err := mutex.LockContext(ctx)
	if err != nil {
		return err
	}
	defer mutex.UnlockContext(context.WithoutCancel(ctx))
	held, stop := renewing(ctx, func(ctx context.Context) error { _, err := mutex.ExtendContext(ctx); return err })
	defer stop()
	return work(held, func(ctx context.Context, who string) error { return rdb.Set(ctx, "report", who, 0).Err() })
}
