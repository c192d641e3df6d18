package clients

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
)

// library is a client library, as a program uses it that knows of several servers.
type library struct {
	name string
	// ask sends a command and returns the reply; a null is nil.
	ask func(ctx context.Context, words ...any) (any, error)
	// attach has a connection of its own attached to the owners, whichever server leads.
	attach func(ctx context.Context) error
}

// failovers is a program with clients that find the leader by themselves, while the leader is killed, paused
// and replaced: ../README.md says what must be so.
type failovers struct {
	library
	t       *testing.T
	ctx     context.Context
	over    *atomic.Bool
	working sync.WaitGroup

	mu      sync.Mutex
	written [][]any // what was acknowledged to each worker
	highest int64   // token
	inside  string
	token   any // of the lock that is held all the time
}

const writers = 3

// startFailovers begins the trials of libraries that share one fleet.
func startFailovers(t *testing.T, libraries ...library) (all []*failovers) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	t.Cleanup(cancel)
	over := &atomic.Bool{}
	for _, l := range libraries {
		all = append(all, &failovers{library: l, t: t, ctx: ctx, over: over, written: make([][]any, writers)})
	}
	return all
}

// ownersOf are the owners that attach is for.
func ownersOf(library string) (owners []any) {
	for _, who := range []string{"keeper", "worker-0", "worker-1", "worker-2"} {
		owners = append(owners, library+"-"+who)
	}
	return owners
}

// goRedis is a program on go-redis, by clients with so many connections; 0: as many as it likes.
func goRedis(t *testing.T, connect func(connections int) redis.UniversalClient) library {
	const name = "go-redis"
	pool, attached := connect(0), connect(1)
	t.Cleanup(func() {
		_ = pool.Close()
		_ = attached.Close()
	})
	return library{name, func(ctx context.Context, words ...any) (any, error) {
		reply, err := pool.Do(ctx, words...).Result()
		if errors.Is(err, redis.Nil) {
			return nil, nil
		}
		return reply, err
	}, func(ctx context.Context) error {
		// OnConnect would be called for the Sentinels, too, who know no LOCK.ATTACH.
		return attached.Do(ctx, append([]any{"LOCK.ATTACH"}, ownersOf(name)...)...).Err()
	}}
}

// byName is a client that asks the Sentinels who leads.
func (f *fleet) byName(connections int) redis.UniversalClient {
	return redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: f.Name, SentinelAddrs: f.Sentinels, ReadTimeout: 3 * time.Second, PoolSize: connections,
	})
}

// TestNativeSentinel: go-redis over lockservers, with locks.
func TestNativeSentinel(t *testing.T) {
	f := startFleet(t, []string{"min-replicas-ack 1", "lock-watchdog-timeout 10000"}, program(), program(), program())
	failOver(f, startFailovers(t, goRedis(t, f.byName)), "kill", "pause", "plan")
}

// failOver has libraries work with locks while things are done to the fleet.
func failOver(f *fleet, all []*failovers, events ...string) {
	for _, p := range all {
		p.begin()
	}
	play(f, all, events...)
	for _, p := range all {
		require.Equal(p.t, p.token, p.ask("LOCK", p.key("held"), p.owner("keeper"), "ONCE"), "%s: a lock is lost while its owner lives", p.name)
		eventually(p.t, func() bool { return p.attach(p.ctx) == nil }, "the owner comes back to who leads now")
		require.True(p.t, isAttached(p.ask("LOCK.INFO", p.key("held"))), "%s: the owner came back to the new master", p.name)
	}
}

func (p *failovers) key(name string) string   { return name + ":" + p.name }
func (p *failovers) owner(name string) string { return p.name + "-" + name }

// begin starts the workers, a thief, and what says that the owners live.
func (p *failovers) begin() {
	require.NoError(p.t, p.attach(p.ctx))
	p.token = p.ask("LOCK", p.key("held"), p.owner("keeper"), "ONCE")
	p.each(func(number int, word string) {
		require.NotNil(p.t, p.ask("SADD", p.key("written"), word))
		p.section(p.owner(fmt.Sprint("worker-", number)), word)
	})
	p.loop(func() {
		if reply := p.ask("LOCK", p.key("held"), "thief", "PX", 1000); reply != nil {
			p.t.Errorf("%s: a lock is held by two: %v", p.name, reply)
		}
		time.Sleep(20 * time.Millisecond)
	})
	p.loop(func() {
		_ = p.attach(p.ctx) // to the leader
		time.Sleep(50 * time.Millisecond)
	})
}

