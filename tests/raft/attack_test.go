//go:build raft

package raft

import (
	"slices"
	"testing"
	"time"

	"lockserver/internal/resp"
	"lockserver/server/raft"
	"lockserver/tests/membership"
)

// attacked is a group under the attack of package membership. The number of a server is its index in of. A
// forgotten server is nil.
type attacked struct {
	*group
	of []*member
}

// All implements membership.Servers, as do the methods below.
func (a *attacked) All() (all []int) {
	for s, m := range a.of {
		if m != nil {
			all = append(all, s)
		}
	}
	return all
}

func (a *attacked) Peer(s int) raft.Peer { return a.of[s].peer }
func (a *attacked) Runs(s int) bool      { return a.of[s].srv != nil }
func (a *attacked) Kill(s int)           { a.of[s].stop() }
func (a *attacked) Cut(s int, on bool)   { a.isolate(a.of[s], on) }

func (a *attacked) Start(s int) {
	peers := a.peers
	if s >= len(peers) {
		a.peers = nil // a server that is added later has no members in its configuration
	}
	a.of[s].start()
	a.peers = peers
}

func (a *attacked) Add() (s int, ok bool) {
	s = len(a.of)
	a.of = append(a.of, a.add(s))
	a.Start(s)
	return s, true
}

func (a *attacked) Forget(s int) {
	a.Kill(s)
	a.all = slices.DeleteFunc(a.all, func(m *member) bool { return m == a.of[s] })
	a.of[s] = nil
}

func (a *attacked) Ask(s int, limit time.Duration, words ...string) resp.Value {
	if a.of[s].srv == nil {
		return a.of[s].ask(words...)
	}
	return a.of[s].askWithin(limit, words...)
}

// TestAttackOnMembership: members are added to a group and removed while other members die and are cut off.
func TestAttackOnMembership(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 3, nil)
	g.leader()
	membership.Run(t, &attacked{g, slices.Clone(g.all)})
}
