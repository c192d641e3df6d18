package zset

import (
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/store/listpack"
)

func of(lim Limits, items ...pair) *Edit {
	z := newZSet()
	for _, it := range items {
		z.Set(lim, []byte(it.member), it.score)
	}
	return z
}

func names(n int) (items []pair) {
	for i := range n {
		items = append(items, pair{float64(i * 37 % 1000), "user:" + strconv.Itoa(i)})
	}
	return items
}

func TestEmpty(t *testing.T) {
	z := newZSet()
	require.Zero(t, z.Len())
	require.Equal(t, "listpack", z.Encoding())
	_, ok := z.Score([]byte("a"))
	require.False(t, ok)
	_, _, ok = z.Rank([]byte("a"))
	require.False(t, ok)
	require.False(t, z.Remove([]byte("a")))
	require.Empty(t, content(z.ZSet))
	require.Empty(t, contentDown(z.ZSet))
	from, to := z.ByScore(ScoreRange{Min: math.Inf(-1), Max: math.Inf(1)})
	require.Equal(t, 0, to-from)
	from, to = z.ByLex(LexRange{Min: LexBound{Infinite: -1}, Max: LexBound{Infinite: 1}}, true)
	require.Equal(t, 0, to-from)
	require.Zero(t, z.Clone(z.common, nil).Len())
	require.Zero(t, z.Copy(z.common, nil).Len())
	lp, ok := z.Listpack()
	require.True(t, ok)
	require.Zero(t, lp.Len())
}

func TestEncodings(t *testing.T) {
	few := Limits{Entries: 3, Value: 4}
	for _, c := range []struct {
		name string
		z    *Edit
		want string
	}{
		{"small", of(few, pair{1, "a"}, pair{2, "bbbb"}, pair{3, "c"}), "listpack"},
		{"one too many", of(few, pair{1, "a"}, pair{2, "b"}, pair{3, "c"}, pair{4, "d"}), "skiplist"},
		{"the same again", of(few, pair{1, "a"}, pair{2, "b"}, pair{3, "c"}, pair{4, "c"}), "listpack"},
		{"too long", of(few, pair{1, "a"}, pair{2, "bbbbb"}), "skiplist"},
		{"no entries", of(Limits{Value: 10}, pair{1, "a"}), "skiplist"},
	} {
		require.Equal(t, c.want, c.z.Encoding(), c.name)
		_, ok := c.z.Listpack()
		require.Equal(t, c.want == "listpack", ok, c.name)
	}
	z := of(few, names(10)...)
	for _, it := range names(9) {
		require.True(t, z.Remove([]byte(it.member)))
	}
	require.Equal(t, "skiplist", z.Encoding(), "a table stays one")
	require.Equal(t, 1, z.Len())
}

// TestListpackOfRedis has the bytes of Redis 7.4.1 for ZADD z -0 a 4e18 b 5e18 c 9e18 d 1.5 e 1e300 f inf g
// 0.1 h -7 70. Integers up to 2^62 are stored as such, the sign of -0 is lost, and all other scores are text.
func TestListpackOfRedis(t *testing.T) {
	z := of(limits, pair{math.Copysign(0, -1), "a"}, pair{4e18, "b"}, pair{5e18, "c"}, pair{9e18, "d"}, pair{1.5, "e"},
		pair{1e300, "f"}, pair{math.Inf(1), "g"}, pair{0.1, "h"}, pair{-7, "70"})
	want := "55000000" + "1200" +
		"4601" + "dff902" + // "70" -7
		"816102" + "0001" +
		"816802" + "83302e3104" +
		"816502" + "83312e3504" +
		"816202" + "f40000909dceda823709" +
		"816302" + "8535652b313806" +
		"816402" + "8539652b313806" +
		"816602" + "8631652b33303007" +
		"816702" + "83696e6604" + "ff"
	lp, ok := z.Listpack()
	require.True(t, ok)
	require.Equal(t, want, hex.EncodeToString(lp))
	score, _ := z.Score([]byte("a"))
	require.False(t, math.Signbit(score))
	large := of(Limits{}, pair{math.Copysign(0, -1), "a"})
	score, _ = large.Score([]byte("a"))
	require.True(t, math.Signbit(score))
}

