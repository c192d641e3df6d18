package main

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"lockserver/client"
)

func withClient(ctx context.Context, address string, work work) error {
	rdb := redis.NewClient(&redis.Options{Addr: address})
	defer rdb.Close()

	c, err := client.New(rdb)
	if err != nil {
		return err
	}
	defer c.Close()
	lock, err := c.Lock(ctx, "report:lock")
	if err != nil {
		return err
	}
	defer lock.Unlock(context.WithoutCancel(ctx))
	return work(lock.Context(), func(ctx context.Context, who string) error {
		_, err := lock.Guard(ctx, "SET", "report", who)
		if errors.Is(err, client.ErrLost) {
			err = errors.Join(errStale, err)
		}
		return err
	})
}
