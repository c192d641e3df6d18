package commands

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// readByTwo returns a fixture with a stream of 1-0 to n-0. The groups g and h have read up to 3-0, without
// acknowledging anything.
func readByTwo(t *testing.T, n int) *fixture {
	t.Helper()
	f := newFixture(t, StreamRows, KeyRows)
	for id := range n {
		f.do("XADD", "s", strconv.Itoa(id+1), "f", "v")
	}
	for _, g := range []string{"g", "h"} {
		f.want("+OK", "XGROUP", "CREATE", "s", g, "0")
		f.do("XREADGROUP", "GROUP", g, "c", "COUNT", "3", "STREAMS", "s", ">")
	}
	return f
}

// idsOf returns the IDs of the entries in a reply of XRANGE or of XPENDING with a range.
func idsOf(f *fixture, call ...string) string {
	var ids []string
	for _, e := range f.do(call...).Elems {
		ids = append(ids, e.Elems[0].Str)
	}
	return strings.Join(ids, " ")
}

// left returns the entries of a stream and the pending entries of its groups g and h.
func left(f *fixture) string {
	return idsOf(f, "XRANGE", "s", "-", "+") + " | " + idsOf(f, "XPENDING", "s", "g", "-", "+", "9") +
		" | " + idsOf(f, "XPENDING", "s", "h", "-", "+", "9")
}

// TestStreamRefs is from the documentation of XDELEX, XACKDEL, XTRIM and XADD of Redis 8.2; the oracle is
// older. Each case begins with 1-0 to 4-0; both groups have 1-0 to 3-0 pending.
func TestStreamRefs(t *testing.T) {
	const noneActed = "1-0 2-0 3-0 4-0 | 1-0 2-0 3-0 | 1-0 2-0 3-0"
	for _, c := range []struct{ before, call, reply, left string }{
		{"", "XDELEX s IDS 2 1-0 9-0", "[1 -1]", "2-0 3-0 4-0 | 1-0 2-0 3-0 | 1-0 2-0 3-0"},
		{"", "XDELEX s keepref ids 1 1", "[1]", "2-0 3-0 4-0 | 1-0 2-0 3-0 | 1-0 2-0 3-0"},
		{"", "XDELEX s DELREF IDS 2 1-0 9-0", "[1 -1]", "2-0 3-0 4-0 | 2-0 3-0 | 2-0 3-0"},
		{"", "XDELEX s IDS 1 2-0 DELREF", "[1]", "1-0 3-0 4-0 | 1-0 3-0 | 1-0 3-0"},
		{"XDEL s 1", "XDELEX s DELREF IDS 1 1-0", "[-1]", "2-0 3-0 4-0 | 2-0 3-0 | 2-0 3-0"},
		{"", "XDELEX s ACKED IDS 3 1-0 4-0 0-1", "[2 2 -1]", noneActed},
		{"XACK s g 1", "XDELEX s ACKED IDS 1 1-0", "[2]", "1-0 2-0 3-0 4-0 | 2-0 3-0 | 1-0 2-0 3-0"},
		{"XACK s g 1,XACK s h 1", "XDELEX s ACKED IDS 1 1-0", "[1]", "2-0 3-0 4-0 | 2-0 3-0 | 2-0 3-0"},
		{"", "XDELEX none IDS 2 1-0 x", "[-1 -1]", noneActed},

		{"", "XACKDEL s g IDS 2 1-0 4-0", "[1 -1]", "2-0 3-0 4-0 | 2-0 3-0 | 1-0 2-0 3-0"},
		{"", "XACKDEL s g DELREF IDS 1 1-0", "[1]", "2-0 3-0 4-0 | 2-0 3-0 | 2-0 3-0"},
		{"", "XACKDEL s g ACKED IDS 2 1-0 2-0", "[2 2]", "1-0 2-0 3-0 4-0 | 3-0 | 1-0 2-0 3-0"},
		{"XACK s g 1", "XACKDEL s h ACKED IDS 2 1-0 2-0", "[1 2]", "2-0 3-0 4-0 | 2-0 3-0 | 3-0"},
		{"XDEL s 1", "XACKDEL s g IDS 1 1-0", "[1]", "2-0 3-0 4-0 | 2-0 3-0 | 1-0 2-0 3-0"},
		{"", "XACKDEL s none IDS 2 1-0 x", "[-1 -1]", noneActed},
		{"", "XACKDEL none g IDS 1 1-0", "[-1]", noneActed},

		{"", "XTRIM s MAXLEN 2 KEEPREF", "2", "3-0 4-0 | 1-0 2-0 3-0 | 1-0 2-0 3-0"},
		{"", "XTRIM s DELREF MAXLEN 2", "2", "3-0 4-0 | 3-0 | 3-0"},
		{"", "XTRIM s MINID = 3 DELREF", "2", "3-0 4-0 | 3-0 | 3-0"},
		{"", "XTRIM s MAXLEN 0 ACKED", "0", noneActed},
		{"XACK s g 1 3,XACK s h 1 3", "XTRIM s MAXLEN 0 ACKED", "2", "2-0 4-0 | 2-0 | 2-0"},
		{"XACK s g 1 3,XACK s h 1 3", "XTRIM s MAXLEN 3 ACKED", "1", "2-0 3-0 4-0 | 2-0 | 2-0"},
		{"XACK s g 2 3,XACK s h 2 3", "XTRIM s MINID 3 ACKED", "1", "1-0 3-0 4-0 | 1-0 | 1-0"},
		{"XACK s g 1,XACK s h 1", "XADD s ACKED MAXLEN 1 5 f v", `"5-0"`, "2-0 3-0 4-0 5-0 | 2-0 3-0 | 2-0 3-0"},
		{"", "XADD s MAXLEN 2 DELREF 5 f v", `"5-0"`, "4-0 5-0 |  | "},
	} {
		f := readByTwo(t, 4)
		for _, line := range strings.Split(c.before, ",") {
			if line != "" {
				f.do(strings.Fields(line)...)
			}
		}
		require.Equal(t, c.reply, f.do(strings.Fields(c.call)...).String(), c.call)
		require.Equal(t, c.left, left(f), "%s; %s", c.before, c.call)
	}
}

