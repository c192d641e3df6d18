package lockbench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// contender is a client that wants the lock. Each has its own connection.
type contender interface {
	// acquire waits until the client has the lock. It may give up when ctx ends.
	acquire(ctx context.Context) error
	// release releases the lock. It returns an error if the client no longer held it.
	release(ctx context.Context) error
	// read and write access the counter that the lock guards. They are separate requests, so an increment is
	// only correct under the lock.
	read(ctx context.Context) (int64, error)
	write(ctx context.Context, n int64) error
	close()
}

// record holds what one client did.
type record struct {
	seq  []int64         // the values of the counter after each of its increments
	wait []time.Duration // the duration of each acquire; for one that the end cut short, the time until then
}

// contest makes all contenders lock, increment and unlock as often as they can for the span, and returns
// their records. All have ended when it returns.
func contest(ctx context.Context, contenders []contender, span time.Duration) ([]record, time.Duration, error) {
	records := make([]record, len(contenders))
	errs := make([]error, len(contenders))
	start := make(chan struct{})
	var begun, end time.Time
	var bounded context.Context
	var wg sync.WaitGroup
	for i, c := range contenders {
		wg.Go(func() {
			<-start
			if errs[i] = compete(bounded, c, end, &records[i]); errs[i] != nil {
				errs[i] = fmt.Errorf("client %d: %w", i, errs[i])
			}
		})
	}
	begun = time.Now()
	end = begun.Add(span)
	bounded, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	close(start)
	wg.Wait()
	elapsed := time.Since(begun)
	return records, elapsed, errors.Join(ctx.Err(), errors.Join(errs...))
}

// compete runs one contender. A contender that waits at the end either gives up or is served once more, and
// only its wait counts. The others have left by then, so it would not be a hand-off under load.
func compete(ctx context.Context, c contender, end time.Time, r *record) error {
	// A section that was begun under the lock is completed.
	inside := context.WithoutCancel(ctx)
	for {
		from := time.Now()
		if !from.Before(end) {
			return nil
		}
		err := c.acquire(ctx)
		got := time.Now()
		if err != nil && ctx.Err() == nil {
			return err
		}
		if err != nil || got.After(end) {
			r.wait = append(r.wait, end.Sub(from))
			if err == nil {
				return c.release(inside)
			}
			return nil
		}
		n, err := c.read(inside)
		if err == nil {
			err = c.write(inside, n+1)
		}
		if err == nil {
			err = c.release(inside)
		}
		if err != nil {
			return err
		}
		r.seq, r.wait = append(r.seq, n+1), append(r.wait, got.Sub(from))
	}
}
