package clients

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/push"
	"github.com/stretchr/testify/require"
)

const (
	// breaks is how many connections break, half of them for each version of the protocol.
	breaks  = 1000
	workers = 8
	doors   = 3
	// lease is short enough that a lock without a living owner would be seen to end, and long enough for an
	// owner to come back on a busy machine.
	lease = 15 * time.Second
)

// broken is a program that takes locks through a pool, and has one connection that is attached to their
// owners, while connections break at random moments.
type broken struct {
	t              *testing.T
	ctx            context.Context
	operator       *redis.Client // connected directly
	pool           *redis.Client // as a program would make it, with its retries
	attached       *redis.Client
	toPool, toLive *way
	still          sync.Mutex // its holder keeps the attached connection from breaking
	pushed         chan string

	mu     sync.Mutex
	inside map[string]string // who is in a critical section
	tokens map[string]int64  // the last one of each lock
}

// TestNativeBrokenConnections: go-redis with its retries and a pool that closes idle connections soon. A
// thousand connections break; no lock is held twice, none is lost while its owner lives, none stays behind,
// and each loss is pushed once.
func TestNativeBrokenConnections(t *testing.T) {
	protocols(t, func(t *testing.T, protocol int) {
		b := startBroken(t, protocol)
		long := b.ask("LOCK", "long", "keeper", "ONCE")
		stop, sections, losses := make(chan struct{}), make([]int, workers), 0
		var group sync.WaitGroup
		for i := range workers {
			group.Go(func() {
				for !b.done(stop) {
					b.work(fmt.Sprint("worker-", i))
					sections[i]++
				}
			})
		}
		group.Go(func() {
			for ; !b.done(stop); losses++ {
				b.lose([]string{"forced", "deleted", "overwritten", "expired"}[losses%4])
			}
		})
		began := time.Now()
		for b.broken() < breaks/2 && !b.done(stop) {
			b.breakOne()
			time.Sleep(rand.N(20 * time.Millisecond))
		}
		close(stop)
		group.Wait()
		total := 0
		for _, n := range sections {
			require.NotZero(t, n, "a worker never got in")
			total += n
		}
		t.Logf("%d connections broke in %v: %d critical sections, %d losses", b.broken(), time.Since(began), total, losses)
		require.NotZero(t, losses)
		b.live()
		require.Empty(t, b.pushed, "a loss that is none, or told twice")
		require.Equal(t, int64(1), b.operator.Do(b.ctx, "UNLOCK", "long", "keeper", "TOKEN", long).Val(), "it was never lost")
		eventually(t, func() bool { return len(b.operator.Do(b.ctx, "LOCK.LIST").Val().([]any)) == 0 }, "no lock stays behind")
	})
}

// done: enough was broken, or something went wrong.
func (b *broken) done(stop chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return b.ctx.Err() != nil || b.t.Failed()
	}
}

func startBroken(t *testing.T, version int) *broken {
	s := start(t, "--lock-watchdog-timeout", strconv.FormatInt(lease.Milliseconds(), 10))
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	t.Cleanup(cancel)
	b := &broken{t: t, ctx: ctx, operator: s.connect(t), toPool: wayTo(t, s.addr), toLive: wayTo(t, s.addr), pushed: make(chan string, 100),
		inside: make(map[string]string), tokens: make(map[string]int64)}
	b.pool = s.connect(t, protocol(version), func(o *redis.Options) {
		o.Addr, o.ConnMaxIdleTime, o.PoolSize = b.toPool.addr, 20*time.Millisecond, 2*workers
	})
	owners := []any{"LOCK.ATTACH", "keeper", "victim"}
	for i := range workers {
		owners = append(owners, fmt.Sprint("worker-", i))
	}
	b.attached = s.connect(t, protocol(version), func(o *redis.Options) {
		o.Addr, o.PoolSize = b.toLive.addr, 1
		o.OnConnect = func(ctx context.Context, conn *redis.Conn) error { return conn.Do(ctx, owners...).Err() }
	})
	if version == 3 {
		require.NoError(t, b.attached.RegisterPushNotificationHandler("lock-lost", b, false))
	} else {
		var channels []string
		for _, owner := range owners[1:] {
			channels = append(channels, fmt.Sprint("__lock__:", owner))
		}
		listener := b.operator.Subscribe(ctx, channels...)
		t.Cleanup(func() { _ = listener.Close() })
		_, err := listener.Receive(ctx)
		require.NoError(t, err)
		go func() {
			for m := range listener.Channel() {
				b.pushed <- m.Payload
			}
		}()
	}
	b.live()
	living := make(chan struct{})
	go func() { // news arrive with a reply
		defer close(living)
		for ctx.Err() == nil {
			_ = b.attached.Ping(ctx).Err()
			time.Sleep(5 * time.Millisecond)
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-living
	})
	return b
}