// TestStreamRefsRefused: combinations that are not allowed, with the error texts of Redis 8.2.
func TestStreamRefsRefused(t *testing.T) {
	f := readByTwo(t, 4)
	for call, err := range map[string]Error{
		"XDELEX s IDS 0 1-0":                   ErrStreamIDsCount,
		"XDELEX s IDS x 1-0":                   ErrStreamIDsCount,
		"XDELEX s IDS -5 1-0":                  ErrStreamIDsCount,
		"XDELEX s IDS 3 1-0 2-0":               ErrStreamIDsMatch,
		"XDELEX s IDS 1 1-0 2-0":               ErrSyntax,
		"XDELEX s IDS 2 1-0 x":                 ErrStreamID,
		"XDELEX s KEEPREF DELREF IDS 1 1-0":    ErrSyntax,
		"XDELEX s ACKED ACKED IDS 1 1-0":       ErrSyntax,
		"XDELEX s KEEPREF x IDS":               ErrSyntax,
		"XDELEX s KEEPREF KEEP REF":            ErrSyntax,
		"XDELEX s IDS 1":                       ErrArity("xdelex"),
		"XACKDEL s g IDS 3 1-0 2-0":            ErrStreamIDsMatch,
		"XACKDEL s g ACKED IDS 1 1-0 DELREF":   ErrSyntax,
		"XACKDEL s g IDS 1":                    ErrArity("xackdel"),
		"XACKDEL s g IDS 1 x":                  ErrStreamID,
		"XTRIM s MAXLEN 0 DELREF DELREF":       ErrSyntax,
		"XTRIM s DELREF ACKED":                 ErrSyntax,
		"XADD s DELREF ACKED MAXLEN 0 9 f v":   ErrStreamID,
		"XADD s DELREF MAXLEN 0 MINID 0 9 f v": ErrStreamMaxLenAndMinID,
	} {
		require.Equal(t, "-"+string(err), f.do(strings.Fields(call)...).String(), call)
	}
	require.Equal(t, "1-0 2-0 3-0 4-0 | 1-0 2-0 3-0 | 1-0 2-0 3-0", left(f))
}

