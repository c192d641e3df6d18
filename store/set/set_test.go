package set

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
	"lockserver/tests/testkit"
)

var limits = Limits{IntsetEntries: 512, Entries: 128, Value: 64} // Redis' defaults

func newSet() *Edit { return newSetAt(&cow.Epoch{}) }

func newSetAt(ep *cow.Epoch) *Edit {
	e := New(&Common{Epoch: ep, Seed: maphash.MakeSeed()}, nil)
	return &e
}

func newRand(t testing.TB) *rand.Rand {
	seed := testkit.Seed(t)
	return rand.New(rand.NewPCG(seed, 0))
}

func of(lim Limits, members ...string) *Edit {
	s := newSet()
	for _, m := range members {
		s.Add(lim, []byte(m))
	}
	return s
}

func numbers(n int) (members []string) {
	for i := range n {
		members = append(members, strconv.Itoa(i))
	}
	return members
}

func names(n int) (members []string) {
	for i := range n {
		members = append(members, "m"+strconv.Itoa(i))
	}
	return members
}

func content(s *Edit) []string {
	got := []string{}
	s.Each(func(member []byte) bool {
		got = append(got, string(member))
		return true
	})
	return got
}

func TestEmpty(t *testing.T) {
	s := newSet()
	require.Zero(t, s.Len())
	require.Equal(t, "intset", s.Encoding())
	require.False(t, s.Has([]byte("1")))
	require.False(t, s.Has([]byte("m")))
	require.False(t, s.Remove([]byte("1")))
	require.Empty(t, content(s))
	require.Zero(t, s.Clone(s.common, nil).Len())
	raw, ok := s.Intset()
	require.True(t, ok)
	require.Equal(t, []byte{2, 0, 0, 0, 0, 0, 0, 0}, raw)
}

// TestEncodings has the rules of Redis 7.2 and later for the change from one form to another (7.0 has no
// listpack for sets).
func TestEncodings(t *testing.T) {
	long := strings.Repeat("x", 64)
	few := Limits{IntsetEntries: 512, Entries: 3, Value: 4}
	for _, c := range []struct {
		name string
		set  *Edit
		want string
	}{
		{"numbers", of(limits, numbers(512)...), "intset"},
		{"a number too many", of(limits, numbers(513)...), "hashtable"},
		{"the intset's limit is its own", of(few, numbers(200)...), "intset"},
		{"a known number more", of(limits, append(numbers(512), "7")...), "intset"},
		{"a string among few numbers", of(limits, append(numbers(127), "m")...), "listpack"},
		{"a string among many numbers", of(limits, append(numbers(128), "m")...), "hashtable"},
		{"a string first", of(limits, "m"), "listpack"},
		{"numbers in a listpack", of(limits, "m", "1", "2"), "listpack"},
		{"strings", of(limits, names(128)...), "listpack"},
		{"a string too many", of(limits, names(129)...), "hashtable"},
		{"a known string more", of(limits, append(names(128), "m5")...), "listpack"},
		{"64 bytes", of(limits, long), "listpack"},
		{"65 bytes", of(limits, long+"x"), "hashtable"},
		{"65 bytes to numbers", of(limits, "1", long+"x"), "hashtable"},
		{"65 bytes to strings", of(limits, "m", long+"x"), "hashtable"},
		{"a number longer than the limit", of(few, "12345", "m"), "hashtable"},
		{"a negative number longer than the limit", of(few, "-1234", "5", "m"), "hashtable"},
		{"numbers as long as the limit", of(few, "-123", "1234", "m"), "listpack"},
		{"no listpack at all", of(Limits{IntsetEntries: 512}, "m"), "hashtable"},
		{"no intset at all", of(Limits{Entries: 128, Value: 64}, "1"), "hashtable"},
		{"no canonical number", of(limits, "01"), "listpack"},
	} {
		require.Equal(t, c.want, c.set.Encoding(), c.name)
	}
}

// TestFormsAreForGood: a set does not change back when members are removed.
func TestFormsAreForGood(t *testing.T) {
	s := of(limits, names(129)...)
	for _, m := range names(128) {
		require.True(t, s.Remove([]byte(m)))
	}
	require.Equal(t, "hashtable", s.Encoding())
	s = of(limits, "1", "m")
	require.True(t, s.Remove([]byte("m")))
	require.Equal(t, "listpack", s.Encoding())
	require.True(t, s.Has([]byte("1")))
}

