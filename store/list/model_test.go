package list

import (
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

func newRand(t testing.TB) *rand.Rand {
	seed := testkit.Seed(t)
	return rand.New(rand.NewPCG(seed, 0))
}

// model runs the same operations on a list and on a slice.
type model struct {
	t    testing.TB
	rng  *rand.Rand
	lim  Limits
	l    *Edit
	want []string
	// kinds is the number of different elements, long the length of the longest in bytes.
	kinds, long int
}

func (m *model) element() string {
	n := m.rng.IntN(m.kinds)
	switch n % 4 {
	case 0:
		return strconv.Itoa(n)
	case 1:
		return strconv.Itoa(-n << 20)
	case 2:
		return strings.Repeat("x", m.rng.IntN(m.long+1)) + strconv.Itoa(n)
	}
	return strings.Repeat("y", n%(m.long+1))
}

func (m *model) elements(most int) (bytes [][]byte, texts []string) {
	for range 1 + m.rng.IntN(most) {
		e := m.element()
		bytes, texts = append(bytes, []byte(e)), append(texts, e)
	}
	return bytes, texts
}

// step makes one random change. In grow of ten cases the list may grow.
func (m *model) step(grow int) {
	side := Side(m.rng.IntN(2))
	if len(m.want) == 0 || m.rng.IntN(10) < grow {
		if len(m.want) > 0 && m.rng.IntN(3) == 0 {
			i, after, e := m.rng.IntN(len(m.want)), m.rng.IntN(2) == 0, m.element()
			m.l.Insert(m.lim, i, after, []byte(e))
			m.want = slices.Insert(m.want, beside(i, after), e)
			return
		}
		bytes, texts := m.elements(5)
		m.l.Push(m.lim, side, bytes...)
		if side == Left {
			slices.Reverse(texts)
			m.want = append(texts, m.want...)
		} else {
			m.want = append(m.want, texts...)
		}
		return
	}
	m.shrink(side)
}

func (m *model) shrink(side Side) {
	switch n := len(m.want); m.rng.IntN(8) {
	case 0:
		i, e := m.rng.IntN(n), m.element()
		m.l.Set(m.lim, i, []byte(e))
		m.want[i] = e
	case 1:
		e, most := m.element(), m.rng.IntN(4)
		if m.rng.IntN(2) == 0 {
			e = m.want[m.rng.IntN(n)]
		}
		require.Equal(m.t, m.removeEqual(e, side, most), m.l.RemoveEqual(m.lim, []byte(e), side, most))
	case 2:
		i := m.rng.IntN(n)
		k := m.rng.IntN(min(n-i, 1+n/8) + 1)
		m.l.Remove(m.lim, i, k)
		m.want = slices.Delete(m.want, i, i+k)
	default: // pop
		k := min(n, 1+m.rng.IntN(3))
		i := 0
		if side == Right {
			i = n - k
		}
		m.l.Remove(m.lim, i, k)
		m.want = slices.Delete(m.want, i, i+k)
	}
}

// removeEqual is RemoveEqual for the slice.
func (m *model) removeEqual(e string, from Side, most int) (removed int) {
	keep := []string{}
	if from == Right {
		slices.Reverse(m.want)
	}
	for _, s := range m.want {
		if s == e && (most == 0 || removed < most) {
			removed++
			continue
		}
		keep = append(keep, s)
	}
	if from == Right {
		slices.Reverse(keep)
	}
	m.want = keep
	return removed
}

// verify compares every way of reading the list with the slice.
func (m *model) verify() {
	t, l := m.t, m.l
	t.Helper()
	check(t, l, m.lim)
	require.Equal(t, len(m.want), l.Len())
	require.True(t, slices.Equal(m.want, content(l)), "to the right")
	_, ok := l.Index(len(m.want))
	require.False(t, ok)
	_, ok = l.Index(-len(m.want) - 1)
	require.False(t, ok)
	if len(m.want) == 0 {
		return
	}
	for range 5 {
		i := m.rng.IntN(len(m.want))
		v, ok := l.Index(i)
		require.True(t, ok)
		require.Equal(t, m.want[i], string(v.Append(nil)))
		v, ok = l.Index(i - len(m.want))
		require.True(t, ok)
		require.Equal(t, m.want[i], string(v.Append(nil)))
		n, left := m.rng.IntN(i+1)+1, []string{}
		l.Range(i, n, Left, func(v Value) bool {
			left = append(left, string(v.Append(nil)))
			return true
		})
		slices.Reverse(left)
		require.True(t, slices.Equal(m.want[i+1-n:i+1], left), "to the left")
		m.verifyMatches(m.want[i])
	}
}

func (m *model) verifyMatches(e string) {
	most := m.rng.IntN(len(m.want) + 2)
	var left, right []int
	m.l.Matches([]byte(e), Left, most, func(i int) bool {
		left = append(left, i)
		return true
	})
	m.l.Matches([]byte(e), Right, 0, func(i int) bool {
		right = append(right, i)
		return len(right) < 3
	})
	var all, some []int
	for i, s := range m.want {
		if s == e {
			all = append(all, i)
			if most == 0 || i < most {
				some = append(some, i)
			}
		}
	}
	require.Equal(m.t, some, left)
	slices.Reverse(all)
	require.Equal(m.t, all[:min(len(all), 3)], right)
}

// shapes lists limits and elements that give lists of every form.
var shapes = []struct {
	lim         Limits
	kinds, long int
}{
	{Limits{Fill: -2}, 1000, 40},
	{Limits{Fill: -1}, 10, 600},
	{Limits{Fill: -5}, 1000, 3000},
	{Limits{Fill: 0}, 5, 3},
	{Limits{Fill: 1}, 20, 30},
	{Limits{Fill: 4}, 100, 5},
	{Limits{Fill: 128}, 100, 300},
	{Limits{Fill: 128}, 100, 9000},
	{Limits{Fill: -2, Large: 50}, 40, 60},
	{Limits{Fill: 3, Large: 5}, 40, 6},
}

func TestAgainstModel(t *testing.T) {
	rng := newRand(t)
	for _, s := range shapes {
		m := &model{t: t, rng: rng, lim: s.lim, l: newList(&cow.Epoch{}), kinds: s.kinds, long: s.long}
		for _, grow := range []int{3, 8, 2, 9, 1} {
			for i := range 600 {
				m.step(grow)
				if i%testkit.Steps(150, 50) == 0 {
					m.verify()
				}
			}
			m.verify()
			m.l.List = m.l.Copy(m.l.ep, nil)
		}
	}
}

// TestSnapshotsAgainstModel cuts at random moments. The old header still has its content for another
// goroutine, while the clone is written to.
func TestSnapshotsAgainstModel(t *testing.T) {
	rng := newRand(t)
	for _, s := range shapes {
		var ep cow.Epoch
		m := &model{t: t, rng: rng, lim: s.lim, l: newList(&ep), kinds: s.kinds, long: s.long}
		for i := range 300 {
			m.step(9)
			if i%60 != 0 {
				continue
			}
			ep.Cut()
			frozen, old := slices.Clone(m.want), m.l
			var seen []string
			var length int
			var reader sync.WaitGroup
			reader.Go(func() { seen, length = content(old), old.Len() })
			require.True(t, ep.Shared(m.l.Stamp()))
			m.l = &Edit{m.l.Clone(&ep, nil), &ep, nil}
			require.False(t, ep.Shared(m.l.Stamp()))
			for range 100 {
				m.step(5)
			}
			reader.Wait()
			require.True(t, slices.Equal(frozen, seen))
			require.Equal(t, len(frozen), length)
			require.True(t, slices.Equal(frozen, content(old)), "after the writer is done")
			ep.Release()
			m.verify()
		}
	}
}

func TestWriteToASharedHeaderPanics(t *testing.T) {
	var ep cow.Epoch
	l := newList(&ep)
	ep.Cut()
	for _, write := range []func(){
		func() { l.Push(DefaultLimits(), Left, []byte("a")) },
		func() { l.Insert(DefaultLimits(), 0, false, []byte("a")) },
		func() { l.Set(DefaultLimits(), 0, []byte("a")) },
		func() { l.Remove(DefaultLimits(), 0, 0) },
		func() { l.RemoveEqual(DefaultLimits(), nil, Left, 0) },
	} {
		require.PanicsWithValue(t, "list: write to a header that a snapshot reads", write)
	}
}

// FuzzOps runs a sequence of operations. Three bytes give the operation, the place, and the length of the
// element.
func FuzzOps(f *testing.F) {
	f.Add([]byte("\x00\x00\x03\x01\x00\x05\x02\x01\x08\x03\x00\x01\x04\x00\x02"))
	f.Add([]byte("\x10\x00\x28\x11\x00\x28\x12\x01\x28\x15\x00\x00"))
	f.Fuzz(func(t *testing.T, ops []byte) {
		lim := Limits{Fill: 3, Large: 40}
		l, want := newList(&cow.Epoch{}), []string{}
		for ; len(ops) >= 3; ops = ops[3:] {
			e := strings.Repeat(string('0'+rune(ops[2]%10)), int(ops[2]%48))
			side, at := Side(ops[0]>>4&1), int(ops[1])
			if len(want) > 0 {
				at %= len(want)
			}
			switch op := ops[0] % 8; {
			case len(want) == 0 || op < 3:
				l.Push(lim, side, []byte(e))
				if side == Left {
					want = slices.Insert(want, 0, e)
				} else {
					want = append(want, e)
				}
			case op == 3:
				l.Insert(lim, at, side == Right, []byte(e))
				want = slices.Insert(want, beside(at, side == Right), e)
			case op == 4:
				l.Set(lim, at, []byte(e))
				want[at] = e
			case op == 5:
				m := model{want: want}
				require.Equal(t, m.removeEqual(e, side, at%3), l.RemoveEqual(lim, []byte(e), side, at%3))
				want = m.want
			default:
				l.Remove(lim, at, min(int(op)-5, len(want)-at))
				want = slices.Delete(want, at, min(at+int(op)-5, len(want)))
			}
			check(t, l, lim)
			require.Equal(t, want, content(l))
		}
	})
}
