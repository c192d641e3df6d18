package bloom

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/store/cow"
	"lockserver/tests/testkit"
)

// TestMurmur is the check of SMHasher, with a known value for MurmurHash64A: the hash of the hashes of 0, 0
// 1, 0 1 2, ...
func TestMurmur(t *testing.T) {
	var key []byte
	var hashes []byte
	for i := range 256 {
		hashes = binary.LittleEndian.AppendUint64(hashes, murmur64A(key, uint64(256-i)))
		key = append(key, byte(i))
	}
	require.Equal(t, uint32(0x1F0D3804), uint32(murmur64A(hashes, 0)))
}

func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// fill adds n elements, counted from start, and requires that the filter finds them all.
func fill(t *testing.T, f *Filter, start, n uint64) {
	t.Helper()
	for i := range n {
		_, err := f.Add(number(start + i))
		require.NoError(t, err)
	}
	for i := range n {
		require.True(t, f.Has(number(start+i)))
	}
}

// TestErrorRate: every added element is found, and at most the agreed rate of others is, however often the
// filter grew.
func TestErrorRate(t *testing.T) {
	seed := testkit.Seed(t)
	rnd := rand.New(rand.NewPCG(seed, 0))
	for _, p := range []Params{{0.1, 100, 2}, {0.01, 1000, 2}, {0.01, 1000, 1}, {0.05, 50, 4}, {0.01, 5000, 0}, {0.3, 1000, 0}} {
		f, err := New(new(cow.Epoch), p)
		require.NoError(t, err)
		start, n := rnd.Uint64(), p.Capacity
		if p.Growth > 0 {
			n *= 10
		}
		fill(t, f, start, n)
		require.InEpsilon(t, float64(n), float64(f.Len()), 3*p.ErrorRate) // some new elements are taken for known ones
		const probes = 40_000
		wrong := 0
		for i := range uint64(probes) {
			if f.Has(number(start + n + i)) {
				wrong++
			}
		}
		// The rate is an average over filters: in a small one the bits may happen to be unfavourable.
		require.LessOrEqual(t, float64(wrong)/probes, p.ErrorRate*1.6, "%+v, %d sub-filters", p, f.Filters())
	}
}

// TestNumbers has the numbers that the documentation of BF.INFO shows for a filter of BF.ADD.
func TestNumbers(t *testing.T) {
	f, err := New(new(cow.Epoch), DefaultParams())
	require.NoError(t, err)
	require.Equal(t, []uint64{100, 240, 0, 2, 1}, []uint64{f.Capacity(), f.InfoBytes(), f.Len(), uint64(f.Growth()), uint64(f.Filters())})
	fill(t, f, 0, 150)
	require.Equal(t, 2, f.Filters())
	require.Equal(t, uint64(300), f.Capacity())
	require.Equal(t, f.links[0].rate/2, f.links[1].rate)
}

func TestFull(t *testing.T) {
	f, err := New(new(cow.Epoch), Params{ErrorRate: 0.001, Capacity: 3})
	require.NoError(t, err)
	fill(t, f, 0, 3)
	_, err = f.Add(number(9))
	require.ErrorIs(t, err, ErrFull)
	added, err := f.Add(number(1))
	require.NoError(t, err)
	require.False(t, added)
	for _, p := range []Params{{0.01, math.MaxUint64, 2}, {5e-324, 1 << 40, 0}, {0.01, 1 << 32, 0}} {
		_, err = New(new(cow.Epoch), p)
		require.ErrorIs(t, err, ErrTooLarge, "%+v", p)
	}
}

// copyOf returns a copy that was made through a dump.
func copyOf(t *testing.T, f *Filter) *Filter {
	t.Helper()
	g, err := FromHeader(new(cow.Epoch), f.Header())
	require.NoError(t, err)
	for place := int64(1); ; {
		b, next := f.Chunk(place)
		if next == 0 {
			require.Empty(t, b)
			return g
		}
		// In pieces that do not end at the ends of pages.
		for len(b) > 0 {
			n := min(len(b), 5000)
			place += int64(n)
			require.NoError(t, g.Load(place, b[:n]))
			b = b[n:]
		}
		require.Equal(t, next, place)
	}
}

