package hotkeys

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// TestSketchBound: for streams of all shapes, no sum is too high, and no sum is too low by more than the
// error. The error is at most 1/1024 of the total.
func TestSketchBound(t *testing.T) {
	t.Parallel()
	seed := maphash.MakeSeed()
	for round := range uint64(testkit.Steps(4, 10)) {
		random := rand.New(rand.NewPCG(round, 7))
		keys, shape, largest := 1+random.IntN(20_000), 1+4*random.Float64(), 1+random.Int64N(1000)
		var s Sketch
		var exact [Measures]map[string]int64
		exact[0], exact[1] = make(map[string]int64), make(map[string]int64)
		for range 50_000 {
			name := "key-" + strconv.Itoa(int(math.Pow(random.Float64(), shape)*float64(keys)))
			weights := Sums{random.Int64N(largest + 1), int64(random.IntN(2))}
			db := len(name) % 3
			counted := strconv.Itoa(db) + " " + name
			for i, w := range weights {
				exact[i][counted] += w
			}
			s.Add(maphash.String(seed, name), db, []byte(name), weights)
		}
		for i := range exact {
			checkBound(t, &s, i, exact[i])
		}
	}
}

func checkBound(t *testing.T, s *Sketch, measure int, exact map[string]int64) {
	t.Helper()
	total, most := int64(0), s.Error[measure]
	for _, sum := range exact {
		total += sum
	}
	require.Equal(t, total, s.Total[measure])
	require.LessOrEqual(t, most*Counters, total)
	top := s.Top(measure)
	require.True(t, slices.IsSortedFunc(top, func(a, b Key) int { return int(b.Sum - a.Sum) }))
	there := make(map[string]bool)
	for _, k := range top {
		name := fmt.Sprint(k.DB, " ", string(k.Key))
		require.LessOrEqual(t, k.Sum, exact[name])
		require.GreaterOrEqual(t, k.Sum+most, exact[name])
		there[name] = true
	}
	for name, sum := range exact {
		if !there[name] && sum > most+most/16 {
			require.Fail(t, "a key is missing", "%s has %d, the error is %d", name, sum, most)
		}
	}
}

// TestSketchSamples: in a long stream sums stay within their margins.
func TestSketchSamples(t *testing.T) {
	t.Parallel()
	seed, random := maphash.MakeSeed(), rand.New(rand.NewPCG(3, 3))
	var s Sketch
	exact := make(map[string]int64)
	for range 600_000 {
		name := "key-" + strconv.Itoa(int(math.Pow(random.Float64(), 4)*5000))
		exact[name]++
		s.Add(maphash.String(seed, name), 0, []byte(name), Sums{7, 1})
	}
	require.EqualValues(t, 600_000, s.Total[1])
	top := s.Top(1)[:20]
	for _, k := range top {
		name, margin := string(k.Key), s.Margin(1, k.Sum)
		require.Positive(t, margin)
		require.Less(t, margin, k.Sum/2)
		require.LessOrEqual(t, k.Sum-margin, exact[name], name)
		require.GreaterOrEqual(t, k.Sum+s.Error[1]+margin, exact[name], name)
	}
	require.Equal(t, "key-0", string(top[0].Key))
}

func TestSketchOfNothing(t *testing.T) {
	var s Sketch
	require.Empty(t, s.Top(0))
	s.Add(1, 0, []byte("k"), Sums{})
	s.Add(1, 0, []byte("k"), Sums{-5, 0})
	require.Empty(t, s.Top(0))
	require.Zero(t, s.Total)
	s.Add(1, 0, []byte("k"), Sums{3, -1})
	require.Equal(t, []Key{{Key: []byte("k"), Sum: 3}}, s.Top(0))
	require.Empty(t, s.Top(1))
	require.Zero(t, testing.AllocsPerRun(1000, func() { s.Add(1, 0, []byte("k"), Sums{3, 1}) }))
}

// TestSampling: sampling does not begin before 65,536 events, and a large weight is never sampled.
func TestSampling(t *testing.T) {
	var s Sketch
	weights := func(a, b int64) *Sums { return &Sums{a, b} }
	for range 1<<levels[0].part - 1 {
		require.True(t, s.Takes(weights(1, 1)))
		require.Zero(t, s.Margin(0, 100))
	}
	taken, sum := 0, int64(0)
	const more = 1 << 16
	for range more {
		if w := weights(1, 1); s.Takes(w) {
			taken++
			sum += w[0]
			require.Equal(t, Sums{levels[0].of, levels[0].of}, *w)
		}
	}
	require.InEpsilon(t, more/int(levels[0].of), taken, 0.1)
	require.InEpsilon(t, more, sum, 0.1)
	w := weights(s.Total[0], 0)
	require.True(t, s.Takes(w), "a large one counts as it is")
	require.Equal(t, Sums{s.Total[0] / 2, 0}, *w)
	require.InDelta(t, 4*math.Sqrt(float64(100*(levels[0].of-1))), s.Margin(0, 100), 1, "four standard deviations")
}

// lengthUS returns the length of a hold by a clock of whole microseconds. A short hold may end in the next
// microsecond.
func lengthUS(random *rand.Rand, meanUS float64) int64 {
	return int64(random.Float64() + random.ExpFloat64()*meanUS)
}

