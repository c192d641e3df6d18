//go:build simulation

package simulation

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// losable is the least number of members of a group in which one loses its disk. The others must be a
// majority, and the leader must make that member a voter again.
const losable = 3

// loseDisk makes a member crash and come back with an empty disk under its old id. Only one member at a time
// does so, because the data of two of three members may be lost. The group must not change meanwhile.
func (c *chaos) loseDisk() {
	if !c.allVote() || len(c.group.members()) < losable || !c.group.quiet() {
		return
	}
	m := c.member()
	c.lost.Store(m)
	if !c.group.quiet() {
		c.lost.Store(nil)
		return
	}
	c.say("the disk of %s is lost", m.peer.ID)
	m.crash()
	m.disk.wipe()
	if c.chance.oneIn(2) {
		time.Sleep(c.chance.between(0, 300*time.Millisecond))
		c.again(m)
	}
}

// quiet reports whether all changes of the group were answered.
func (g *group) quiet() bool {
	for _, m := range g.all {
		m.mu.Lock()
		busy := m.under || m.open[true] > 0 || m.open[false] > 0
		m.mu.Unlock()
		if busy {
			return false
		}
	}
	return true
}

// allVote reports whether the last member that lost its disk is a voter again.
func (c *chaos) allVote() bool {
	m := c.lost.Load()
	if m != nil && !c.hasVote(m) {
		return false
	}
	c.lost.CompareAndSwap(m, nil)
	return true
}

// hasVote reports whether the leader says that a member is a voter with its present disk.
func (c *chaos) hasVote(m *member) bool {
	l := c.leader()
	if l == nil || m.alive.Load() == nil {
		return false
	}
	disk := m.fields()["raft_incarnation"]
	for _, e := range l.ask("RAFT", "MEMBERS").Elems {
		if e.Elems[1].Str == m.peer.ID {
			return disk != "" && e.Elems[9].Str == disk && e.Elems[3].Str != "learner" && !l.ask("GET", "any").IsError()
		}
	}
	return false
}

// wipe empties a disk.
func (d *disk) wipe() {
	d.mu.Lock()
	defer d.mu.Unlock()
	fresh := newDisk(nil)
	d.logs, d.low, d.high, d.kept, d.numbers, d.snapshots = fresh.logs, 0, 0, fresh.kept, fresh.numbers, nil
}

// TestLostDiskHasNoVote: a write is on two disks, and one of them is lost. It does not help the third member,
// which does not have the write, to lead. When the other member is back all have the write.
func TestLostDiskHasNoVote(t *testing.T) {
	play(t, 3, func(s *scene) {
		old := s.leader()
		wiped, behind := s.others(old)[0], s.others(old)[1]
		behind.crash()
		require.Equal(s.t, "OK", old.ask("SET", "x", "acknowledged").Str)
		old.crash()
		wiped.crash()
		wiped.disk.wipe()
		require.NoError(s.t, wiped.start())
		require.NoError(s.t, behind.start())
		for range 100 {
			time.Sleep(100 * time.Millisecond)
			for _, m := range []*member{wiped, behind} {
				require.False(s.t, m.alive.Load().engine.Leads(), m.peer.ID)
			}
		}
		require.Contains(s.t, wiped.fields()["raft_waiting"], "has the data of a group")
		require.NoError(s.t, old.start())
		s.leader()
		s.eventually("all know that it is a voter", func() bool { // all members: the leader is going to crash
			for _, m := range s.all {
				if strings.Contains(m.ask("RAFT", "MEMBERS").String(), "learner") {
					return false
				}
			}
			return wiped.fields()["raft_waiting"] == ""
		})
		s.same()
		old.crash()
		require.Equal(s.t, "acknowledged", s.leader(wiped, behind).ask("GET", "x").Str)
	})
}

