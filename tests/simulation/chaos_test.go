//go:build simulation

package simulation

import (
	"time"
)

// befall makes faults happen to the group until the clients stop. The seed draws some kinds of faults for
// each run, because combinations find the most.
func (w *world) befall() {
	kinds := []func(*chaos){(*chaos).partition, (*chaos).slowLinks, (*chaos).crash, (*chaos).crashLeader, (*chaos).clocks, (*chaos).slowDisk,
		(*chaos).fullDisk, (*chaos).brokenDisk, (*chaos).transfer, (*chaos).snapshot, (*chaos).isolateLeader, (*chaos).calm, (*chaos).crashAll,
		(*chaos).lateAnswers, (*chaos).addMember, (*chaos).removeMember, (*chaos).loseDisk, (*chaos).check}
	var drawn []func(*chaos)
	for _, k := range kinds {
		if w.chance.oneIn(2) {
			drawn = append(drawn, k)
		}
	}
	drawn = append(drawn, (*chaos).calm)
	c := &chaos{w}
	for !w.over() {
		time.Sleep(w.chance.between(10*time.Millisecond, 1200*time.Millisecond))
		if w.over() {
			break
		}
		drawn[w.chance.below(len(drawn))](c)
	}
}

// chaos makes faults happen to a group.
type chaos struct{ *world }

// member returns any member.
func (c *chaos) member() *member { return one(c.chance, c.group.members()...) }

// leader returns the leader that a member names, or nil.
func (c *chaos) leader() *member {
	for _, m := range c.group.all {
		if m.alive.Load() != nil && m.alive.Load().engine.Leads() {
			return m
		}
	}
	return nil
}

// how returns what happens to messages where the network is cut.
func (c *chaos) how() weather { return one(c.chance, lost, held) }

// partition cuts the network in two parts, in one direction or both. Or it cuts all members except one from
// each other.
func (c *chaos) partition() {
	how, oneWay, bridge := c.how(), c.chance.oneIn(3), c.chance.oneIn(4)
	side := map[*member]bool{}
	for _, m := range c.group.all {
		side[m] = c.chance.oneIn(2)
	}
	between := c.member()
	c.say("partition: how %d, one way %t, bridge %t by %s, %v", how, oneWay, bridge, between.peer.ID, sides(side))
	for _, a := range c.group.all {
		for _, b := range c.group.all {
			if a == b || bridge && (a == between || b == between) {
				continue
			}
			if side[a] != side[b] && (!oneWay || side[a]) {
				c.group.network.set(link{a.at(), b.at()}, how, 0)
			}
		}
	}
}

