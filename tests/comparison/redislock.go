package main

import (
	"context"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

func withRedislock(ctx context.Context, address string, work work) error {
	rdb := redis.NewClient(&redis.Options{Addr: address})
	defer rdb.Close()

	limited, cancel := context.WithTimeout(ctx, time.Minute) // without a limit it waits for at most one lease
	defer cancel()
	waiting := &redislock.Options{RetryStrategy: redislock.LinearBackoff(50 * time.Millisecond)}
	lock, err := redislock.Obtain(limited, rdb, "report:lock", lease, waiting)
	if err != nil {
		return err
	}
	defer lock.Release(context.WithoutCancel(ctx))
	held, stop := renewing(ctx, func(ctx context.Context) error { return lock.Refresh(ctx, lease, nil) })
	defer stop()
	return work(held, func(ctx context.Context, who string) error { return rdb.Set(ctx, "report", who, 0).Err() })
}