// TestTwoLostDisksFormNoGroup: two of three members have new disks. None leads, and the third keeps its data.
func TestTwoLostDisksFormNoGroup(t *testing.T) {
	play(t, 3, func(s *scene) {
		require.Equal(s.t, "OK", s.do("SET", "x", "1").Str)
		s.same()
		for i, m := range s.all {
			m.crash()
			if i < 2 {
				m.disk.wipe()
			}
		}
		for _, m := range s.all {
			require.NoError(s.t, m.start())
		}
		last := s.all[2].fields()["raft_last_index"]
		for range 100 {
			time.Sleep(100 * time.Millisecond)
			for _, m := range s.all {
				require.False(s.t, m.alive.Load().engine.Leads(), m.peer.ID)
			}
		}
		require.Equal(s.t, last, s.all[2].fields()["raft_last_index"])
		require.NotEqual(s.t, "0", s.all[0].fields()["raft_alarms"])
	})
}

// TestNothingIsRemoved: one of three members is away, so the other two are needed. Neither can be removed,
// and the group goes on.
func TestNothingIsRemoved(t *testing.T) {
	play(t, 3, func(s *scene) {
		leader := s.leader()
		away, needed := s.others(leader)[0], s.others(leader)[1]
		away.crash()
		require.Contains(s.t, leader.ask("RAFT", "REMOVE", needed.peer.ID).Str, "of the 2 voters that would be left 1 can be reached")
		require.Contains(s.t, leader.ask("RAFT", "REMOVE", leader.peer.ID).Str, "this member leads")
		require.Len(s.t, leader.ask("RAFT", "MEMBERS").Elems, 3)
		require.Equal(s.t, "OK", leader.ask("SET", "x", "1").Str)
		require.Equal(s.t, "OK", leader.ask("RAFT", "REMOVE", away.peer.ID).Str)
		require.Equal(s.t, "OK", leader.ask("SET", "x", "2").Str)
	})
}

// TestLearnerHasNoVote: a server is added and then cannot be reached. It gets no vote, however long that
// takes, until it has caught up.
func TestLearnerHasNoVote(t *testing.T) {
	play(t, 3, func(s *scene) {
		leader := s.leader()
		d := s.add()
		require.NoError(s.t, d.start())
		for i := range 50 {
			require.Equal(s.t, "OK", leader.ask("SET", fmt.Sprint("key", i), "1").Str)
		}
		role := func() string {
			for _, e := range leader.ask("RAFT", "MEMBERS").Elems {
				if e.Elems[1].Str == d.peer.ID {
					return e.Elems[3].Str
				}
			}
			return ""
		}
		added := leader.later("RAFT", "ADD", d.peer.ID, d.peer.Raft, d.peer.Client)
		for leader.fields()["raft_members"] != "4" { // RAFT MEMBERS asks all members: meanwhile it would become a voter
			time.Sleep(time.Millisecond)
		}
		s.network.set(link{d.at(), leader.at()}, lost, 0)
		for range 100 {
			time.Sleep(100 * time.Millisecond)
			require.Equal(s.t, "learner", role())
		}
		<-added // the reply does not wait for that
		s.network.calm()
		s.eventually("it is a voter", func() bool { return role() == "follower" })
		s.same()
	})
}

// TestNothingIsAdded: servers that do not run are refused, and the group goes on.
func TestNothingIsAdded(t *testing.T) {
	play(t, 3, func(s *scene) {
		leader := s.leader()
		for _, id := range []string{"x", "y", "z"} {
			require.Contains(s.t, leader.ask("RAFT", "ADD", id, id+":1", id+":2").Str, errRefused.Error())
		}
		require.Contains(s.t, leader.ask("RAFT", "ADD", "x", s.others(leader)[0].peer.Raft, "x:2").Str, "has the address")
		require.Len(s.t, leader.ask("RAFT", "MEMBERS").Elems, 3)
		require.Equal(s.t, "OK", leader.ask("SET", "x", "1").Str)
	})
}