func sides(side map[*member]bool) (text [2]string) {
	for m, s := range side {
		text[b2i(s)] += m.peer.ID
	}
	return text
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// isolateLeader cuts the leader off from the others.
func (c *chaos) isolateLeader() {
	m := c.leader()
	if m == nil {
		return
	}
	how, in, out := c.how(), !c.chance.oneIn(4), !c.chance.oneIn(4)
	c.say("leader %s is cut off: how %d, in %t, out %t", m.peer.ID, how, in, out)
	for _, o := range c.group.all {
		if o == m {
			continue
		}
		if in {
			c.group.network.set(link{o.at(), m.at()}, how, 0)
		}
		if out {
			c.group.network.set(link{m.at(), o.at()}, how, 0)
		}
	}
}

// slowLinks makes some links slow.
func (c *chaos) slowLinks() {
	c.say("slow links")
	for _, a := range c.group.all {
		for _, b := range c.group.all {
			if a != b && c.chance.oneIn(3) {
				c.group.network.set(link{a.at(), b.at()}, fair, int64(1+c.chance.below(400)))
			}
		}
	}
}

// calm ends all cuts.
func (c *chaos) calm() {
	c.say("the network is well")
	c.group.calm()
	for _, m := range c.group.all {
		m.disk.set(false, 0)
		if m.alive.Load() == nil && m.in.Load() {
			c.again(m)
		}
	}
}

// again starts a crashed member.
func (c *chaos) again(m *member) {
	c.say("%s starts", m.peer.ID)
	if err := m.start(); err != nil {
		c.say("%s did not start: %v", m.peer.ID, err)
		m.crash()
	}
}

// crash ends a member, or starts it again.
func (c *chaos) crash() { c.toggle(c.member()) }

func (c *chaos) toggle(m *member) {
	if m.alive.Load() == nil {
		c.again(m)
		return
	}
	c.say("%s crashes", m.peer.ID)
	m.crash()
	if c.chance.oneIn(2) {
		time.Sleep(c.chance.between(0, 300*time.Millisecond))
		c.again(m)
	}
}

// crashLeader ends the leader.
func (c *chaos) crashLeader() {
	if m := c.leader(); m != nil {
		c.toggle(m)
	}
}

// crashAll ends all members at once.
func (c *chaos) crashAll() {
	if !c.chance.oneIn(3) {
		return
	}
	c.say("all crash")
	for _, m := range c.group.all {
		m.crash()
	}
	time.Sleep(c.chance.between(0, 500*time.Millisecond))
	for _, m := range c.group.members() {
		c.again(m)
	}
}

// clocks sets a member's clock.
func (c *chaos) clocks() {
	m := c.member()
	by := one(c.chance, 0, 1, -1, 10, -10, 3600, -3600) * 1000 * (1 + c.chance.below(1000))
	c.say("the clock of %s is %d us wrong", m.peer.ID, by)
	m.clock.byUS.Store(int64(by))
}

// slowDisk makes a disk slow.
func (c *chaos) slowDisk() {
	m := c.member()
	slow := int64(1 + c.chance.below(500))
	c.say("the disk of %s is slow: %d ms", m.peer.ID, slow)
	m.disk.set(false, slow)
}

// fullDisk makes a disk full, for a while.
func (c *chaos) fullDisk() {
	m := c.member()
	c.say("the disk of %s is full", m.peer.ID)
	m.disk.set(true, 0)
}

// brokenDisk makes a disk fail sometimes, or always, for a while.
func (c *chaos) brokenDisk() {
	m := c.member()
	oneIn := 1 + c.chance.below(6)
	c.say("the disk of %s fails once in %d writes", m.peer.ID, oneIn)
	m.disk.fail(oneIn)
}

// transfer makes another member lead.
func (c *chaos) transfer() {
	if m := c.leader(); m != nil {
		c.say("transfer from %s", m.peer.ID)
		c.later(m, "RAFT", "TRANSFER")
	}
}

// lateAnswers delays all answers to the leader, and makes another member lead meanwhile. Answers from before
// that election arrive when the new leader has been working for long.
func (c *chaos) lateAnswers() {
	m := c.leader()
	if m == nil {
		return
	}
	late := int64(50 + c.chance.below(400))
	c.say("leader %s hears all by %d ms late", m.peer.ID, late)
	for _, o := range c.group.all {
		if o != m {
			c.group.network.set(link{o.at(), m.at()}, fair, late)
		}
	}
	time.Sleep(c.chance.between(0, 600*time.Millisecond))
	c.transfer()
}

// snapshot makes a member write a snapshot.
func (c *chaos) snapshot() {
	m := c.member()
	c.say("snapshot on %s", m.peer.ID)
	c.later(m, "RAFT", "SNAPSHOT")
}

// check makes all members compare their data.
func (c *chaos) check() {
	if m := c.leader(); m != nil {
		c.say("check by %s", m.peer.ID)
		c.later(m, "RAFT", "CHECK")
	}
}

// later sends a command, and does not wait for the reply.
func (c *chaos) later(m *member, words ...string) {
	if m.alive.Load() != nil {
		go func() { m.ask(words...) }()
	}
}
