package shardmap

import (
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"lockserver/internal/call"
)

const (
	// askEvery is how often a member of each other shard is asked.
	askEvery = time.Second
	// answersWithin is how long a member may take to answer.
	answersWithin = 2 * time.Second
)

// Run asks the other shards until the context ends, and keeps what they say.
func (m *Map) Run(ctx context.Context) {
	a := asker{of: m, open: make(map[string]*call.Conn)}
	defer a.close()
	every := time.NewTicker(askEvery)
	defer every.Stop()
	for {
		a.round(ctx)
		m.keep()
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
	}
}

// asker has the connections to other members.
type asker struct {
	of *Map

	mu   sync.Mutex
	open map[string]*call.Conn // by address
}

// round asks a member of each shard, and the configured addresses that belong to no shard that is known.
func (a *asker) round(ctx context.Context) {
	shards, unplaced := a.of.targets()
	var asking sync.WaitGroup
	for name, addresses := range shards {
		asking.Go(func() {
			leads := slices.ContainsFunc(addresses, func(at string) bool {
				leads, err := a.ask(ctx, at)
				return err == nil && leads
			})
			if ctx.Err() == nil {
				a.of.hear(name, leads)
			}
		})
	}
	for _, at := range unplaced {
		asking.Go(func() { _, _ = a.ask(ctx, at) }) // ask has recorded a fault
	}
	asking.Wait()
	a.forgetBut(slices.Concat(append(slices.Collect(maps.Values(shards)), unplaced)...))
}

// targets are the addresses to ask, for each shard that of its leader first, and configured addresses of no
// known shard.
func (m *Map) targets() (shards map[string][]string, unplaced []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	shards = make(map[string][]string)
	var all []string
	for name, k := range m.others {
		for _, member := range k.Members {
			at := net.JoinHostPort(member.Host, strconv.Itoa(member.Port))
			if all = append(all, at); member.ID == k.Leader {
				shards[name] = slices.Insert(shards[name], 0, at)
			} else {
				shards[name] = append(shards[name], at)
			}
		}
	}
	for _, member := range m.own.Members {
		all = append(all, net.JoinHostPort(member.Host, strconv.Itoa(member.Port)))
	}
	for _, at := range m.options.Peers {
		if !slices.Contains(all, at) {
			unplaced = append(unplaced, at)
		}
	}
	return shards, unplaced
}

// ask asks the member at an address, and takes its statements. leads is that of Map.take. A refusal, as for
// a missing login, is a fault. Silence is no fault: the server may be down.
func (a *asker) ask(ctx context.Context, at string) (leads bool, err error) {
	text, err := a.textOf(ctx, at)
	if err == nil {
		return a.of.take(text, at)
	}
	if errors.As(err, new(call.Error)) {
		a.of.fault(at, err)
	}
	return false, err
}

// textOf returns the text of the map of the member at an address.
func (a *asker) textOf(ctx context.Context, at string) (text string, err error) {
	ctx, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	a.mu.Lock()
	c := a.open[at]
	a.mu.Unlock()
	if c == nil {
		if c, err = a.of.options.Dial(ctx, at); err != nil {
			return "", err
		}
		a.mu.Lock()
		a.open[at] = c
		a.mu.Unlock()
	}
	stop := context.AfterFunc(ctx, c.Close)
	v, err := c.Do("CLUSTER", "MAP")
	stop()
	if errors.Is(err, call.ErrLost) {
		a.mu.Lock()
		delete(a.open, at)
		a.mu.Unlock()
	}
	return v.Str, err
}

// forgetBut closes the connections to all addresses but some, and forgets the faults of all others.
func (a *asker) forgetBut(wanted []string) {
	a.mu.Lock()
	for at, c := range a.open {
		if !slices.Contains(wanted, at) {
			c.Close()
			delete(a.open, at)
		}
	}
	a.mu.Unlock()
	a.of.mu.Lock()
	maps.DeleteFunc(a.of.faults, func(at, _ string) bool { return !slices.Contains(wanted, at) })
	a.of.mu.Unlock()
}

// close closes all connections.
func (a *asker) close() { a.forgetBut(nil) }
