package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"lockserver/server/raft"
)

// ask asks several servers at once for their identities.
func (e *Engine) ask(ctx context.Context, peers []raft.Peer) []heardOf {
	all := make([]heardOf, len(peers))
	var asking sync.WaitGroup
	for i, p := range peers {
		asking.Go(func() {
			all[i].peer, all[i].askedMS = p, e.options.nowMS()
			all[i].Hello, all[i].err = e.hello(ctx, p.Raft)
			all[i].heardMS = e.options.nowMS()
		})
	}
	asking.Wait()
	e.book.hear(all)
	return all
}

// hello asks the server at an address for its identity.
func (e *Engine) hello(ctx context.Context, address string) (Hello, error) {
	if e.options.Hello == nil {
		return Hello{}, errors.New("this engine cannot ask other servers")
	}
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	return e.options.Hello(ctx, address)
}

// Addresses returns where a member is reached, by what this server knows, for Network.Addresses. ask has the
// other members asked first, unless that was done a moment ago. others says that this server knows any other
// member.
func (e *Engine) Addresses(ctx context.Context, id string, ask bool) (at []string, others bool, err error) {
	r, err := e.now()
	if err != nil {
		return nil, false, err
	}
	all := r.known()
	if ask && e.book.due(time.Now()) {
		e.ask(ctx, except(all, e.options.ID))
	}
	add := func(address string) {
		if address != "" && !slices.Contains(at, address) {
			at = append(at, address)
		}
	}
	for _, p := range all {
		others = others || p.ID != e.options.ID
		if p.ID == id {
			add(p.Raft)
		}
	}
	e.book.mu.Lock()
	defer e.book.mu.Unlock()
	for _, address := range e.book.at[id] {
		add(address)
	}
	return at, others, nil
}

// known are the members that this one knows: those of the group, or of raft-members before there is one.
func (r *running) known() (all []raft.Peer) {
	members := r.members()
	if len(members) == 0 {
		return r.of.options.Peers
	}
	for _, s := range members {
		all = append(all, peerOf(s.ID, s.Address))
	}
	return all
}

// LeaderPosition implements raft.Engine.
func (e *Engine) LeaderPosition(ctx context.Context) (p raft.Position, err error) {
	if e.options.Position == nil {
		return p, raft.ErrCannotAsk
	}
	r, err := e.now()
	if err != nil {
		return p, err
	}
	at, id := r.raft.LeaderWithID()
	if id == "" || id == r.self {
		return p, raft.ErrNoPosition
	}
	return e.options.Position(ctx, peerOf(id, at).Raft)
}

// Position answers Network.Position: the position of the history, if this member leads.
func (e *Engine) Position() (p raft.Position, err error) {
	r, err := e.now()
	if err != nil {
		return p, err
	}
	return r.fsm.machine().Position()
}