// HandlePushNotification implements push.NotificationHandler.
func (b *broken) HandlePushNotification(_ context.Context, _ push.NotificationHandlerContext, news []any) error {
	b.pushed <- strings.TrimSuffix(fmt.Sprintln(news...), "\n")
	return nil
}

func (b *broken) broken() int32 { return b.toPool.broken.Load() + b.toLive.broken.Load() }

// breakOne breaks a connection of the pool, or now and then the attached one.
func (b *broken) breakOne() {
	kill := func(args ...any) (int, error) { return b.operator.Do(b.ctx, args...).Int() }
	switch n := rand.IntN(20); {
	case n == 0:
		b.still.Lock()
		b.toLive.breakOne(now)
		b.still.Unlock()
	case n == 1:
		b.still.Lock()
		b.toLive.kill(kill)
		b.still.Unlock()
	case n < 5:
		b.toPool.kill(kill)
	default:
		b.toPool.breakOne(1 + rand.Int32N(moments-1))
	}
}

// live returns once the attached connection is there; the caller keeps it so.
func (b *broken) live() {
	eventually(b.t, func() bool { return b.attached.Ping(b.ctx).Err() == nil }, "it is attached")
}

// ask sends a command through the pool until it is answered.
func (b *broken) ask(words ...any) any {
	for {
		reply, err := b.pool.Do(b.ctx, words...).Result()
		var refused redis.Error
		switch {
		case err == nil || errors.Is(err, redis.Nil):
			return reply
		case errors.As(err, &refused) || b.ctx.Err() != nil:
			b.t.Errorf("%v: %v", words, err)
			return nil
		}
	}
}

// work is a critical section.
func (b *broken) work(owner string) {
	door := fmt.Sprint("door-", rand.IntN(doors))
	token, _ := b.ask("LOCK", door, owner, "WAIT", patience.Milliseconds(), "ONCE").(int64)
	b.mu.Lock()
	if b.inside[door] != "" || token <= b.tokens[door] {
		b.t.Errorf("%s enters %s with token %d after %d, and finds %q there", owner, door, token, b.tokens[door], b.inside[door])
	}
	b.inside[door], b.tokens[door] = owner, token
	b.mu.Unlock()
	if reply := b.ask("GUARD", door, token, "SET", "written:"+door, token); reply != "OK" {
		b.t.Errorf("%s has lost %s: %v", owner, door, reply)
	}
	b.mu.Lock()
	b.inside[door] = ""
	b.mu.Unlock()
	// 0 would be a second hold; nil is the answer of the second UNLOCK if the first one's was lost.
	if reply := b.ask("UNLOCK", door, owner, "TOKEN", token); reply != int64(1) && reply != nil {
		b.t.Errorf("%s lets go of %s: %v", owner, door, reply)
	}
}

// lose has the victim lose a lock for a reason, and waits until that was pushed, and nothing else.
func (b *broken) lose(reason string) {
	b.still.Lock()
	defer b.still.Unlock()
	b.live()
	want := fmt.Sprint("lock-lost victim ", b.ask("LOCK", "victim", "victim", "ONCE"), " ", reason)
	switch reason {
	case "forced":
		b.operator.Do(b.ctx, "LOCK.FORCE", "victim")
	case "deleted":
		b.operator.Del(b.ctx, "victim")
	case "overwritten":
		b.operator.Set(b.ctx, "victim", "no lock", 0)
	case "expired":
		b.operator.Do(b.ctx, "RENEW", "victim", "victim", "PX", 1)
	}
	select {
	case got := <-b.pushed:
		if got != want {
			b.t.Errorf("told %q instead of %q", got, want)
		}
	case <-b.ctx.Done():
		b.t.Errorf("not told: %q", want)
	}
	if reason == "overwritten" {
		b.operator.Del(b.ctx, "victim")
	}
}
