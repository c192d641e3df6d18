package engine

import (
	"context"
	"sync"
	"time"

	"lockserver/server/raft"
)

// The leader looks whether a server answers at the address of each member for clients. That address comes
// from raft-members, or from RAFT ADD. The members do not use it themselves: only clients that are sent there
// would see that it is wrong. An address where a server has answered is not looked at again.

// clientAddresses has the results of the leader's calls to the addresses for clients.
type clientAddresses struct {
	mu sync.Mutex
	// answered has the addresses where a server has answered, by the ids of the members, and wrong says why
	// none can be reached at others.
	answered, wrong map[string]string
	logged          time.Time
}

// lookAtClientAddresses is the goroutine that looks at them.
func (r *running) lookAtClientAddresses() {
	if r.of.options.ReachClient == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r.watching.Go(func() {
		<-r.ended
		cancel()
	})
	for {
		select {
		case <-r.ended:
			return
		case <-time.After(surveyEvery):
		}
		if r.leads.Load() == 0 {
			r.clients.forget()
			continue
		}
		r.lookOnce(ctx)
	}
}

// forget drops what a leader has found.
func (a *clientAddresses) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answered, a.wrong = nil, nil
}

// lookOnce looks at the addresses of the members that take part. A member that does not run has no server at
// its address, and is unreachable.
func (r *running) lookOnce(ctx context.Context) {
	answered, wrong := make(map[string]string), make(map[string]string)
	var mu sync.Mutex
	var looking sync.WaitGroup
	for _, s := range r.members() {
		p := peerOf(s.ID, s.Address)
		if r.clients.knows(p) {
			answered[p.ID] = p.Client
			continue
		}
		if !r.reachable(s) {
			continue
		}
		looking.Go(func() {
			err := r.of.options.ReachClient(ctx, p.Client)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				answered[p.ID] = p.Client
			} else {
				wrong[p.ID] = p.Client + ": " + err.Error()
			}
		})
	}
	looking.Wait()
	if ctx.Err() != nil {
		return
	}
	r.clients.mu.Lock()
	defer r.clients.mu.Unlock()
	r.clients.answered, r.clients.wrong = answered, wrong
	if len(wrong) == 0 || time.Since(r.clients.logged) < sayRefusals {
		return
	}
	r.clients.logged = time.Now()
	for id, why := range wrong {
		r.of.options.Log.Warn("raft: no server for clients answers at the client address of a member: clients that are sent there fail. "+
			"If raft-members or RAFT ADD had a wrong address, send RAFT ADD with the right one (docs/HA.md)", "member", id, "cause", why)
	}
}

// knows reports whether a server has answered at the address of a member.
func (a *clientAddresses) knows(p raft.Peer) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.answered[p.ID] == p.Client && p.Client != ""
}

// fault is why no server for clients is reached at the address of a member; empty: one is, or that is not
// known.
func (a *clientAddresses) fault(id string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.wrong[id]
}
