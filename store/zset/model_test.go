package zset

import (
	"cmp"
	"hash/maphash"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/store/cow"
	"lockserver/tests/testkit"
)

var limits = Limits{Entries: 128, Value: 64} // Redis' defaults

func newCommon() *Common { return &Common{Epoch: &cow.Epoch{}, Seed: maphash.MakeSeed()} }

func newZSet() *Edit { return newZSetOf(newCommon()) }

func newZSetOf(c *Common) *Edit {
	e := New(c, nil)
	return &e
}

func newTableSet() *Edit {
	e := NewTable(newCommon(), nil)
	return &e
}

func newRand(t testing.TB) *rand.Rand {
	seed := testkit.Seed(t)
	return rand.New(rand.NewPCG(seed, 0))
}

// pair is a member with its score.
type pair struct {
	score  float64
	member string
}

// model is a sorted set as a sorted slice.
type model []pair

func compare(a, b pair) int {
	return cmp.Or(cmp.Compare(a.score, b.score), strings.Compare(a.member, b.member))
}

func (m model) index(member string) int {
	return slices.IndexFunc(m, func(it pair) bool { return it.member == member })
}

func (m *model) set(member string, score float64) {
	m.remove(member)
	at, _ := slices.BinarySearchFunc(*m, pair{score, member}, compare)
	*m = slices.Insert(*m, at, pair{score, member})
}

func (m *model) remove(member string) bool {
	at := m.index(member)
	if at >= 0 {
		*m = slices.Delete(*m, at, at+1)
	}
	return at >= 0
}

// source draws members and scores.
type source struct {
	rng    *rand.Rand
	kinds  int                // the number of different members
	scores int                // about the number of different scores; 1 means that all are 0
	has    map[string]float64 // the members that step has added, so that it need not search the model
	// rising makes rising scores; falling makes falling ones.
	rising, falling bool
}

func (r *source) member(lim Limits) string {
	n := r.rng.IntN(r.kinds)
	switch n % 5 {
	case 0:
		return strconv.Itoa(n)
	case 1:
		return strings.Repeat("m", n%(lim.Value+2)) + strconv.Itoa(n) + "x"
	case 2:
		return ""
	}
	return "m" + strconv.Itoa(n)
}

func (r *source) score(step int) float64 {
	switch {
	case r.rising:
		return float64(step)
	case r.falling:
		return float64(-step)
	case r.scores == 1:
		return 0
	}
	n := r.rng.IntN(r.scores)
	switch n % 11 {
	case 0:
		return math.Inf(1)
	case 1:
		return math.Inf(-1)
	case 2:
		return float64(n) / 7
	case 3:
		return -math.Ldexp(float64(n), 60) // too large for an integer in a listpack
	case 4:
		return math.Ldexp(1, -n)
	}
	return float64(n)
}

func (r *source) step(t testing.TB, i int, z *Edit, want *model, lim Limits) {
	member := r.member(lim)
	at := -1
	if score, ok := r.has[member]; ok {
		if at, ok = slices.BinarySearchFunc(*want, pair{score, member}, compare); !ok {
			t.Fatalf("the model has lost %q", member)
		}
	}
	score, ok := z.Score([]byte(member))
	if ok != (at >= 0) || ok && score != (*want)[at].score {
		t.Fatalf("Score of %q is %v %v", member, score, ok)
	}
	rank, _, ok := z.Rank([]byte(member))
	if ok != (at >= 0) || ok && rank != at {
		t.Fatalf("Rank of %q is %d %v, want %d", member, rank, ok, at)
	}
	if r.rng.IntN(5) < 3 {
		fresh := r.score(i)
		added, changed := z.Set(lim, []byte(member), fresh)
		if added != (at < 0) || changed != (at >= 0 && (*want)[at].score != fresh) {
			t.Fatalf("Set of %q is %v %v", member, added, changed)
		}
		if at >= 0 {
			*want = slices.Delete(*want, at, at+1)
		}
		at, _ = slices.BinarySearchFunc(*want, pair{fresh, member}, compare)
		*want = slices.Insert(*want, at, pair{fresh, member})
		if r.has == nil {
			r.has = make(map[string]float64)
		}
		r.has[member] = fresh
		return
	}
	if z.Remove([]byte(member)) != (at >= 0) {
		t.Fatalf("Remove of %q", member)
	}
	if at >= 0 {
		*want = slices.Delete(*want, at, at+1)
		delete(r.has, member)
	}
}

func content(z *ZSet) model {
	got := model{}
	z.Range(0, z.Len(), func(member []byte, score float64) bool {
		got = append(got, pair{score, string(member)})
		return true
	})
	return got
}

func contentDown(z *ZSet) model {
	got := model{}
	z.RangeDown(0, z.Len(), func(member []byte, score float64) bool {
		got = append(got, pair{score, string(member)})
		return true
	})
	slices.Reverse(got)
	return got
}

