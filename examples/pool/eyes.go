package main

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// lookEvery is the time between two questions to each server.
const lookEvery = 25 * time.Millisecond

// eyes holds the last seen state of each server: whether it answers, and whether it leads.
type eyes struct {
	history *history
	servers []*redis.Client
	mu      sync.Mutex
	leads   int // the server that was last seen as the leader
}

func watchers(addresses []string, h *history) *eyes {
	e := &eyes{history: h}
	for _, address := range addresses {
		e.servers = append(e.servers, redis.NewClient(&redis.Options{Addr: address, MaxRetries: -1, PoolSize: 2,
			DialTimeout: time.Second, ReadTimeout: time.Second}))
	}
	return e
}

func (e *eyes) close() {
	for _, s := range e.servers {
		_ = s.Close()
	}
}

// look asks a server for its role in the group. The role is empty if it does not answer.
func (e *eyes) look(ctx context.Context, server int) (role string) {
	text, err := e.servers[server].Do(ctx, "RAFT", "INFO").Text()
	if err != nil {
		return ""
	}
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "raft_role:"); ok {
			role = value
		}
	}
	if role == "leader" {
		e.mu.Lock()
		e.leads = server
		e.mu.Unlock()
	}
	return role
}

// leader returns the server that was last seen as the leader.
func (e *eyes) leader() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.leads
}

// awaitWhole waits until one server leads and all others follow.
func (e *eyes) awaitWhole(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("the servers did not become a group within a minute"))
	defer cancel()
	for {
		count := make(map[string]int)
		for i := range e.servers {
			count[e.look(ctx, i)]++
		}
		if count["leader"] == 1 && count["follower"] == len(e.servers)-1 {
			return nil
		}
		if !pause(ctx, lookEvery) {
			return context.Cause(ctx)
		}
	}
}

// watch records the states of the servers in the history, until ctx ends.
func (e *eyes) watch(ctx context.Context, all *sync.WaitGroup) {
	for i := range e.servers {
		all.Go(func() {
			for {
				asked := e.history.now()
				role := e.look(ctx, i)
				if ctx.Err() != nil {
					return
				}
				is := up
				switch role {
				case "":
					is = down
				case "leader":
					is = leads
				}
				e.history.saw(i, is, asked)
				pause(ctx, lookEvery)
			}
		})
	}
}
