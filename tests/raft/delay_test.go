package raft

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestDelayedEntriesSurviveTheirLeader: entries fall due while one leader after the other is cut off. The
// deposed leaders add some alone, which is nowhere afterwards. Each acknowledged entry is in the stream once,
// and not before its time.
func TestDelayedEntriesSurviveTheirLeader(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 3, nil)
	const each = 60
	due, acknowledged := map[string]int64{}, map[string]bool{}
	for round := range 3 {
		leader := g.leader()
		c := leader.dial()
		for i := range each {
			id := fmt.Sprint(round, "-", i)
			due[id] = time.Now().UnixMilli() + int64(i*20)
			v, err := c.Call("DELAY.ADD", "s", "AT", strconv.FormatInt(due[id], 10), "ID", id, "id", id)
			if err != nil {
				break
			}
			acknowledged[id] = v.Str == id
		}
		g.isolate(leader, true)
		g.leader(g.others(leader)...)
		g.isolate(leader, false)
	}
	eventually(t, "all entries are added", func() bool { return g.do("DELAY.COUNT", "s").String() == "0" })
	g.same()
	times := map[string]int{}
	for _, e := range g.do("XRANGE", "s", "-", "+").Elems {
		id := e.Elems[1].Elems[1].Str
		times[id]++
		ms, _, _ := strings.Cut(e.Elems[0].Str, "-")
		atMS, err := strconv.ParseInt(ms, 10, 64)
		require.NoError(t, err)
		require.GreaterOrEqual(t, atMS, due[id], "entry %s is early", id)
		require.Contains(t, due, id)
	}
	for id, n := range times {
		require.Equal(t, 1, n, "entry %s", id)
	}
	for id, is := range acknowledged {
		require.True(t, !is || times[id] == 1, "entry %s is lost", id)
	}
	require.Greater(t, len(acknowledged), each)
}