func TestFromListpack(t *testing.T) {
	lp := listpack.New()
	for i, it := range []string{"a", "b", "c"} {
		lp = lp.Append([]byte(it)).Append([]byte(strconv.Itoa(i) + ".5"))
	}
	z := FromListpack(newCommon(), nil, limits, lp.Clone())
	require.Equal(t, "listpack", z.Encoding())
	require.Equal(t, model{{0.5, "a"}, {1.5, "b"}, {2.5, "c"}}, content(z))
	z = FromListpack(newCommon(), nil, Limits{Entries: 2}, lp.Clone())
	require.Equal(t, "skiplist", z.Encoding())
	require.Equal(t, model{{0.5, "a"}, {1.5, "b"}, {2.5, "c"}}, content(z))
	require.NoError(t, z.check())
}

// TestCompact: a set that is small enough becomes a listpack, equal to a set that was a listpack from the
// beginning.
func TestCompact(t *testing.T) {
	few := Limits{Entries: 3, Value: 4}
	for _, c := range []struct {
		items []pair
		want  string
	}{
		{nil, "listpack"},
		{[]pair{{2, "b"}, {1, "a"}, {1.5, "dddd"}}, "listpack"},
		{[]pair{{2, "b"}, {1, "a"}, {1.5, "d"}, {0, "e"}}, "skiplist"},
		{[]pair{{2, "b"}, {1, "aaaaa"}}, "skiplist"},
	} {
		z := newTableSet()
		require.Equal(t, "skiplist", z.Encoding())
		for _, it := range c.items {
			z.Set(few, []byte(it.member), it.score)
		}
		before := content(z.ZSet)
		z.Compact(few)
		require.Equal(t, c.want, z.Encoding(), "%v", c.items)
		require.Equal(t, before, content(z.ZSet))
		require.NoError(t, z.check())
		if lp, ok := z.Listpack(); ok {
			grown, _ := of(few, c.items...).Listpack()
			require.Equal(t, grown, lp)
		}
	}
	z := newTableSet()
	z.Set(few, []byte("a"), math.Copysign(0, -1))
	score, _ := z.Score([]byte("a"))
	require.True(t, math.Signbit(score))
	z.Compact(few)
	score, _ = z.Score([]byte("a"))
	require.False(t, math.Signbit(score))
}

// TestScoresReadBack: parsing the text of a score in a listpack or an effect gives the same score.
func TestScoresReadBack(t *testing.T) {
	rng := newRand(t)
	scores := []float64{0, 1, -1, 0.1, 1.0 / 3, math.MaxFloat64, math.SmallestNonzeroFloat64, 1e17, 123456789012345678, 1 << 53, 1<<53 + 2,
		1 << 62, 1 << 63, -1 << 62, math.Inf(1), math.Inf(-1)}
	for range 2000 {
		if f := math.Float64frombits(rng.Uint64()); f == f {
			scores = append(scores, f)
		}
	}
	for _, score := range scores {
		f, err := strconv.ParseFloat(string(AppendScore(nil, score)), 64)
		require.NoError(t, err)
		require.Equal(t, score, f)
		require.Equal(t, score, scoreOf(packedScore(make([]byte, maxScore), score)))
		require.LessOrEqual(t, len(AppendScore(nil, score)), maxScore-2)
	}
	require.Equal(t, "-0", string(AppendScore(nil, math.Copysign(0, -1))))
	require.Equal(t, "inf -inf 0.10000000000000001 1e+17", fmt.Sprintf("%s %s %s %s", AppendLong(nil, math.Inf(1)),
		AppendLong(nil, math.Inf(-1)), AppendLong(nil, 0.1), AppendLong(nil, 1e17)))
	require.Equal(t, "inf -inf 0.1 100000000000000000", fmt.Sprintf("%s %s %s %s", AppendScore(nil, math.Inf(1)),
		AppendScore(nil, math.Inf(-1)), AppendScore(nil, 0.1), AppendScore(nil, 1e17)))
}

