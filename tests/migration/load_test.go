//go:build oracle

package migration

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// load is the work of go-redis: a goroutine for each kind of value. A failed write is no fault, because it
// was not acknowledged; it may still have had an effect.
type load struct {
	t       *testing.T
	client  *redis.Client
	ended   atomic.Bool
	working sync.WaitGroup
	acked   sync.Map // *[]int64 by kind: the acknowledged numbers
	failed  atomic.Int64
	inside  atomic.Int32 // number of goroutines between lock and unlock
	faults  chan string
}

// startLoad starts the load at an address.
func startLoad(t *testing.T, addr string) *load {
	l := &load{t: t, client: redis.NewClient(&redis.Options{Addr: addr, Password: password}), faults: make(chan string, 100)}
	c := l.client
	l.work("string", func(ctx context.Context, i int64) error { return c.Set(ctx, "go:string", i, 0).Err() })
	l.work("hash", func(ctx context.Context, i int64) error { return c.HSet(ctx, "go:hash", i, i).Err() })
	l.work("list", func(ctx context.Context, i int64) error { return c.RPush(ctx, "go:list", i).Err() })
	l.work("set", func(ctx context.Context, i int64) error { return c.SAdd(ctx, "go:set", i).Err() })
	l.work("zset", func(ctx context.Context, i int64) error {
		return c.ZAdd(ctx, "go:zset", redis.Z{Score: float64(i), Member: i}).Err()
	})
	l.work("stream", func(ctx context.Context, i int64) error {
		return c.XAdd(ctx, &redis.XAddArgs{Stream: "go:stream", Values: []any{"i", i}}).Err()
	})
	l.work("counter", func(ctx context.Context, _ int64) error { return c.Incr(ctx, "go:counter").Err() })
	l.work("timed", func(ctx context.Context, i int64) error {
		return c.Set(ctx, "go:timed:"+strconv.FormatInt(i%100, 10), i, 50*time.Millisecond).Err()
	})
	for range 3 {
		l.work("lock", l.locked)
	}
	t.Cleanup(l.stop)
	return l
}

// work repeats a write with a rising number until the load ends.
func (l *load) work(kind string, write func(ctx context.Context, i int64) error) {
	known, _ := l.acked.LoadOrStore(kind, &sync.Map{})
	l.working.Go(func() {
		for i := int64(0); !l.ended.Load(); i++ {
			if err := write(l.t.Context(), i); err != nil {
				l.failed.Add(1)
			} else {
				known.(*sync.Map).Store(i, true)
			}
			time.Sleep(time.Millisecond)
		}
	})
}

// unlock deletes a lock that we still hold.
var unlock = redis.NewScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`)

// lockLease is longer than any move.
const lockLease = time.Hour

// locked runs a section under a lock of SET NX.
func (l *load) locked(ctx context.Context, _ int64) error {
	me := strconv.FormatInt(time.Now().UnixNano(), 36)
	got, err := l.client.SetNX(ctx, "go:lock", me, lockLease).Result()
	if err != nil || !got {
		_ = l.release(ctx, me) // a retry may have found the write of the first attempt, if its reply was lost
		return err
	}
	if l.inside.Add(1) > 1 {
		l.faults <- "two are between lock and unlock"
	}
	time.Sleep(time.Millisecond)
	l.inside.Add(-1)
	return l.release(ctx, me)
}

// release unlocks, and repeats that until it gets an answer.
func (l *load) release(ctx context.Context, me string) error {
	for {
		if err := unlock.Run(ctx, l.client, []string{"go:lock"}, me).Err(); err == nil || l.ended.Load() {
			return err
		}
	}
}

func (l *load) stop() {
	l.ended.Store(true)
	l.working.Wait()
}

// numbers returns the acknowledged numbers of a kind.
func (l *load) numbers(kind string) map[string]bool {
	all := make(map[string]bool)
	known, _ := l.acked.Load(kind)
	known.(*sync.Map).Range(func(i, _ any) bool {
		all[strconv.FormatInt(i.(int64), 10)] = true
		return true
	})
	return all
}

// goesOn waits until every kind of write succeeds again.
func (l *load) goesOn() {
	l.t.Helper()
	l.acked.Range(func(kind, _ any) bool {
		before := len(l.numbers(kind.(string)))
		eventually(l.t, kind.(string)+" goes on", func() bool { return len(l.numbers(kind.(string))) > before })
		return true
	})
}

// check ends the load and checks that every acknowledged write is there.
func (l *load) check() {
	l.t.Helper()
	l.stop()
	ctx, c := l.t.Context(), l.client
	select {
	case fault := <-l.faults:
		require.Fail(l.t, fault)
	default:
	}
	found := map[string][]string{
		"hash": c.HKeys(ctx, "go:hash").Val(),
		"list": c.LRange(ctx, "go:list", 0, -1).Val(),
		"set":  c.SMembers(ctx, "go:set").Val(),
		"zset": c.ZRange(ctx, "go:zset", 0, -1).Val(),
	}
	for _, entry := range c.XRange(ctx, "go:stream", "-", "+").Val() {
		found["stream"] = append(found["stream"], entry.Values["i"].(string))
	}
	for kind, values := range found {
		lost := l.numbers(kind)
		require.NotEmpty(l.t, lost, kind)
		for _, v := range values {
			delete(lost, v)
		}
		require.Empty(l.t, lost, "%s: acknowledged, and not there", kind)
	}
	counted, err := c.Get(ctx, "go:counter").Int()
	require.NoError(l.t, err)
	require.GreaterOrEqual(l.t, counted, len(l.numbers("counter")))
	last, err := c.Get(ctx, "go:string").Int64()
	require.NoError(l.t, err)
	for i := range l.numbers("string") {
		n, err := strconv.ParseInt(i, 10, 64)
		require.NoError(l.t, err)
		require.LessOrEqual(l.t, n, last)
	}
	require.Greater(l.t, len(l.numbers("lock")), 10)
	l.t.Logf("go-redis: %d acknowledged by the counter, %d writes failed in all", len(l.numbers("counter")), l.failed.Load())
}