// verify compares the results of every way of walking and asking with the model.
func (r *source) verify(t testing.TB, z *Edit, want model, lim Limits) {
	t.Helper()
	require.NoError(t, z.check())
	require.Equal(t, len(want), z.Len())
	require.True(t, slices.Equal(want, content(z.ZSet)), "Range")
	require.True(t, slices.Equal(want, contentDown(z.ZSet)), "RangeDown")
	var at, picked, scanned model
	for i := range z.Len() {
		member, score := z.At(i, nil)
		at = append(at, pair{score, string(member)})
		member, score = z.Pick(i, nil)
		picked = append(picked, pair{score, string(member)})
	}
	for cursor := uint64(0); ; {
		cursor = z.Scan(cursor, 9, func(member []byte, score float64) {
			scanned = append(scanned, pair{score, string(member)})
		})
		if cursor == 0 {
			break
		}
	}
	slices.SortFunc(picked, compare)
	slices.SortFunc(scanned, compare)
	require.True(t, slices.Equal(want, at), "At")
	require.True(t, slices.Equal(want, picked), "Pick")
	require.True(t, slices.Equal(want, scanned), "Scan")
	if _, ok := z.Listpack(); ok {
		require.LessOrEqual(t, len(want), lim.Entries)
	}
	for range 20 {
		r.verifyRanges(t, z, want, lim)
	}
}

func (r *source) verifyRanges(t testing.TB, z *Edit, want model, lim Limits) {
	n := len(want)
	from, to := r.rng.IntN(n+1), r.rng.IntN(n+1)
	part, most := model{}, r.rng.IntN(n+1)
	each := func(member []byte, score float64) bool {
		part = append(part, pair{score, string(member)})
		return len(part) < most
	}
	z.Range(from, to, each)
	expect := want[from:max(from, to)]
	require.True(t, slices.Equal(expect[:min(len(expect), max(most, 1))], part), "part of Range")
	part = model{}
	z.RangeDown(from, to, each)
	slices.Reverse(part)
	require.True(t, slices.Equal(expect[len(expect)-len(part):], part), "part of RangeDown")
	require.Len(t, part, min(len(expect), max(most, 1)))

	scores := ScoreRange{Min: r.score(r.rng.IntN(2000)), Max: r.score(r.rng.IntN(2000)), MinOpen: r.rng.IntN(2) == 0, MaxOpen: r.rng.IntN(2) == 0}
	var in model
	for _, it := range want {
		if scores.Holds(it.score) {
			in = append(in, it)
		}
	}
	from, to = z.ByScore(scores)
	require.LessOrEqual(t, from, to)
	require.True(t, slices.Equal(in, want[from:to]), "%+v: %d..%d", scores, from, to)
	up := slices.IndexFunc(want, func(it pair) bool { return it.score > scores.Max })
	if up < 0 {
		up = n
	}
	member, score, ok := z.LastUpTo(scores.Max, nil)
	require.Equal(t, up > 0, ok, "up to %v", scores.Max)
	if ok {
		require.Equal(t, want[up-1], pair{score, string(member)}, "up to %v", scores.Max)
	}
	if n > 0 && want[0].score == want[n-1].score {
		r.verifyLex(t, z, want, lim)
	}
}

func (r *source) bound(lim Limits) LexBound {
	return LexBound{Member: []byte(r.member(lim)), Open: r.rng.IntN(2) == 0, Infinite: max(r.rng.IntN(10)-8, -1) * (1 - 2*r.rng.IntN(2)) * r.rng.IntN(2)}
}

func (r *source) verifyLex(t testing.TB, z *Edit, want model, lim Limits) {
	lex := LexRange{Min: r.bound(lim), Max: r.bound(lim)}
	var in model
	for _, it := range want {
		above := lex.Min.Infinite < 0 || lex.Min.Infinite == 0 && (it.member > string(lex.Min.Member) || !lex.Min.Open && it.member == string(lex.Min.Member))
		below := lex.Max.Infinite > 0 || lex.Max.Infinite == 0 && (it.member < string(lex.Max.Member) || !lex.Max.Open && it.member == string(lex.Max.Member))
		if above && below {
			in = append(in, it)
		}
	}
	for _, down := range []bool{false, true} {
		from, to := z.ByLex(lex, down)
		require.LessOrEqual(t, from, to)
		require.True(t, slices.Equal(in, want[from:to]), "%+v: %d..%d", lex, from, to)
	}
}

