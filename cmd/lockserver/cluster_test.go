package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/inspect"
	"lockserver/server/cluster"
)

// viewOf makes a cluster from the machines of its shards. The first machine of each has the leader; a machine
// with a minus sign has a member that does not answer.
func viewOf(shards ...string) *groupsView {
	v := &groupsView{Name: "shop"}
	for i, text := range shards {
		g := new(inspect.Group)
		for n, machine := range strings.Fields(text) {
			m := inspect.GroupMember{ID: machine, Client: fmt.Sprintf("%s:%d", strings.TrimPrefix(machine, "-"), 7000+i), Role: "follower"}
			if n == 0 {
				m.Role = "leader"
			}
			if machine[0] == '-' {
				m.Problem = "it does not answer"
			}
			g.Members = append(g.Members, m)
		}
		v.Shards = append(v.Shards, shardView{Name: fmt.Sprint("s", i+1), Group: g})
	}
	return v
}

// TestSpread: the leads of shards are spread over the machines that can have them, by few transfers.
func TestSpread(t *testing.T) {
	for _, tt := range []struct {
		shards []string
		moves  string
	}{
		{[]string{"a b c"}, ""},
		{[]string{"a b c", "b c a", "c a b"}, ""},
		{[]string{"a b c", "a b c", "a b c"}, "s1 a b, s2 a c"},
		{[]string{"a b", "a b"}, "s1 a b"},
		{[]string{"a b", "a b", "b a"}, ""},
		{[]string{"a -b c", "a -b c", "a -b c"}, "s1 a c"},
		{[]string{"a -b", "a -b"}, ""},
		{[]string{"a", "a", "a"}, ""},
		{[]string{"a b", "a b", "a b", "a b", "a c", "a c"}, "s1 a b, s2 a b, s5 a c, s6 a c"},
	} {
		v := viewOf(tt.shards...)
		var moves []string
		for _, m := range v.spread() {
			moves = append(moves, fmt.Sprintf("%s %s %s", m.shard, m.from, m.to))
			require.Equal(t, m.to, m.member)
			require.Contains(t, m.leader, m.from+":")
		}
		require.Equal(t, tt.moves, strings.Join(moves, ", "), "%q", tt.shards)
	}
}

// TestSlotsOfTheCluster: slots of no shard, of a shard without a leader, and of two shards are faults.
func TestSlotsOfTheCluster(t *testing.T) {
	for _, tt := range []struct{ one, two, problem, fault string }{
		{"0-8191", "8192-16383", "", ""},
		{"0-8191", "8193-16383", "", "no shard serves the slots 8192"},
		{"0-8191", "8192-16383", "it is down", "the shard s2: it is down\nno shard serves the slots 8192-16383"},
		{"0-9000", "8000-16383", "", "two shards claim the slots 8000-9000"},
		{"0-8191", "0-8191", "", "no shard serves the slots 8192-16383\ntwo shards claim the slots 0-8191"},
	} {
		v := viewOf("a", "b")
		for i, text := range []string{tt.one, tt.two} {
			var err error
			v.Shards[i].ranges, err = cluster.ParseRanges(text)
			require.NoError(t, err)
		}
		v.Shards[1].Problem = tt.problem
		v.count()
		if err := v.fault(); tt.fault == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, tt.fault)
		}
	}
}
