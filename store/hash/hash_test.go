package hash

import (
	"fmt"
	"hash/maphash"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/store/cow"
	"lockserver/store/listpack"
	"lockserver/tests/testkit"
)

var limits = Limits{Entries: 128, Value: 64} // Redis' defaults

func newHash() *Edit { return newHashAt(&cow.Epoch{}) }

func newHashAt(ep *cow.Epoch) *Edit {
	e := New(&Common{Epoch: ep, Seed: maphash.MakeSeed()}, nil, 0)
	return &e
}

func newRand(t testing.TB) *rand.Rand {
	seed := testkit.Seed(t)
	return rand.New(rand.NewPCG(seed, 0))
}

func content(h *Hash) map[string]string {
	got := map[string]string{}
	h.Each(func(field, value []byte) bool {
		got[string(field)] = string(value)
		return true
	})
	return got
}

func TestEmpty(t *testing.T) {
	h := newHash()
	require.Zero(t, h.Len())
	require.Equal(t, "listpack", h.Encoding())
	_, ok := h.Get(nil, []byte("f"))
	require.False(t, ok)
	require.False(t, h.Has([]byte("f")))
	require.False(t, h.Delete([]byte("f")))
	require.Zero(t, h.ValueLen([]byte("f")))
	require.Empty(t, content(h.Hash))
	require.Zero(t, h.Clone(h.common, nil).Len())
	lp, ok := h.Listpack()
	require.True(t, ok)
	require.NoError(t, listpack.Validate(lp))
	require.Zero(t, lp.Len())
}

// TestConversion: the limits are inclusive, as in Redis.
func TestConversion(t *testing.T) {
	h := newHash()
	for i := range 128 {
		require.True(t, h.Set(limits, fmt.Append(nil, "f", i), []byte("v")))
	}
	require.Equal(t, "listpack", h.Encoding())
	require.False(t, h.Set(limits, []byte("f5"), []byte("other")))
	require.Equal(t, "listpack", h.Encoding())
	require.True(t, h.Set(limits, []byte("one more"), []byte("v")))
	require.Equal(t, "hashtable", h.Encoding())
	require.Equal(t, 129, h.Len())
	_, ok := h.Listpack()
	require.False(t, ok)
	for i := range 100 {
		require.True(t, h.Delete(fmt.Append(nil, "f", i)))
	}
	require.Equal(t, "hashtable", h.Encoding(), "the change is for good")

	long := []byte(strings.Repeat("x", 64))
	for _, c := range []struct {
		field, value []byte
		want         string
	}{
		{long, long, "listpack"},
		{append(long, 'x'), []byte("v"), "hashtable"},
		{[]byte("f"), append(long, 'x'), "hashtable"},
	} {
		h := newHash()
		h.Set(limits, c.field, c.value)
		require.Equal(t, c.want, h.Encoding())
		got, ok := h.Get(nil, c.field)
		require.True(t, ok)
		require.Equal(t, string(c.value), string(got))
	}

	h = newHash()
	h.SetInt(Limits{Entries: 10, Value: 3}, []byte("f"), 100)
	require.Equal(t, "listpack", h.Encoding())
	h.SetInt(Limits{Entries: 10, Value: 3}, []byte("f"), -100)
	require.Equal(t, "hashtable", h.Encoding(), "a number counts by its digits")
	h = newHash()
	h.Set(Limits{}, nil, nil)
	require.Equal(t, "hashtable", h.Encoding())
	h = newHash()
	h.Set(limits, []byte("a"), nil)
	h.Set(limits, []byte("b"), nil)
	h.Set(Limits{Entries: 1, Value: 64}, []byte("a"), []byte("1"))
	require.Equal(t, "hashtable", h.Encoding(), "a lowered limit counts at the next write")
}

func TestIntegers(t *testing.T) {
	for _, lim := range []Limits{limits, {}} {
		h := newHash()
		for text, want := range map[string]struct {
			n     int64
			isInt bool
		}{
			"0": {0, true}, "-1": {-1, true}, "127": {127, true}, "1234567890123456": {1234567890123456, true},
			"9223372036854775807": {math.MaxInt64, true}, "-9223372036854775808": {math.MinInt64, true},
			"9223372036854775808": {}, "-9223372036854775809": {}, "99999999999999999999": {}, "00": {}, "01": {}, "-0": {},
			"+1": {}, "": {}, "-": {}, " 1": {}, "1 ": {}, "1_0": {}, "0x1": {}, "1a1": {}, "1.0": {}, "one": {}, "--1": {},
		} {
			h.Set(lim, []byte("f"), []byte(text))
			n, isInt, ok := h.GetInt([]byte("f"))
			require.True(t, ok)
			require.Equal(t, want.isInt, isInt, "%q in a %s", text, h.Encoding())
			if isInt {
				require.Equal(t, want.n, n)
			}
			got, _ := h.Get(nil, []byte("f"))
			require.Equal(t, text, string(got))
			require.Equal(t, len(text), h.ValueLen([]byte("f")))
		}
		_, isInt, ok := h.GetInt([]byte("missing"))
		require.False(t, ok || isInt)
		for _, n := range []int64{0, 1, 127, 128, -4097, 1 << 40, math.MinInt64} {
			h.SetInt(lim, []byte("n"), n)
			got, isInt, _ := h.GetInt([]byte("n"))
			require.True(t, isInt)
			require.Equal(t, n, got)
		}
	}
}

