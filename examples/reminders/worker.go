package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Worker handles due timers. Run any number of workers, each with its own name.
//
// An entry is acknowledged in one step with the effects of its work. If a worker dies before, the entry stays
// pending, and another worker takes it over. So work is done at least once: Mail gets the id of the entry, to
// recognise a repetition.
type Worker struct {
	Redis *redis.Client
	Name  string
	// Mail sends a reminder. id is the same for each attempt.
	Mail func(ctx context.Context, id, order, user string) error
	// FirstPause is the pause before the second attempt; it doubles with each further attempt. After Attempts
	// the entry goes to the stream for dead letters.
	FirstPause time.Duration
	Attempts   int
	// TakeOverAfter is how long a worker may have an entry before it counts as dead.
	TakeOverAfter time.Duration
}

// RunForever works until ctx ends. After an error it begins again.
func (w *Worker) RunForever(ctx context.Context) {
	for ctx.Err() == nil {
		if err := w.Run(ctx); err != nil && ctx.Err() == nil {
			log.Printf("%s: %v", w.Name, err)
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
}

// Run works until ctx ends or an error occurs.
func (w *Worker) Run(ctx context.Context) error {
	err := w.Redis.XGroupCreateMkStream(ctx, timers, group, "0").Err()
	if err != nil && !strings.HasPrefix(err.Error(), "BUSYGROUP") {
		return err
	}
	for {
		entries, err := w.next(ctx)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := w.handle(ctx, e); err != nil {
				return err
			}
		}
	}
}

// next returns the entries of dead workers, or new entries. It waits for them.
func (w *Worker) next(ctx context.Context) ([]redis.XMessage, error) {
	left, _, err := w.Redis.XAutoClaim(ctx, &redis.XAutoClaimArgs{Stream: timers, Group: group, Consumer: w.Name,
		MinIdle: w.TakeOverAfter, Start: "0-0", Count: 10}).Result()
	if err != nil || len(left) > 0 {
		return left, err
	}
	streams, err := w.Redis.XReadGroup(ctx, &redis.XReadGroupArgs{Group: group, Consumer: w.Name, Count: 10,
		Streams: []string{timers, ">"}, Block: w.TakeOverAfter}).Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return streams[0].Messages, nil
}

// handle does the work of an entry and acknowledges it.
func (w *Worker) handle(ctx context.Context, e redis.XMessage) error {
	order, user := text(e, "order"), text(e, "user")
	switch text(e, "do") {
	case "cancel":
		if _, err := move(ctx, w.Redis, order, unpaid, cancelled); err != nil {
			return err
		}
	case "remind":
		switch now, err := w.Redis.Get(ctx, statusKey(order)).Result(); {
		case err != nil:
			return err
		case now != unpaid:
		default:
			if err := w.Mail(ctx, order+":remind", order, user); err != nil {
				return w.later(ctx, e, err)
			}
		}
	default:
		return w.bury(ctx, e, "what is to be done is not known")
	}
	return w.Redis.XAck(ctx, timers, group, e.ID).Err()
}

// later repeats an entry after a pause. The acknowledgement and the new timer are one step.
func (w *Worker) later(ctx context.Context, e redis.XMessage, why error) error {
	attempt, _ := strconv.Atoi(text(e, "attempt"))
	if attempt >= w.Attempts {
		return w.bury(ctx, e, why.Error())
	}
	order, next := text(e, "order"), strconv.Itoa(attempt+1)
	return w.finish(ctx, e, "DELAY.ADD", timers, "PX", (w.FirstPause << (attempt - 1)).Milliseconds(), "ID", order+":remind:"+next,
		"do", "remind", "order", order, "user", text(e, "user"), "attempt", next)
}

// bury moves an entry to the stream for dead letters, with the reason.
func (w *Worker) bury(ctx context.Context, e redis.XMessage, why string) error {
	add := []any{"XADD", dead, "*", "why", why, "entry", e.ID}
	for field, value := range e.Values {
		add = append(add, field, value)
	}
	return w.finish(ctx, e, add...)
}

// finishOnce acknowledges an entry and runs a command, unless the entry was acknowledged before. That can
// happen: another worker may have taken it over, or go-redis may have sent a call again after its answer was
// lost.
var finishOnce = redis.NewScript(`
if redis.call('XACK', KEYS[1], ARGV[1], ARGV[2]) == 0 then
	return 0
end
redis.call(unpack(ARGV, 3))
return 1`)

// finish acknowledges an entry and runs the command that follows from it, in one step and only once.
func (w *Worker) finish(ctx context.Context, e redis.XMessage, command ...any) error {
	return finishOnce.Run(ctx, w.Redis, []string{timers}, append([]any{group, e.ID}, command...)...).Err()
}

func text(e redis.XMessage, field string) string { return fmt.Sprint(e.Values[field]) }