// isAttached reads LOCK.INFO: whether a connection is attached to the owner.
func isAttached(info any) bool {
	switch all := info.(type) {
	case map[any]any:
		list, _ := all["attached"].([]any)
		return len(list) > 0
	case map[string]any:
		list, _ := all["attached"].([]any)
		return len(list) > 0
	}
	return false
}

// TestNativeSentinelBesideRedis: a lockserver and real Redis servers take turns. A Redis acknowledges
// before its replica has it, unless it is asked to WAIT.
func TestNativeSentinelBesideRedis(t *testing.T) {
	f := startFleet(t, []string{"min-replicas-ack 1"}, program(), "redis-server", "redis-server")
	all := startFailovers(t, goRedis(t, f.byName))
	p, pool := all[0], f.byName(0)
	t.Cleanup(func() { _ = pool.Close() })
	require.Equal(t, "OK", p.ask("SET", "held", "keeper", "NX"))
	p.each(func(_ int, word string) {
		for copies := int64(0); copies == 0 && !p.over.Load() && p.ctx.Err() == nil; {
			pipe := pool.Pipeline()
			pipe.SAdd(p.ctx, p.key("written"), word)
			pipe.Do(p.ctx, "WAIT", 1, 1000)
			if replies, err := pipe.Exec(p.ctx); err == nil {
				copies = replies[1].(*redis.Cmd).Val().(int64)
			}
		}
	})
	play(f, all, "kill", "pause")
	require.Equal(t, "keeper", p.ask("GET", "held"))
}

// play has things done to the fleet while clients go on, and looks at their replies.
func play(f *fleet, all []*failovers, events ...string) {
	for _, p := range all {
		p.goesOn()
	}
	for _, event := range events {
		leader := f.do(event)
		for _, p := range all {
			p.t.Logf("%s: %s leads, and %s goes on %v later", event, leader, p.name, p.goesOn())
		}
		f.do("mend")
	}
	all[0].over.Store(true)
	for _, p := range all {
		p.working.Wait()
	}
	f.do("same")
	for _, p := range all {
		for _, words := range p.written {
			for _, word := range words {
				require.Equal(p.t, int64(1), p.ask("SISMEMBER", p.key("written"), word), "%s: %s was acknowledged, and is lost", p.name, word)
			}
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

// goesOn waits until all clients have written more, and returns how long that took.
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

// passes reports whether a failure is one of a change of leaders, so that the program asks again.
func passes(err error) bool {
	var refused redis.Error
	text, isReply := "", errors.As(err, &refused)
	if isReply {
		text = refused.Error()
	} else if reply, is := rueidis.IsRedisErr(err); is {
		text, isReply = reply.Error(), true
	}
	word, _, _ := strings.Cut(text, " ")
	return !isReply || slices.Contains([]string{"READONLY", "UNBLOCKED", "LOADING", "CLUSTERDOWN", "MASTERDOWN", "MOVED"}, word)
}

// ask sends a command until it is answered: after some tries the client itself gives up.
func (p *failovers) ask(words ...any) any {
	for {
		reply, err := p.library.ask(p.ctx, words...)
		switch {
		case err == nil:
			return reply
		case p.ctx.Err() != nil || !passes(err):
			p.t.Errorf("%s: %v: %v", p.name, words, err)
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
		token, _ = p.ask("LOCK", p.key("door"), owner, "WAIT", 1000, "ONCE").(int64)
	}
	p.mu.Lock()
	if p.inside != "" || token <= before {
		p.t.Errorf("%s enters with token %d after %d, and finds %q there", owner, token, before, p.inside)
	}
	p.inside, p.highest = owner, max(p.highest, token)
	p.mu.Unlock()
	if _, written := p.ask("GUARD", p.key("door"), token, "SADD", p.key("written"), word).(int64); !written {
		p.t.Errorf("%s has lost the lock", owner)
	}
	p.mu.Lock()
	p.inside = ""
	p.mu.Unlock()
	// 0 would be a second hold; nil is the answer of the second UNLOCK if the first one's was lost.
	if reply := p.ask("UNLOCK", p.key("door"), owner, "TOKEN", token); reply != int64(1) && reply != nil {
		p.t.Errorf("%s lets go: %v", owner, reply)
	}
}
