//go:build raft && linux

package moves

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/keyslot"
	"lockserver/internal/resp"
	"lockserver/tests/fleet"
	"lockserver/tests/testkit"
)

// patience is how long something may take that happens by itself, on a busy machine.
const patience = 3 * time.Minute

// eventually waits until something is so.
func eventually(t testing.TB, what string, so func() bool) {
	t.Helper()
	for begun := time.Now(); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > patience {
			require.FailNow(t, "not so: "+what)
		}
	}
}

// membersOf is how many members a shard has.
const membersOf = 3

// cluster is a cluster of raft groups. Connections to members go through the network, except for
// commands of the test itself.
type cluster struct {
	t       *testing.T
	groups  []*fleet.Group
	network *network

	mu      sync.Mutex
	running []int // process ids by place; 0: it does not run
}

// start starts shards with equal parts of the slots. If wired, all connections go through a network that can
// be cut.
func start(t *testing.T, shards int, wired bool, conf string) *cluster {
	c := &cluster{t: t, running: make([]int, shards*membersOf)}
	c.network = &network{pids: c.pids, cuts: map[[2]int]bool{}}
	program := testkit.Lockserver(t)
	for range shards {
		c.groups = append(c.groups, fleet.Prepare(t, conf+"cluster-enabled yes\ninclude cluster\n", program, program, program))
	}
	for shard, g := range c.groups {
		if wired {
			c.wire(shard, g)
		}
	}
	for shard, g := range c.groups {
		before := c.groups[(shard+shards-1)%shards]
		var peers []string
		for _, p := range before.Members {
			peers = append(peers, "127.0.0.1:"+p.Announced)
		}
		text := fmt.Sprintf("cluster-name shop\ncluster-shard s%d\ncluster-slots %d-%d\ncluster-peers %q\n",
			shard+1, shard*keyslot.Count/shards, (shard+1)*keyslot.Count/shards-1, strings.Join(peers, " "))
		for _, p := range g.Members {
			require.NoError(t, os.WriteFile(filepath.Join(p.Dir(), "cluster"), []byte(text), 0o600))
		}
	}
	for place := range c.running {
		c.launch(place)
	}
	c.ready()
	return c
}

// wire gives the members of a shard addresses in the network.
func (c *cluster) wire(shard int, g *fleet.Group) {
	var all []string
	for i, p := range g.Members {
		place := shard*membersOf + i
		p.Announced = c.network.way(c.t, place, p.Addr())
		raft := c.network.way(c.t, place, g.RaftAt(p))
		all = append(all, fmt.Sprintf("%s=127.0.0.1:%s/127.0.0.1:%s", g.ID(p), raft, p.Announced))
	}
	for _, p := range g.Members {
		require.NoError(c.t, os.WriteFile(filepath.Join(p.Dir(), "members"), []byte("raft-members \""+strings.Join(all, " ")+"\"\n"), 0o600))
	}
}

// at returns the member at a place.
func (c *cluster) at(place int) *fleet.Process {
	return c.groups[place/membersOf].Members[place%membersOf]
}

func (c *cluster) launch(place int) {
	p := c.at(place)
	p.Launch()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running[place] = p.Pid()
}

func (c *cluster) kill(place int) {
	c.mu.Lock()
	c.running[place] = 0
	c.mu.Unlock()
	c.at(place).Kill()
}

func (c *cluster) pids() []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]int(nil), c.running...)
}

// addresses are those of all members for clients.
func (c *cluster) addresses() (all []string) {
	for _, g := range c.groups {
		for _, p := range g.Members {
			all = append(all, "127.0.0.1:"+p.Announced)
		}
	}
	return all
}

// leader returns the place of the member that leads a shard now; -1: none says so.
func (c *cluster) leader(shard int) int {
	for i := range membersOf {
		place := shard*membersOf + i
		if c.pids()[place] != 0 && strings.Contains(ask(c.at(place).Addr(), "RAFT", "INFO").Str, "raft_role:leader") {
			return place
		}
	}
	return -1
}

// ready waits until each shard has a leader that all its members follow, and all members know all slots.
func (c *cluster) ready() {
	c.t.Helper()
	for _, g := range c.groups {
		g.AwaitLeader()
	}
	for place := range c.running {
		eventually(c.t, fmt.Sprintf("the member %d knows the owner of each slot", place), func() bool {
			return strings.Contains(c.at(place).Try("CLUSTER", "INFO").Str, fmt.Sprintf("cluster_slots_ok:%d\r\n", keyslot.Count))
		})
	}
}

// owned returns which slots a member serves. ok is false if it does not answer for all of them.
func (c *cluster) owned(place int) (of [keyslot.Count]bool, ok bool) {
	nc, err := net.Dial("tcp", c.at(place).Addr())
	if err != nil {
		return of, false
	}
	conn := testkit.Connect(nc)
	defer conn.Close()
	var commands [][]string
	for slot := range of {
		commands = append(commands, []string{"EXISTS", tags()[slot]})
	}
	replies, err := conn.CallPipeline(commands)
	for slot, v := range replies {
		if v.IsError() && !strings.HasPrefix(v.Str, "MOVED") {
			return of, false
		}
		of[slot] = v.Kind == resp.Integer
	}
	return of, err == nil
}

// checkSlots waits until each slot is served by one shard, and no leader has a key of a slot of another one.
// It returns how many slots each shard has.
func (c *cluster) checkSlots() (counts []int) {
	c.t.Helper()
	eventually(c.t, "each slot is served by one shard", func() bool {
		counts = make([]int, len(c.groups))
		var times [keyslot.Count]int
		for shard := range c.groups {
			place := c.leader(shard)
			if place < 0 {
				return false
			}
			of, ok := c.owned(place)
			if !ok {
				return false
			}
			for slot, is := range of {
				if is {
					times[slot]++
					counts[shard]++
				}
			}
		}
		for _, n := range times {
			if n != 1 {
				return false
			}
		}
		return true
	})
	for shard := range c.groups {
		var foreign string
		eventually(c.t, "no shard has keys of slots of another one", func() bool {
			place := c.leader(shard)
			if place < 0 {
				return false
			}
			of, ok := c.owned(place)
			keys := ask(c.at(place).Addr(), "KEYS", "*")
			if !ok || keys.Kind != resp.Array {
				return false
			}
			for _, k := range keys.Elems {
				if !of[keyslot.Of([]byte(k.Str))] {
					if foreign != k.Str {
						foreign = k.Str
						c.t.Logf("s%d still has the key %s", shard+1, foreign)
					}
					return false
				}
			}
			return true
		})
	}
	return counts
}

// checkMembers compares the data of the members of each shard.
func (c *cluster) checkMembers() {
	c.t.Helper()
	for shard, g := range c.groups {
		var last string
		eventually(c.t, fmt.Sprintf("RAFT CHECK of s%d finds the members equal", shard+1), func() bool {
			v := g.AwaitLeader().TryWithin(patience, "RAFT", "CHECK")
			last = v.String()
			if v.IsError() || len(v.Elems) == 0 {
				return false
			}
			same := 0
			for _, row := range v.Elems { // an empty finding: the member was not compared this time
				require.Contains(c.t, []string{"", "same"}, row.Elems[7].Str, last)
				if row.Elems[7].Str == "same" {
					same++
				}
			}
			return same == membersOf
		})
	}
}