// TestWorkIsBounded: the number of events that are not sampled does not depend on the length of the holds. So
// it does not depend on the speed of the machine either. On a fast machine almost all lengths are 0.
func TestWorkIsBounded(t *testing.T) {
	t.Parallel()
	for _, meanUS := range []float64{0, 0.001, 0.05, 0.5, 1, 20, 10_000} {
		random := rand.New(rand.NewPCG(5, 8))
		var s Sketch
		events, whole, sampled := testkit.Steps(1<<20, 1<<24), 0, 0
		for range events {
			w := Sums{lengthUS(random, meanUS), 1}
			if s.Skips(w[0], w[1]) {
				continue
			}
			if taken := w; s.Takes(&taken) {
				if taken == w {
					whole++
				} else {
					sampled++
				}
			}
		}
		begins := float64(int(1) << levels[0].part)
		require.LessOrEqual(t, float64(whole), begins*(2+math.Log(1+float64(s.Total[0]))), "a mean of %v us", meanUS)
		require.LessOrEqual(t, sampled, events/int(levels[0].of)*5/4, "a mean of %v us", meanUS)
		require.LessOrEqual(t, float64(whole+sampled), float64(events)/4, "a mean of %v us", meanUS)
		t.Logf("a mean of %v us: %.2f %% looked at as they are, %.2f %% sampled", meanUS,
			100*float64(whole)/float64(events), 100*float64(sampled)/float64(events))
	}
}

// BenchmarkAdd measures an event of a long stream: the cost of a release, by the mean length of holds. The
// result includes the first million events, when sampling begins.
func BenchmarkAdd(b *testing.B) {
	for _, meanUS := range []float64{0, 0.05, 0.5, 50} {
		b.Run(fmt.Sprintf("mean=%v us", meanUS), func(b *testing.B) {
			const most = 1 << 20
			random := rand.New(rand.NewPCG(5, 8))
			lengths, hashes := make([]int64, most), make([]uint64, most)
			for i := range most {
				lengths[i], hashes[i] = lengthUS(random, meanUS), random.Uint64N(5000)
			}
			var s Sketch
			key := []byte("order:17")
			b.ResetTimer()
			for i := range b.N {
				w := Sums{lengths[i%most], 1}
				if !s.Skips(w[0], w[1]) && s.Takes(&w) {
					s.Put(hashes[i%most], 0, key, w)
				}
			}
		})
	}
}

// TestSkips: a sketch has the same figures whether the caller asks Skips first or not.
func TestSkips(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(2, 7))
	var with, without Sketch
	skipped := 0
	for i := range 9 << (levels[1].part - 3) {
		w := Sums{random.Int64N(1 + random.Int64N(100)), random.Int64N(2)}
		if i%10_000 == 0 {
			w[0] *= random.Int64N(1 << 20)
		}
		hash := random.Uint64N(5000)
		key := []byte{byte(hash), byte(hash >> 8)}
		without.Add(hash, 0, key, w)
		if with.Skips(w[0], w[1]) {
			skipped++
		} else {
			with.Add(hash, 0, key, w)
		}
	}
	require.Greater(t, skipped, 7<<(levels[1].part-3), "most are")
	with.takeBack()
	without.takeBack()
	require.Equal(t, without.skip, with.skip)
	require.Equal(t, without.Total, with.Total)
	require.Equal(t, without.Error, with.Error)
	require.Equal(t, without.spread, with.spread)
	for measure := range Measures {
		require.Equal(t, without.Top(measure), with.Top(measure))
	}
	require.False(t, new(Sketch).Skips(1, 1), "nothing is sampled yet")
	require.False(t, with.Skips(-1, 1), "an unknown length counts nothing")
}

// TestKth: kth returns the element that sorting would put at the index.
func TestKth(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 9))
	for range 2000 {
		a := make([]int64, 1+random.IntN(200))
		for i := range a {
			a[i] = random.Int64N(1 + random.Int64N(50))
		}
		sorted := slices.Clone(a)
		slices.Sort(sorted)
		k := random.IntN(len(a))
		require.Equal(t, sorted[k], kth(a, k))
		slices.Sort(a)
		require.Equal(t, sorted, a, "nothing is lost")
	}
}

// TestLongKeys: a long key is cut, and databases are separate.
func TestLongKeys(t *testing.T) {
	var s Sketch
	long := []byte(strings.Repeat("k", 2*mostText))
	s.Add(1, 0, long, Sums{5, 0})
	s.Add(1, 1, []byte("k"), Sums{3, 0})
	s.Add(1, 1, []byte("k"), Sums{3, 0})
	require.Equal(t, []Key{{1, []byte("k"), 6}, {0, long[:mostText], 5}}, s.Top(0))
}

// FuzzSketch runs TestSketchBound for any stream. Five bytes give a range of keys, and their weights.
func FuzzSketch(f *testing.F) {
	f.Add([]byte("\x00\x01\xff\x05\x01\x10\x00\xff\x01\x00\x20\x00\xff\x07\x03"))
	f.Add(bytes.Repeat([]byte("\x00\x00\xff\xff\x00\x40\x00\xff\x01\x01\x80\x00\xff\x02\x02"), 20))
	seed := maphash.MakeSeed()
	f.Fuzz(func(t *testing.T, data []byte) {
		var s Sketch
		exact := [Measures]map[string]int64{make(map[string]int64), make(map[string]int64)}
		for events := 0; len(data) >= 5; data = data[5:] {
			if events += int(data[2]) * 8; events >= 1<<levels[0].part {
				break
			}
			for i := range int(data[2]) * 8 {
				name, weights := fmt.Sprint(int(data[0])<<8+int(data[1])+i), Sums{int64(data[3]) - 1, int64(data[4]) << (data[3] % 32)}
				db := i % 2
				counted := strconv.Itoa(db) + " " + name
				for j, w := range weights {
					exact[j][counted] += max(0, w)
				}
				s.Add(maphash.String(seed, name), db, []byte(name), weights)
			}
		}
		for i := range exact {
			checkBound(t, &s, i, exact[i])
		}
	})
}