func TestGetUsesScratchForIntegersOnly(t *testing.T) {
	h := newHash()
	h.Set(limits, []byte("7"), []byte("1234567"))
	h.Set(limits, []byte("s"), []byte("text"))
	scratch := make([]byte, 0, 64)
	v, _ := h.Get(scratch, []byte("7"))
	require.Equal(t, &scratch[:1][0], &v[0])
	field, value := h.At(0, scratch)
	require.Equal(t, "7", string(field))
	require.Equal(t, "1234567", string(value))
	require.Equal(t, &scratch[:2][1], &value[0])
	field, value = h.At(0, nil)
	require.Equal(t, "7=1234567", string(field)+"="+string(value))
	field, value = h.At(1, scratch)
	require.Equal(t, "s=text", string(field)+"="+string(value))
}

func TestWriteToASharedHeaderPanics(t *testing.T) {
	var ep cow.Epoch
	h := newHashAt(&ep)
	h.Set(limits, []byte("f"), []byte("v"))
	ep.Cut()
	require.Panics(t, func() { h.Set(limits, []byte("f"), []byte("w")) })
	require.Panics(t, func() { h.SetInt(limits, []byte("f"), 1) })
	require.Panics(t, func() { h.Delete([]byte("f")) })
	require.NotPanics(t, func() {
		clone := EditOf(h.common, nil, h.Clone(h.common, nil))
		clone.Set(limits, []byte("f"), []byte("w"))
	})
	ep.Release()
	require.NotPanics(t, func() { h.Set(limits, []byte("f"), []byte("w")) })
}

func TestHotPathsDoNotAllocate(t *testing.T) {
	h := newHash()
	owner, token, scratch := []byte("0f4c3bda-7bd1-4b0f-8f2e-1f2f3a4b5c6d:17"), []byte("$token"), make([]byte, 0, 64)
	h.SetInt(limits, owner, 1)
	h.SetInt(limits, token, 1234567890123456)
	for _, form := range []string{"listpack", "hashtable"} {
		require.Equal(t, form, h.Encoding())
		require.Zero(t, testing.AllocsPerRun(100, func() {
			h.Get(scratch, owner)
			h.Get(scratch, token)
			h.Has(owner)
			h.GetInt(token)
			h.ValueLen(token)
			h.At(1, scratch)
		}), form)
		if form == "listpack" {
			require.Zero(t, testing.AllocsPerRun(100, func() { h.SetInt(limits, owner, 2) }))
		}
		h.SetInt(Limits{}, owner, 3)
	}
	var lock Edit // outside, like a key's value, because it must not be on the stack
	// With the race detector there is one more allocation, which the compiler otherwise avoids.
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() {
		lock = New(h.common, nil, IntPairBytes(owner, 1)+IntPairBytes(token, 1234567))
		lock.SetInt(limits, owner, 1)
		lock.SetInt(limits, token, 1234567)
	}), 1.0+raceAllocs, "a lock is one piece")
	require.Equal(t, 2, lock.Len())
}

func BenchmarkLock(b *testing.B) {
	owner, token := []byte("0f4c3bda-7bd1-4b0f-8f2e-1f2f3a4b5c6d:17"), []byte("$token")
	common := &Common{Epoch: &cow.Epoch{}, Seed: maphash.MakeSeed()}
	acquire := func() Edit {
		h := New(common, nil, IntPairBytes(owner, 1)+IntPairBytes(token, 1234567890123456))
		h.SetInt(limits, owner, 1)
		h.SetInt(limits, token, 1234567890123456)
		return h
	}
	b.Run("create", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			acquire()
		}
	})
	h := acquire()
	b.Run("read both", func(b *testing.B) {
		for range b.N {
			if _, isInt, ok := h.GetInt(owner); !isInt || !ok {
				b.Fatal("owner")
			}
			if _, isInt, ok := h.GetInt(token); !isInt || !ok {
				b.Fatal("token")
			}
		}
	})
	b.Run("increment", func(b *testing.B) {
		for range b.N {
			n, _, _ := h.GetInt(owner)
			h.SetInt(limits, owner, (n+1)&63)
		}
	})
	b.Run("delete and set", func(b *testing.B) {
		for range b.N {
			h.Delete(owner)
			h.SetInt(limits, owner, 1)
		}
	})
}

func BenchmarkFill(b *testing.B) {
	for _, n := range []int{10, 128, 1000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			fields := make([][]byte, n)
			for i := range fields {
				fields[i] = fmt.Append(nil, "field:", i)
			}
			for range b.N {
				h := newHash()
				for _, f := range fields {
					h.Set(limits, f, f)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/field")
		})
	}
}