// TestIntsetBytes compares with the content of a DUMP of Redis 7.0.
func TestIntsetBytes(t *testing.T) {
	for _, c := range []struct {
		set  *Edit
		want string
	}{
		{of(limits, "5", "-3", "300"), "\x02\x00\x00\x00\x03\x00\x00\x00\xfd\xff\x05\x00,\x01"},
		{of(limits, "5", "-3", "70000", "1"), "\x04\x00\x00\x00\x04\x00\x00\x00\xfd\xff\xff\xff\x01\x00\x00\x00\x05\x00\x00\x00p\x11\x01\x00"},
	} {
		raw, ok := c.set.Intset()
		require.True(t, ok)
		require.Equal(t, c.want, string(raw))
	}
	s := of(limits, "5", "-3", "70000", "9223372036854775807")
	s.Remove([]byte("5"))
	raw, _ := s.Intset()
	require.Equal(t, "\x08\x00\x00\x00\x03\x00\x00\x00\xfd\xff\xff\xff\xff\xff\xff\xffp\x11\x01\x00\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\x7f", string(raw))
	require.Equal(t, []string{"-3", "70000", "9223372036854775807"}, content(s))
	_, ok := of(limits, "m").Intset()
	require.False(t, ok)
	_, ok = of(limits, "1").Listpack()
	require.False(t, ok)
}

func TestMembersThatLookLikeNumbers(t *testing.T) {
	texts := []string{"0", "-1", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "00", "-0", "+1",
		"", "-", " 1", "1 ", "1_0", "1a1", "-9223372036854775809", "99999999999999999999"}
	for _, first := range [][]string{{"5"}, {"m"}, numbers(600)} {
		s := of(limits, first...)
		before := s.Len()
		added := 0
		for _, text := range texts {
			if s.Has([]byte(text)) {
				continue
			}
			require.True(t, s.Add(limits, []byte(text)), "%q", text)
			require.False(t, s.Add(limits, []byte(text)), "%q", text)
			require.True(t, s.Has([]byte(text)), "%q", text)
			added++
		}
		require.Equal(t, before+added, s.Len())
	}
}

func TestExtremes(t *testing.T) {
	s := of(limits, "0")
	for _, n := range []int64{math.MaxInt16, math.MinInt16, math.MaxInt16 + 1, math.MinInt16 - 1, math.MaxInt32, math.MinInt32,
		math.MaxInt32 + 1, math.MinInt32 - 1, math.MaxInt64, math.MinInt64} {
		require.False(t, s.Has(strconv.AppendInt(nil, n, 10)))
		require.False(t, s.Remove(strconv.AppendInt(nil, n, 10)))
		require.True(t, s.Add(limits, strconv.AppendInt(nil, n, 10)))
		require.True(t, s.Has(strconv.AppendInt(nil, n, 10)))
	}
	require.Equal(t, []string{"-9223372036854775808", "-2147483649", "-2147483648", "-32769", "-32768", "0", "32767", "32768",
		"2147483647", "2147483648", "9223372036854775807"}, content(s))
}

func TestWriteToASharedHeaderPanics(t *testing.T) {
	var ep cow.Epoch
	s := newSetAt(&ep)
	s.Add(limits, []byte("1"))
	ep.Cut()
	require.Panics(t, func() { s.Add(limits, []byte("2")) })
	require.Panics(t, func() { s.Remove([]byte("1")) })
	require.NotPanics(t, func() { clone := EditOf(s.common, nil, s.Clone(s.common, nil)); clone.Add(limits, []byte("2")) })
	ep.Release()
	require.NotPanics(t, func() { s.Add(limits, []byte("2")) })
}

func TestReadingDoesNotAllocate(t *testing.T) {
	scratch := make([]byte, 0, 32)
	for _, s := range []*Edit{of(limits, numbers(200)...), of(limits, append(names(50), "70")...), of(limits, names(300)...)} {
		for _, m := range []string{"70", "m20", "user:4711-1", "1a1"} {
			member := []byte(m)
			require.Zero(t, testing.AllocsPerRun(100, func() {
				s.Has(member)
				s.At(7, scratch)
				s.At(s.Len()-1, scratch)
			}), "%s of %s", m, s.Encoding())
		}
	}
}

func BenchmarkHas(b *testing.B) {
	for _, s := range []*Edit{of(limits, numbers(500)...), of(limits, names(100)...), of(limits, names(100_000)...)} {
		b.Run(fmt.Sprintf("%s/%d", s.Encoding(), s.Len()), func(b *testing.B) {
			member := append([]byte(nil), s.At(77, nil)...)
			for range b.N {
				if !s.Has(member) {
					b.Fatal("lost")
				}
			}
		})
	}
}

func BenchmarkAdd(b *testing.B) {
	for _, members := range [][]string{numbers(500), names(100), names(10_000)} {
		b.Run(fmt.Sprintf("%s/%d", of(limits, members...).Encoding(), len(members)), func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				of(limits, members...)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(members)), "ns/member")
		})
	}
}
