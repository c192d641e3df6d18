package commands

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/store"
	"lockserver/store/stream"
	"lockserver/tests/testkit"
)

// smallNodes makes nodes so small that a short test fills many of them.
func smallNodes(f *fixture) *fixture {
	f.store.SetLimits(store.Limits{Stream: stream.Limits{NodeMaxBytes: 4096, NodeMaxEntries: 3}})
	return f
}

// replayInto runs the effects of f since the last call, as a journal would.
func (f *fixture) replayInto(g *fixture) {
	f.t.Helper()
	for _, e := range f.store.TakeEffects() {
		v := g.client(1).run(e.Args)
		require.NotEqual(f.t, "-", v.String()[:1], "%q: %s", e.Args, v)
	}
}

// streamState returns all data of a stream. With layout it includes the bytes of its nodes.
func streamState(f *fixture, key string, layout bool) string {
	s := f.store.DB(0).Find([]byte(key)).Stream()
	if s == nil {
		return "none"
	}
	var b strings.Builder
	fmt.Fprint(&b, s.Len(), s.FirstID(), s.LastID(), s.MaxDeletedID(), s.EntriesAdded(), f.do("XRANGE", key, "-", "+"))
	if layout {
		for master, list := range s.Nodes() {
			fmt.Fprintf(&b, "\n%v %x", master, []byte(list))
		}
	}
	return b.String()
}

// randomEdit returns a call that may change the stream s. Its IDs are near that of the step.
func randomEdit(rnd *rand.Rand, step int, setIDs bool) []string {
	id := func() string { return strconv.Itoa(max(0, step-rnd.IntN(40))) }
	trim := func() []string {
		by := [][]string{{"MAXLEN", strconv.Itoa(rnd.IntN(30))}, {"MINID", id()}}[rnd.IntN(2)]
		switch rnd.IntN(4) {
		case 0:
			return []string{by[0], "~", by[1]}
		case 1:
			return []string{by[0], "~", by[1], "LIMIT", strconv.Itoa(rnd.IntN(12))}
		}
		return by
	}
	switch n := rnd.IntN(20); {
	case n < 3:
		return append([]string{"XTRIM", "s"}, trim()...)
	case n < 6:
		return []string{"XDEL", "s", id(), id(), id()}
	case n < 7:
		return append(append([]string{"XADD", "s"}, trim()...), strconv.Itoa(step)+"-*", "a", "b")
	case n < 8 && setIDs:
		return []string{"XSETID", "s", id(), "MAXDELETEDID", "1"}
	case n < 9 && setIDs:
		return []string{"XSETID", "s", id(), "ENTRIESADDED", "9223372036854775807"}
	case n < 10 && rnd.IntN(20) == 0:
		return []string{"DEL", "s"}
	}
	return []string{"XADD", "s", strconv.Itoa(step-rnd.IntN(3)) + "-*", strconv.Itoa(rnd.IntN(3)), "v"}
}

// TestStreamReplay: the effects of a run give the same stream, to the bytes of its nodes. With XSETID the
// bytes may differ, because it can set the last ID back to where deleted entries are.
func TestStreamReplay(t *testing.T) {
	for _, setIDs := range []bool{false, true} {
		seed := testkit.Seed(t)
		rnd := rand.New(rand.NewPCG(seed, 0))
		f, g := smallNodes(newFixture(t, StreamRows, KeyRows)), smallNodes(newFixture(t, StreamRows, KeyRows))
		changes := 0
		for step := range testkit.Steps(200, 1500) {
			call := randomEdit(rnd, step+3, setIDs)
			f.do(call...)
			before := streamState(g, "s", true)
			f.replayInto(g)
			after := streamState(g, "s", true)
			require.Equal(t, streamState(f, "s", !setIDs), streamState(g, "s", !setIDs), "%q", call)
			if before != after {
				changes++
			}
		}
		require.Greater(t, changes, testkit.Steps(50, 400))
	}
}

// TestStreamEffects has cases of replay that random calls may miss.
func TestStreamEffects(t *testing.T) {
	f := smallNodes(newFixture(t, StreamRows))
	want := func(effects []string, call ...string) {
		t.Helper()
		f.do(call...)
		require.Equal(t, effects, f.effects(), "%q", call)
	}
	want([]string{"0 XADD s 1-0 a b", "0 XTRIM s MAXLEN 0"}, "XADD", "s", "MAXLEN", "0", "1", "a", "b")
	for id := 2; id <= 9; id++ { // nodes 2 3 4, 5 6 7, 8 9
		want([]string{fmt.Sprintf("0 XADD s %d-0 a b", id)}, "XADD", "s", strconv.Itoa(id)+"-*", "a", "b")
	}
	want(nil, "XTRIM", "s", "MAXLEN", "~", "6")
	want([]string{"0 XTRIM s MINID 5-0"}, "XTRIM", "s", "MAXLEN", "~", "5")
	want([]string{"0 XDEL s 7-0 9-0"}, "XDEL", "s", "7", "4", "9")
	want(nil, "XDEL", "s", "7", "4", "9")
	want([]string{"0 XTRIM s MINID 7-0"}, "XTRIM", "s", "MINID", "7") // leaves a node without living entries
	want([]string{"0 XTRIM s MINID 8-0"}, "XTRIM", "s", "MINID", "8") // removes that node, and no entry
	want(nil, "XTRIM", "s", "MINID", "8")
	want(nil, "XSETID", "s", "8") // below the highest deleted ID
	want([]string{"0 XSETID s 10-0 ENTRIESADDED 7"}, "XSETID", "s", "10", "MAXDELETEDID", "0", "ENTRIESADDED", "7")
	want([]string{"0 XSETID s 10-0 MAXDELETEDID 1-0"}, "XSETID", "s", "10", "MAXDELETEDID", "1")
	want([]string{"0 XSETID s 8-0"}, "XSETID", "s", "8")
	want([]string{"0 XADD s 9-0 a b", "0 XTRIM s MINID 20-0"}, "XADD", "s", "MINID", "~", "20", "LIMIT", "0", "9", "a", "b")
	want(nil, "XADD", "none", "NOMKSTREAM", "*", "a", "b")
	want(nil, "XTRIM", "none", "MAXLEN", "0")
}