// same requires that two filters have the same bits, and that their accounted size is right.
func same(t *testing.T, f, g *Filter) {
	t.Helper()
	require.Equal(t, f.Header(), g.Header())
	for i := range f.links {
		require.Equal(t, f.Bits(i), g.Bits(i))
	}
	for _, one := range []*Filter{f, g} {
		held := filterBytes
		for i := range one.links {
			held += linkBytes + 8*len(one.links[i].pages)
			for at, p := range one.links[i].pages {
				if p != nil {
					require.Len(t, p.b, one.links[i].pageLen(at))
					held += pageHeader + len(p.b)
				}
			}
		}
		require.Equal(t, held, one.Size())
	}
}

func TestDump(t *testing.T) {
	for _, n := range []uint64{0, 1, 100, 30_000} {
		f, err := New(new(cow.Epoch), Params{ErrorRate: 0.001, Capacity: 10_000, Growth: 2})
		require.NoError(t, err)
		fill(t, f, 0, n)
		same(t, f, copyOf(t, f))
		p := f.Parts()
		for i := range p.Links {
			p.Links[i].Data = f.Bits(i)
		}
		g, err := FromParts(new(cow.Epoch), p)
		require.NoError(t, err)
		same(t, f, g)
		same(t, f, f.Copy())
	}
}

// TestCut: a filter that a snapshot shares does not change while its clone is written to.
func TestCut(t *testing.T) {
	ep := new(cow.Epoch)
	f, err := New(ep, Params{ErrorRate: 0.01, Capacity: 50_000, Growth: 2})
	require.NoError(t, err)
	fill(t, f, 0, 20_000)
	ep.Cut()
	before := copyOf(t, f)
	require.True(t, ep.Shared(f.Stamp()))
	w := f.Clone()
	require.False(t, ep.Shared(w.Stamp()))
	fill(t, w, 20_000, 60_000)
	require.NoError(t, w.Load(9, []byte{1, 2, 3, 4, 5, 6, 7, 8}))
	same(t, before, f)
	ep.Release()
	require.Greater(t, w.Len(), f.Len())
}

func TestLoadRefused(t *testing.T) {
	f, err := New(new(cow.Epoch), DefaultParams())
	require.NoError(t, err)
	for _, c := range []struct {
		next int64
		n    int
		err  error
	}{{0, 0, ErrData}, {-1, 0, ErrData}, {4, 5, ErrData}, {5, 5, ErrNoLink}, {145, 1, nil}, {146, 1, ErrNoLink}, {146, 145, ErrLongChunk},
		{145, 144, nil}, {200, 100, ErrLongChunk}} {
		require.Equal(t, c.err, f.Load(c.next, make([]byte, c.n)), "%+v", c)
	}
	h := f.Header()
	for i := range h { // a header with a changed byte is either valid or refused
		for _, b := range []byte{0, 1, 0x7f, 0xff} {
			bad := append([]byte(nil), h...)
			bad[i] = b
			if g, err := FromHeader(new(cow.Epoch), bad); err == nil {
				g.Has([]byte("x"))
			}
		}
	}
	for _, bad := range [][]byte{nil, h[:19], h[:len(h)-1], append(h[:len(h):len(h)], 0)} {
		_, err := FromHeader(new(cow.Epoch), bad)
		require.ErrorIs(t, err, ErrData)
	}
}

func FuzzFromHeader(f *testing.F) {
	one, err := New(new(cow.Epoch), DefaultParams())
	require.NoError(f, err)
	f.Add(one.Header(), []byte("bits"), int64(5))
	f.Fuzz(func(t *testing.T, header, chunk []byte, next int64) {
		g, err := FromHeader(new(cow.Epoch), header)
		if err != nil {
			return
		}
		_ = g.Load(next, chunk)
		if g.InfoBytes() < 1<<16 {
			if _, err := g.Add(chunk); err == nil {
				require.True(t, g.Has(chunk))
			}
			same(t, g, g.Copy())
		}
		require.Equal(t, header, append(g.Header()[:0:0], header...))
	})
}
