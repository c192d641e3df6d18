//go:build raft && unix

package groups

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/tests/fleet"
	"lockserver/tests/testkit"
)

// TestMessages (D145): a message reaches the subscribers at all members of its shard, and none of another
// one. Sent to each shard, it reaches all subscribers.
func TestMessages(t *testing.T) {
	c := prepare(t, shard{"s1", "0-8191", 3}, shard{"s2", "8192-16383", 1}).start()
	c.awaitOwners(map[int]*fleet.Group{0: c.groups[0], 16383: c.groups[1]})
	leader, other := c.groups[0].AwaitLeader(), c.groups[1].Members[0]
	var here []*testkit.Client
	for _, p := range c.groups[0].Members {
		sub := testkit.Dial(t, dialTo(p))
		sub.Do("SUBSCRIBE", "news")
		here = append(here, sub)
	}
	there := testkit.Dial(t, dialTo(other))
	there.Do("SUBSCRIBE", "news")
	require.EqualValues(t, 1, leader.Try("PUBLISH", "news", "one").Int, "the subscribers at the member that is asked are counted")
	require.EqualValues(t, 1, other.Try("PUBLISH", "news", "two").Int)
	for _, sub := range here {
		require.Equal(t, "one", sub.Receive().Elems[2].Str)
	}
	require.Equal(t, "two", there.Receive().Elems[2].Str, "it did not get the message to the other shard")
}

// TestEqualIDs (D145): the members of two shards have the same ids. Each node of the cluster has its own id,
// which all members tell, and CLUSTER MYID is that of the member that is asked. A lead that is handed to an
// id goes to the member of the shard that is asked.
func TestEqualIDs(t *testing.T) {
	c := prepare(t, shard{"s1", "0-8191", 3}, shard{"s2", "8192-16383", 3}).start()
	c.awaitOwners(map[int]*fleet.Group{0: c.groups[0], 16383: c.groups[1]})
	ids := map[string]*fleet.Process{}
	for _, p := range c.all() {
		id := p.Try("CLUSTER", "MYID").Str
		require.Len(t, id, 40)
		require.Nil(t, ids[id], "two nodes have the id of %s", p.Addr())
		ids[id] = p
	}
	require.Len(t, ids, 6)
	for _, p := range c.all() {
		nodes := map[string]string{}
		for line := range strings.Lines(p.Try("CLUSTER", "NODES").Str) {
			words := strings.Fields(line)
			address, _, _ := strings.Cut(words[1], "@")
			nodes[words[0]] = address
		}
		require.Len(t, nodes, len(ids))
		for id, is := range ids {
			require.Equal(t, is.Addr(), nodes[id], "by %s", p.Addr())
		}
	}
	to := c.groups[0].Others(c.groups[0].AwaitLeader())[0]
	eventually(t, "the lead is handed on", func() bool {
		if is := c.groups[0].Leader(); is != to {
			is.TryWithin(patience, "RAFT", "TRANSFER", c.groups[0].ID(to))
		}
		return to.Field("raft_role") == "leader"
	})
	c.awaitOwners(map[int]*fleet.Group{0: c.groups[0], 16383: c.groups[1]})
}

// TestKeysOfADisputedSlot: a group serves a slot until it hears that another group owns the slot as well.
// Then it serves the slot no more. A backup has the keys, and a lone server reads it.
func TestKeysOfADisputedSlot(t *testing.T) {
	c := prepare(t, shard{"s1", "0-9000", 1}, shard{"s2", "8192-16383", 1})
	one, two := c.groups[0], c.groups[1]
	two.Members[0].Launch()
	eventually(t, "it serves the slot", func() bool { return two.Members[0].Try("SET", key(t, 9000), "early").String() == "+OK" })
	require.Equal(t, resp.Integer, two.Members[0].Try("LOCK", key(t, 8999), "me", "PX", "600000").Kind)
	one.Members[0].Launch()
	eventually(t, "the other group serves it", func() bool { return one.Members[0].Try("SET", key(t, 9000), "late").String() == "+OK" })
	eventually(t, "it is served no more", func() bool {
		return two.Members[0].Try("GET", key(t, 9000)).Str == "CLUSTERDOWN Hash slot not served"
	})
	dir := t.TempDir()
	out, err := tool(t, "snapshot", "save", filepath.Join(dir, "dump.rdb"), "--addr", two.Members[0].Addr())
	require.NoError(t, err, out)
	lone := testkit.StartLockserver(t, dir).Client(t)
	require.Equal(t, "early", lone.Do("GET", key(t, 9000)).Str)
	require.EqualValues(t, 1, lone.Do("EXISTS", key(t, 8999)).Int)
}
