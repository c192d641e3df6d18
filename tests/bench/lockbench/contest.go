package lockbench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// contender is one client that wants the lock, on a connection of its own.
type contender interface {
	// acquire waits until the client has the lock. It may give up when ctx ends.
	acquire(ctx context.Context) error
	// release gives the lock back; an error says that it was no longer the client's.
	release(ctx context.Context) error
	// read and write reach the counter that the lock guards. They are two requests: only a
	// lock makes an increment of them.
	read(ctx context.Context) (int64, error)
	write(ctx context.Context, n int64) error
	close()
}

// record is what one client did.
type record struct {
	seq  []int64         // what each of its increments set the counter to
	wait []time.Duration // how long each acquire took; one that time cut short counts as long as it had taken
}

// contest has all contenders lock, increment and unlock as often as they can for the span, and returns what
// each did. All have ended when it returns.
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

// compete is one contender's part. Who waits when time is up either gives up or is served once more, and
// then counts as waiting only. The others have left by then, so it would not be a hand-off under load.
func compete(ctx context.Context, c contender, end time.Time, r *record) error {
	// What was begun under the lock is finished.
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