// TestByLexOfUnlikeScores has the results of Redis' listpacks for ranges by member that are not defined.
func TestByLexOfUnlikeScores(t *testing.T) {
	z := of(limits, pair{1, "d"}, pair{2, "a"}, pair{3, "c"}, pair{4, "b"}, pair{5, "e"})
	for _, c := range []struct {
		min, max string
		down     bool
		from, to int
	}{
		{"a", "d", false, 0, 4}, // d a c b, up to e
		{"a", "c", false, 0, 0}, // the first is above
		{"b", "d", false, 0, 4}, // d a c b: the lower end is not searched any more
		{"b", "d", true, 2, 4},  // b c, down to a
		{"f", "g", false, 0, 0}, // the last is below
		{"a", "z", true, 0, 5},
	} {
		from, to := z.ByLex(LexRange{Min: LexBound{Member: []byte(c.min)}, Max: LexBound{Member: []byte(c.max)}}, c.down)
		require.Equal(t, [2]int{c.from, c.to}, [2]int{from, to}, "%+v", c)
	}
}

func TestMisusePanics(t *testing.T) {
	common := newCommon()
	z := newZSetOf(common)
	z.Set(limits, []byte("a"), 1)
	require.Panics(t, func() { z.Set(limits, []byte("b"), math.NaN()) })
	common.Epoch.Cut()
	require.Panics(t, func() { z.Set(limits, []byte("b"), 1) })
	require.Panics(t, func() { z.Remove([]byte("a")) })
	require.NotPanics(t, func() { clone := EditOf(z.common, nil, z.Clone(z.common, nil)); clone.Set(limits, []byte("b"), 1) })
	common.Epoch.Release()
	require.NotPanics(t, func() { z.Set(limits, []byte("b"), 1) })
}

func TestReadingDoesNotAllocate(t *testing.T) {
	scratch := make([]byte, 0, 32)
	for _, z := range []*Edit{of(limits, append(names(50), pair{0.1, "70"})...), of(limits, names(3000)...)} {
		for _, m := range []string{"70", "user:20", strings.Repeat("x", 70)} {
			member := []byte(m)
			require.Zero(t, testing.AllocsPerRun(100, func() {
				z.Score(member)
				z.Rank(member)
				z.At(7, scratch)
				z.Pick(z.Len()-1, scratch)
				z.ByScore(ScoreRange{Min: 5, Max: 70})
			}), "%s of %s", m, z.Encoding())
		}
	}
}

func BenchmarkMillion(b *testing.B) {
	const n = 1_000_000
	rng := newRand(b)
	z := newZSet()
	members := make([][]byte, n)
	for i := range members {
		members[i] = []byte("user:" + strconv.Itoa(i))
		z.Set(limits, members[i], float64(rng.IntN(n)))
	}
	b.Run("set", func(b *testing.B) {
		for b.Loop() {
			z.Set(limits, members[rng.IntN(n)], float64(rng.IntN(n)))
		}
	})
	b.Run("score", func(b *testing.B) {
		for b.Loop() {
			z.Score(members[rng.IntN(n)])
		}
	})
	b.Run("rank", func(b *testing.B) {
		for b.Loop() {
			z.Rank(members[rng.IntN(n)])
		}
	})
	b.Run("at", func(b *testing.B) {
		for b.Loop() {
			z.At(rng.IntN(n), nil)
		}
	})
	b.Run("byscore", func(b *testing.B) {
		for b.Loop() {
			z.ByScore(ScoreRange{Min: float64(rng.IntN(n)), Max: n})
		}
	})
}

func BenchmarkSmall(b *testing.B) {
	for _, n := range []int{5, 128} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			items := names(n)
			b.ReportAllocs()
			for b.Loop() {
				of(limits, items...)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/member")
		})
	}
}