// TestStreamAckedTrimCountsAsDeletion is about D60: an entry that is removed while an earlier one stays
// counts as deleted. A group's lag is then unknown, and not wrong.
func TestStreamAckedTrimCountsAsDeletion(t *testing.T) {
	f := readByTwo(t, 4)
	f.do("XACK", "s", "g", "1", "3")
	f.do("XACK", "s", "h", "1", "3")
	f.effects()
	f.want("2", "XTRIM", "s", "MAXLEN", "0", "ACKED")
	require.Equal(t, []string{"0 XTRIM s MAXLEN 3", "0 XDEL s 3-0"}, f.effects())
	require.Equal(t, "3-0", f.store.DB(0).Find([]byte("s")).Stream().MaxDeletedID().String())
}

// TestStreamRefsReplay: the effects of random calls give the same stream and the same pending entries.
func TestStreamRefsReplay(t *testing.T) {
	seed := testkit.Seed(t)
	rnd := rand.New(rand.NewPCG(seed, 0))
	f, g := smallNodes(newFixture(t, StreamRows)), smallNodes(newFixture(t, StreamRows))
	refs := []string{"KEEPREF", "DELREF", "ACKED"}
	removed := map[string]int{}
	for step := range testkit.Steps(400, 3000) {
		id := func() string { return strconv.Itoa(max(1, step-rnd.IntN(30))) }
		group, how := "g"+strconv.Itoa(rnd.IntN(2)), refs[rnd.IntN(3)]
		before := f.do("XLEN", "s").Int
		var call []string
		switch rnd.IntN(12) {
		case 0, 1, 2, 3:
			call = []string{"XADD", "s", strconv.Itoa(step + 1), "f", "v"}
		case 4, 5:
			call = []string{"XREADGROUP", "GROUP", group, "c", "COUNT", "50", "STREAMS", "s", ">"}
		case 6: // all groups acknowledge the latest entries, so that ACKED finds something to remove
			var done []string
			for n := range 30 {
				done = append(done, strconv.Itoa(max(1, step-n)))
			}
			f.do(append([]string{"XACK", "s", "g0"}, done...)...)
			call = append([]string{"XACK", "s", "g1"}, done[rnd.IntN(10):]...)
		case 7:
			call = []string{"XDELEX", "s", how, "IDS", "2", id(), id()}
		case 8:
			call = []string{"XACKDEL", "s", group, how, "IDS", "2", id(), id()}
		case 9:
			call = []string{"XTRIM", "s", "MAXLEN", strconv.Itoa(20 + rnd.IntN(10)), how}
		case 10:
			call = []string{"XTRIM", "s", "MINID", "~", id(), "LIMIT", "9", how}
		case 11:
			call = []string{"XGROUP", "CREATE", "s", group, "0", "MKSTREAM"}
		}
		f.do(call...)
		if after := f.do("XLEN", "s").Int; after < before {
			removed[call[0]]++
			removed[how]++
		}
		f.replayInto(g)
		require.Equal(t, streamState(f, "s", false), streamState(g, "s", false), "%q", call)
		for _, group := range []string{"g0", "g1"} {
			ask := []string{"XPENDING", "s", group, "-", "+", "10000"}
			require.Equal(t, f.do(ask...).String(), g.do(ask...).String(), "%q", call)
		}
	}
	for _, what := range append(refs, "XDELEX", "XACKDEL", "XTRIM") {
		require.Positive(t, removed[what], "%s never removed anything: %v", what, removed)
	}
}
