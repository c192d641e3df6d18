package clients

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// failovers is a program whose clients ask the Sentinels who leads, while the leader is killed, paused and
// replaced: ../README.md says what must be so.
type failovers struct {
	t       *testing.T
	ctx     context.Context
	fleet   *fleet
	pool    *redis.Client
	over    atomic.Bool
	working sync.WaitGroup

	mu      sync.Mutex
	written [][]any // what was acknowledged to each worker
	highest int64   // token
	inside  string
}

const writers = 3

func startFailovers(t *testing.T, f *fleet) *failovers {
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	t.Cleanup(cancel)
	return &failovers{t: t, ctx: ctx, fleet: f, written: make([][]any, writers), pool: f.connect(0)}
}

// connect is a client that asks the Sentinels who leads; 0: with as many connections as it likes.
func (f *fleet) connect(connections int) *redis.Client {
	c := redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: f.Name, SentinelAddrs: f.Sentinels, ReadTimeout: 3 * time.Second, PoolSize: connections,
	})
	f.t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestNativeSentinel: go-redis over lockservers, with locks.
func TestNativeSentinel(t *testing.T) {
	f := startFleet(t, []string{"min-replicas-ack 1", "lock-watchdog-timeout 10000"}, program(), program(), program())
	p := startFailovers(t, f)
	// OnConnect would be called for the Sentinels, too, who know no LOCK.ATTACH.
	attached := f.connect(1)
	attach := func() error {
		return attached.Do(p.ctx, "LOCK.ATTACH", "keeper", "worker-0", "worker-1", "worker-2").Err()
	}
	require.NoError(t, attach())
	token := p.ask("LOCK", "held", "keeper", "ONCE")
	p.each(func(number int, word string) {
		require.NotNil(t, p.ask("SADD", "written", word))
		p.section(fmt.Sprint("worker-", number), word)
	})
	p.loop(func() {
		if reply := p.ask("LOCK", "held", "thief", "PX", 1000); reply != nil {
			t.Errorf("a lock is held by two: %v", reply)
		}
		time.Sleep(20 * time.Millisecond)
	})
	p.loop(func() {
		_ = attach() // to whoever leads
		time.Sleep(50 * time.Millisecond)
	})
	p.play("kill", "pause", "plan")
	require.Equal(t, token, p.ask("LOCK", "held", "keeper", "ONCE"), "a lock is lost while its owner lives")
	info, ok := p.ask("LOCK.INFO", "held").(map[any]any)
	require.True(t, ok)
	require.NotEmpty(t, info["attached"], "the owner came back to the new master")
}

// TestNativeSentinelBesideRedis: a lockserver and real Redis servers take turns. A Redis acknowledges
// before its replica has it, unless it is asked to WAIT.
func TestNativeSentinelBesideRedis(t *testing.T) {
	f := startFleet(t, []string{"min-replicas-ack 1"}, program(), "redis-server", "redis-server")
	p := startFailovers(t, f)
	require.Equal(t, "OK", p.ask("SET", "held", "keeper", "NX"))
	p.each(func(_ int, word string) {
		for copies := int64(0); copies == 0 && !p.over.Load() && p.ctx.Err() == nil; {
			pipe := p.pool.Pipeline()
			pipe.SAdd(p.ctx, "written", word)
			pipe.Do(p.ctx, "WAIT", 1, 1000)
			if replies, err := pipe.Exec(p.ctx); err == nil {
				copies = replies[1].(*redis.Cmd).Val().(int64)
			}
		}
	})
	p.play("kill", "pause")
	require.Equal(t, "keeper", p.ask("GET", "held"))
}

// play has things done to the fleet while clients go on, and looks for what they were told.
func (p *failovers) play(events ...string) {
	p.goesOn()
	for _, event := range events {
		leader := p.fleet.do(event)
		p.t.Logf("%s: %s leads, and clients go on %v later", event, leader, p.goesOn())
		p.fleet.do("mend")
	}
	p.over.Store(true)
	p.working.Wait()
	p.fleet.do("same")
	for _, words := range p.written {
		for i, there := range p.pool.SMIsMember(p.ctx, "written", words...).Val() {
			require.True(p.t, there, "%s was acknowledged, and is lost", words[i])
		}
	}
}

// loop does something again and again until all is over.
func (p *failovers) loop(do func()) {
	p.working.Go(func() {
		for !p.over.Load() && p.ctx.Err() == nil && !p.t.Failed() {
			do()
		}
	})
}

// each has workers write words, which are acknowledged when write returns.
func (p *failovers) each(write func(number int, word string)) {
	for number := range writers {
		p.loop(func() {
			word := fmt.Sprintf("%d:%d", number, len(p.written[number]))
			write(number, word)
			p.mu.Lock()
			defer p.mu.Unlock()
			if !p.over.Load() && p.ctx.Err() == nil { // at the end it may not have been
				p.written[number] = append(p.written[number], word)
			}
		})
	}
}

// goesOn waits until everybody has written more, and returns how long that took.
func (p *failovers) goesOn() time.Duration {
	count := func() (n [writers]int) {
		p.mu.Lock()
		defer p.mu.Unlock()
		for i, words := range p.written {
			n[i] = len(words)
		}
		return n
	}
	begun, before := time.Now(), count()
	eventually(p.t, func() bool {
		now := count()
		for i := range now {
			if now[i] < before[i]+3 && !p.t.Failed() {
				return false
			}
		}
		return true
	}, "all go on")
	return time.Since(begun)
}

// ask sends a command until it is answered: after some tries the client itself gives up.
func (p *failovers) ask(words ...any) any {
	for {
		reply, err := p.pool.Do(p.ctx, words...).Result()
		var refused redis.Error
		switch {
		case err == nil || errors.Is(err, redis.Nil):
			return reply
		case p.ctx.Err() != nil:
			p.t.Errorf("%v: %v", words, err)
			return nil
		case errors.As(err, &refused) && !strings.HasPrefix(err.Error(), "READONLY") && !strings.HasPrefix(err.Error(), "UNBLOCKED"):
			p.t.Errorf("%v: %v", words, err)
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// section is a critical section.
func (p *failovers) section(owner, word string) {
	var token int64
	var before int64
	for token == 0 {
		if p.over.Load() || p.t.Failed() {
			return
		}
		p.mu.Lock()
		before = p.highest
		p.mu.Unlock()
		token, _ = p.ask("LOCK", "door", owner, "WAIT", 1000, "ONCE").(int64)
	}
	p.mu.Lock()
	if p.inside != "" || token <= before {
		p.t.Errorf("%s enters with token %d after %d, and finds %q there", owner, token, before, p.inside)
	}
	p.inside, p.highest = owner, max(p.highest, token)
	p.mu.Unlock()
	if _, written := p.ask("GUARD", "door", token, "SADD", "written", word).(int64); !written {
		p.t.Errorf("%s has lost the lock", owner)
	}
	p.mu.Lock()
	p.inside = ""
	p.mu.Unlock()
	// 0 would be a second hold; nil is the answer of the second UNLOCK if the first one's was lost.
	if reply := p.ask("UNLOCK", "door", owner, "TOKEN", token); reply != int64(1) && reply != nil {
		p.t.Errorf("%s lets go: %v", owner, reply)
	}
}
