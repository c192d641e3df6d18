//go:build simulation

package simulation

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
)

// standing is whether a server is a member of the group, as those know who have changed that.
type standing struct {
	in        atomic.Bool // for all that is known
	discarded atomic.Bool // it was removed, and its machine has been thrown away

	mu    sync.Mutex
	under bool // it is to be added or removed, and there is no answer yet
	// open is how often it was to be a member, or to be none, without an answer that it is done. Each of
	// these may be done even now.
	open map[bool]int
}

// begin records that it is to be a member, or none; false: its machine is gone, or something is under way.
func (s *standing) begin(in bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.under || s.discarded.Load() {
		return false
	}
	if s.open == nil {
		s.open = map[bool]int{}
	}
	s.under = true
	s.open[in]++
	return true
}

// cancel records that nothing was asked.
func (s *standing) cancel(in bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.under = false
	s.open[in]--
}

// end records an answer. discard throws away a machine that is no longer a member, if the group certainly
// does not need it; end reports whether that is so.
func (s *standing) end(done, in, discard bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.under = false
	if !done {
		return false
	}
	s.open[in]--
	s.in.Store(in)
	if in || !discard || s.open[true] > 0 {
		return false
	}
	s.discarded.Store(true)
	return true
}

// wrong reports whether an answer said otherwise than that it is a member, or none, and nothing can have
// changed that since.
func (s *standing) wrong(in bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.in.Load() != in && s.open[in] == 0
}

// members are those that are in the group, for all that is known.
func (g *group) members() (all []*member) {
	for _, m := range g.all {
		if m.in.Load() {
			all = append(all, m)
		}
	}
	return all
}

// addMember makes a spare server a member, or one that was removed again.
func (c *chaos) addMember() {
	var spare []*member
	for _, m := range c.group.all {
		if !m.in.Load() && !m.discarded.Load() {
			spare = append(spare, m)
		}
	}
	leader := c.leader()
	if leader == nil || len(spare) == 0 {
		return
	}
	m := one(c.chance, spare...)
	if m.alive.Load() == nil {
		c.again(m)
	}
	c.change(leader, m, true, "RAFT", "ADD", m.peer.ID, m.peer.Raft, m.peer.Client)
}

// fewest is how many members there are to be at least. With two of them one that crashes is missed.
const fewest = 2

// removeMember takes a member out: perhaps the one that leads, which hands that on first. If the answer is
// that this was done, its machine is thrown away with its disk, or goes on for a while as if nothing had
// been.
func (c *chaos) removeMember() {
	leader := c.leader()
	if leader == nil || len(c.group.members()) <= fewest {
		return
	}
	m := c.member()
	c.change(leader, m, false, "RAFT", "REMOVE", m.peer.ID)
}

// successor has another member lead, and returns that one, or the same where there is none.
func (c *chaos) successor(of *member) *member {
	v := of.ask("RAFT", "TRANSFER")
	c.say("RAFT TRANSFER at %s: %s", of.peer.ID, v)
	if next := c.leader(); next != nil {
		return next
	}
	return of
}

// change asks a member to add or remove one.
func (c *chaos) change(leader, m *member, in bool, words ...string) {
	if !m.begin(in) {
		return
	}
	if !c.allVote() { // a group that shrinks meanwhile may need the one that has no vote
		m.cancel(in)
		return
	}
	discard := c.chance.oneIn(2)
	go func() {
		if leader == m && !in {
			leader = c.successor(m)
		}
		v := leader.ask(words...)
		c.say("%s at %s: %s", strings.Join(words, " "), leader.peer.ID, v)
		if m.end(v.Str == "OK", in, discard) {
			c.say("%s is thrown away", m.peer.ID)
			m.crash()
		}
	}()
}

// learnMembers asks the leader who is in the group: the others need not have the data. The error says that
// there is no leader yet, or that a member had another answer.
func (w *world) learnMembers() error {
	for _, m := range w.group.all {
		if l := m.alive.Load(); l == nil || !l.engine.Leads() || m.ask("GET", "any").IsError() {
			continue
		}
		v := m.ask("RAFT", "MEMBERS")
		is := map[string]bool{}
		for _, e := range v.Elems {
			is[e.Elems[1].Str] = true
		}
		if len(is) == 0 {
			return fmt.Errorf("%s does not know the members: %s", m.peer.ID, v)
		}
		for _, o := range w.group.all {
			if in := is[o.peer.ID]; o.wrong(in) {
				return fmt.Errorf("%s is a member: %t, and it was told otherwise", o.peer.ID, in)
			}
		}
		w.memberIDs = is
		return nil
	}
	return errors.New("there is no leader")
}

// those are the members, or all that run if the membership was not asked for.
func (w *world) those() (all []*member) {
	for _, m := range w.group.all {
		if w.memberIDs == nil || w.memberIDs[m.peer.ID] {
			all = append(all, m)
		}
	}
	return all
}
