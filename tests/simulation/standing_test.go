//go:build simulation

package simulation

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
)

// standing records whether a server is a member of the group, as far as the replies to changes say.
type standing struct {
	in        atomic.Bool // it is a member, as far as is known
	discarded atomic.Bool // it was removed, and its machine was thrown away

	mu    sync.Mutex
	under bool // it is being added or removed, and there is no reply yet
	// open counts the attempts to add it (true) or to remove it (false) without a positive reply. Each of
	// these may still take effect.
	open map[bool]int
}

// begin records an attempt to add or remove it. It returns false if its machine is gone, or another attempt
// is under way.
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

// cancel records that the attempt was not made.
func (s *standing) cancel(in bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.under = false
	s.open[in]--
}

// end records a reply. discard throws away the machine if it is no longer a member, and the group certainly
// does not need it. end reports whether it did.
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

// wrong reports whether the replies said the opposite, and nothing can have changed that since.
func (s *standing) wrong(in bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.in.Load() != in && s.open[in] == 0
}

// members returns the members of the group, as far as is known.
func (g *group) members() (all []*member) {
	for _, m := range g.all {
		if m.in.Load() {
			all = append(all, m)
		}
	}
	return all
}

// addMember adds a spare server, or one that was removed.
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

// fewest is the least number of members. A group of two cannot go on when one of them crashes.
const fewest = 2

// removeMember removes a member, perhaps the leader, which first hands over the lead. After a positive reply
// its machine is thrown away with its disk, or runs on for a while.
func (c *chaos) removeMember() {
	leader := c.leader()
	if leader == nil || len(c.group.members()) <= fewest {
		return
	}
	m := c.member()
	c.change(leader, m, false, "RAFT", "REMOVE", m.peer.ID)
}

// successor makes another member lead, and returns it. If there is none it returns the same member.
func (c *chaos) successor(of *member) *member {
	v := of.ask("RAFT", "TRANSFER")
	c.say("RAFT TRANSFER at %s: %s", of.peer.ID, v)
	if next := c.leader(); next != nil {
		return next
	}
	return of
}

// change asks a member to add or remove a server.
func (c *chaos) change(leader, m *member, in bool, words ...string) {
	if !m.begin(in) {
		return
	}
	if !c.allVote() { // if the group gets smaller, it may need the member that has no vote
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

// learnMembers asks the leader for the members of the group: other members may not have the data. It returns
// an error if there is no leader yet, or if a member gives another answer.
func (w *world) learnMembers() error {
	for _, m := range w.group.all {
		if l := m.alive.Load(); l == nil || !l.engine.Leads() || m.ask("GET", w.group.anyKey()).IsError() {
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

// those returns the members, or all running servers if the leader was not asked.
func (w *world) those() (all []*member) {
	for _, m := range w.group.all {
		if w.memberIDs == nil || w.memberIDs[m.peer.ID] {
			all = append(all, m)
		}
	}
	return all
}
