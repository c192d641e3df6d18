package main

import (
	"context"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

func withRueidislock(ctx context.Context, address string, work work) error {
	server := rueidis.ClientOption{InitAddress: []string{address}}
	// TryNextAfter is the time limit for one key. The default of 20 ms is too short on a busy machine.
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{ClientOption: server, KeyMajority: 1, KeyValidity: lease, TryNextAfter: time.Second})
	if err != nil {
		return err
	}
	defer locker.Close()
	held, release, err := locker.WithContext(ctx, "report:lock")
	if err != nil {
		return err
	}
	defer release()
	return work(held, func(ctx context.Context, who string) error {
		c := locker.Client()
		return c.Do(ctx, c.B().Set().Key("report").Value(who).Build()).Error()
	})
}