func TestAgainstModel(t *testing.T) {
	rng := newRand(t)
	for _, lim := range []Limits{limits, {Entries: 20, Value: 10}, {Entries: 2000, Value: 100}, {}} {
		for _, r := range []*source{
			{rng: rng, kinds: 10, scores: 5}, {rng: rng, kinds: 150, scores: 1}, {rng: rng, kinds: 150, scores: 60},
			{rng: rng, kinds: 1500, scores: 1}, {rng: rng, kinds: 1500, scores: 1000},
			{rng: rng, kinds: 900, rising: true}, {rng: rng, kinds: 900, falling: true},
		} {
			z, want := newZSet(), model{}
			for i := range 2500 {
				r.step(t, i, z, &want, lim)
				if i%500 == 0 {
					r.verify(t, z, want, lim)
				}
			}
			r.verify(t, z, want, lim)
			r.verify(t, &Edit{z.Copy(z.common, nil), z.common, nil}, want, lim)
		}
	}
}

// TestLargeAgainstModel grows a tree to three levels, in order and out of order, and empties it again.
func TestLargeAgainstModel(t *testing.T) {
	rng := newRand(t)
	n := testkit.Steps(16_000, 40_000)
	for _, order := range []string{"random", "rising", "falling", "ends"} {
		z, all := newZSet(), make(model, n)
		for i := range all {
			score := map[string]int{"random": rng.IntN(n / 4), "rising": i / 3, "falling": -i / 3, "ends": i * (1 - 2*(i%2))}[order]
			all[i] = pair{float64(score), "m" + strconv.Itoa(i)}
			z.Set(limits, []byte(all[i].member), all[i].score)
		}
		r := &source{rng: rng, kinds: n, scores: n / 4}
		want := slices.Clone(all)
		slices.SortFunc(want, compare)
		r.verify(t, z, want, limits)
		for i := range n {
			rank, score, ok := z.Rank([]byte(want[i].member))
			if !ok || rank != i || score != want[i].score {
				t.Fatalf("rank of %v is %d %v", want[i], rank, ok)
			}
		}
		if order == "random" {
			rng.Shuffle(n, func(i, j int) { all[i], all[j] = all[j], all[i] })
		}
		for i, it := range all {
			if !z.Remove([]byte(it.member)) {
				t.Fatalf("%q is lost", it.member)
			}
			if i%(n/4) == 0 || i == n-30 {
				rest := slices.Clone(all[i+1:])
				slices.SortFunc(rest, compare)
				r.verify(t, z, rest, limits)
			}
		}
		require.Zero(t, z.Len())
		require.Nil(t, z.table().order.root)
	}
}

// TestSnapshotsAgainstModel cuts at random moments. The old header still has its content for another
// goroutine, while the clone is written to.
func TestSnapshotsAgainstModel(t *testing.T) {
	rng := newRand(t)
	for _, r := range []*source{{rng: rng, kinds: 50, scores: 10}, {rng: rng, kinds: 3000, scores: 500}, {rng: rng, kinds: 3000, rising: true}} {
		common := newCommon()
		z, want := newZSetOf(common), model{}
		for i := range 2 * r.kinds {
			r.step(t, i, z, &want, limits)
		}
		for range testkit.Steps(8, 15) {
			common.Epoch.Cut()
			frozen, old := slices.Clone(want), z.ZSet
			var seen, down model
			var length int
			var reader sync.WaitGroup
			reader.Go(func() { seen, down, length = content(old), contentDown(old), old.Len() })
			require.True(t, common.Epoch.Shared(z.Stamp()))
			z.ZSet = z.Clone(z.common, nil)
			require.False(t, common.Epoch.Shared(z.Stamp()))
			for i := range r.kinds {
				r.step(t, i, z, &want, limits)
			}
			reader.Wait()
			require.True(t, slices.Equal(frozen, seen))
			require.True(t, slices.Equal(frozen, down))
			require.True(t, slices.Equal(frozen, content(old)))
			require.Equal(t, len(frozen), length)
			common.Epoch.Release()
			r.verify(t, z, want, limits)
		}
	}
}

// FuzzOps runs a sequence of operations. A byte gives the operation and the length of the member, a byte the
// score, and the member follows.
func FuzzOps(f *testing.F) {
	f.Add([]byte("\x01a1\x02b12\x03cabc\x83abc\x8111"))
	f.Add([]byte("\x05z12345\x06y-99999\x85x12345\x04x1e10"))
	f.Fuzz(func(t *testing.T, ops []byte) {
		lim := Limits{Entries: 5, Value: 8}
		z, want := newZSet(), model{}
		for len(ops) > 1 {
			op, score := ops[0], float64(int8(ops[1]))/2
			n := min(int(op&0x1f), len(ops)-2)
			member := string(ops[2 : 2+n])
			ops = ops[2+n:]
			if op&0x80 == 0 {
				z.Set(lim, []byte(member), score)
				want.set(member, score)
			} else {
				require.Equal(t, want.remove(member), z.Remove([]byte(member)))
			}
			require.NoError(t, z.check())
		}
		require.True(t, slices.Equal(want, content(z.ZSet)))
		require.True(t, slices.Equal(want, contentDown(z.ZSet)))
	})
}
