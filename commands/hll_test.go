package commands

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/store/hll"
	"lockserver/tests/testkit"
)

func TestHyperLogLogScript(t *testing.T) {
	playScript(t, "testdata/hll.script", HyperLogLogRows, StringRows, KeyRows)
}

func newHyperLogLogs(t testing.TB) *fixture {
	return newFixture(t, HyperLogLogRows, StringRows, KeyRows)
}

func TestHyperLogLogEffects(t *testing.T) {
	f := newHyperLogLogs(t)
	for _, c := range []struct {
		call    string
		effects []string
	}{
		{"PFADD k", []string{"0 PFADD k"}},
		{"PFADD k", nil},
		{"PFADD k a b a", []string{"0 PFADD k a b"}},
		{"PFADD k a", nil},
		{"PFCOUNT k", []string{"0 SETRANGE k 8 \x02\x00\x00\x00\x00\x00\x00\x00"}},
		{"PFCOUNT k", nil},
		{"PFCOUNT k none", nil},
		{"PFADD j c d", []string{"0 PFADD j c d"}},
		{"PFMERGE k j none", []string{"0 PFMERGE k j none"}},
		{"PFCOUNT k", []string{"0 SETRANGE k 8 \x04\x00\x00\x00\x00\x00\x00\x00"}},
		{"PFDEBUG DECODE k", nil},
	} {
		f.do(strings.Fields(c.call)...)
		require.Equal(t, c.effects, f.effects(), c.call)
	}
	f.do("PFDEBUG", "TODENSE", "k")
	effects := f.store.TakeEffects()
	require.Len(t, effects, 1)
	require.Equal(t, "SET", string(effects[0].Args[0]))
	require.Equal(t, "KEEPTTL", string(effects[0].Args[3]))
}

// TestHyperLogLogsOverdue: an overdue key does not exist for these commands.
func TestHyperLogLogsOverdue(t *testing.T) {
	for _, c := range []struct{ call, reply string }{
		{"PFCOUNT k", "0"}, {"PFCOUNT k none", "0"}, {"PFADD k", "1"}, {"PFADD k a", "1"}, {"PFMERGE k none", "+OK"},
		{"PFDEBUG DECODE k", "-ERR The specified key does not exist"},
	} {
		f := newHyperLogLogs(t)
		f.do("PFADD", "k", "a", "b")
		f.do("PEXPIRE", "k", "10")
		f.nowMS += 11 // not f.advance, which would remove it
		f.store.SetNow(f.nowMS * 1000)
		f.want(c.reply, strings.Fields(c.call)...)
		require.Less(t, f.do("PTTL", "k").Int, int64(0), "%s has kept the deadline", c.call)
	}
}

// TestHyperLogLogReplay: the effects of random calls give the same bytes.
func TestHyperLogLogReplay(t *testing.T) {
	f, g := newHyperLogLogs(t), newHyperLogLogs(t)
	r := testRand(t)
	for range testkit.Steps(150, 400) {
		key, other := fmt.Sprint("k", r.IntN(3)), fmt.Sprint("k", r.IntN(3))
		switch r.IntN(6) {
		case 0:
			f.do("PFCOUNT", key)
		case 1:
			f.do("PFMERGE", key, other)
		case 2:
			if r.IntN(20) == 0 {
				f.do("DEL", key)
			}
		default:
			args := []string{"PFADD", key}
			for range r.IntN(30) {
				args = append(args, fmt.Sprint(r.IntN(20000)))
			}
			f.do(args...)
		}
	}
	for _, e := range f.store.TakeEffects() {
		require.False(t, g.client(1).run(e.Args).IsError(), "%q", e.Args)
	}
	for _, key := range []string{"k0", "k1", "k2"} {
		require.Equal(t, f.do("GET", key), g.do("GET", key), key)
	}
}

// TestHyperLogLogBecomesDense: a sparse value becomes dense beyond hll-sparse-max-bytes, and with a register
// above 32.
func TestHyperLogLogBecomesDense(t *testing.T) {
	f := newHyperLogLogs(t)
	limits := f.store.Limits()
	limits.HLL = hll.Limits{SparseBytes: 50}
	f.store.SetLimits(limits)
	for i := range 12 {
		f.do("PFADD", "k", fmt.Sprint(i))
		n := f.do("STRLEN", "k").Int
		require.True(t, n <= 50 || n == 12304, n)
	}
	f.want("+dense", "PFDEBUG", "ENCODING", "k")
	f.want("12", "PFCOUNT", "k")
}
