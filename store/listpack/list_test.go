package listpack

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// collect walks forward and returns the elements as text.
func collect(l List) [][]byte {
	out := [][]byte{}
	for pos := l.First(); pos >= 0; pos = l.Next(pos) {
		out = append(out, l.Get(pos).Append([]byte{}))
	}
	return out
}

// check compares every way to read l with the model.
func check(t require.TestingT, l List, model [][]byte) {
	require.NoError(t, Validate(l))
	require.Equal(t, len(model), l.Len())
	require.Equal(t, len(l), l.Bytes())
	if got := collect(l); !slices.EqualFunc(model, got, bytes.Equal) {
		require.Equal(t, model, got)
	}
	size := headerSize + 1
	i := len(model)
	for pos := l.Last(); pos >= 0; pos = l.Prev(pos) {
		i--
		v := l.Get(pos)
		want, longer := model[i], append(model[i : i+1 : i+1][0], 'x')
		if got := v.Append([]byte{}); !bytes.Equal(want, got) || v.Len() != len(want) || !v.Equal(want) || v.Equal(longer) {
			require.Equal(t, want, got)
			require.Equal(t, len(want), v.Len())
			require.True(t, v.Equal(want))
			require.False(t, v.Equal(longer))
		}
		size += EncodedLen(model[i])
	}
	require.Zero(t, i, "backward walk met every element")
	require.Equal(t, size, l.Bytes())
}

// samples returns elements at the limits of every encoding.
func samples() [][]byte {
	var out [][]byte
	for _, n := range []int64{0, 1, 127, 128, -1, 4095, 4096, -4096, -4097, 32767, 32768, -32768, -32769,
		1<<23 - 1, 1 << 23, -1 << 23, -1<<23 - 1, math.MaxInt32, math.MaxInt32 + 1, math.MinInt32,
		math.MinInt32 - 1, math.MaxInt64, math.MinInt64} {
		out = append(out, strconv.AppendInt(nil, n, 10))
	}
	for _, s := range []string{"", "a", "-", "-0", "+1", "01", " 1", "1 ", "1.0", "9223372036854775808",
		"-9223372036854775809", "18446744073709551616", "99999999999999999999", "-00", "\xff", "\x00"} {
		out = append(out, []byte(s))
	}
	for _, n := range []int{63, 64, 125, 126, 127, 4095, 4096, 16376, 16377, 16378, 16379, 2097145, 2097146, 2097147} {
		out = append(out, bytes.Repeat([]byte("x"), n))
	}
	return out
}

func TestEverySizeOfElement(t *testing.T) {
	l, model := New(), [][]byte{}
	for _, b := range samples() {
		l, model = l.Append(b), append(model, b)
	}
	check(t, l, model)
	for i, b := range model {
		pos := l.Find(l.First(), b, 0)
		require.NotEqual(t, -1, pos, i)
		require.True(t, l.Get(pos).Equal(b))
	}
}

func TestIntegersAreStoredAsIntegers(t *testing.T) {
	for _, b := range samples() {
		l := New().Append(b)
		v := l.Get(l.First())
		n, err := strconv.ParseInt(string(b), 10, 64)
		canonical := err == nil && strconv.FormatInt(n, 10) == string(b)
		require.Equal(t, canonical, v.IsInt, "%.30q", b)
		if canonical {
			require.Equal(t, n, v.Int)
			require.Equal(t, l, New().AppendInt(n))
		}
	}
}

func TestEmpty(t *testing.T) {
	l := New()
	require.Equal(t, List{7, 0, 0, 0, 0, 0, 0xFF}, l)
	require.Equal(t, -1, l.First())
	require.Equal(t, -1, l.Last())
	require.Equal(t, -1, l.Find(l.First(), []byte("a"), 0))
	check(t, l, [][]byte{})
	check(t, l.Delete(6, 3), [][]byte{})
}

func TestFindSkips(t *testing.T) {
	l := New()
	for _, s := range []string{"a", "b", "b", "12", "12", "a"} {
		l = l.Append([]byte(s))
	}
	at := func(i int) int {
		pos := l.First()
		for ; i > 0; i-- {
			pos = l.Next(pos)
		}
		return pos
	}
	require.Equal(t, at(1), l.Find(at(0), []byte("b"), 0))
	require.Equal(t, at(2), l.Find(at(0), []byte("b"), 1))
	require.Equal(t, at(4), l.Find(at(0), []byte("12"), 1))
	require.Equal(t, -1, l.Find(at(1), []byte("a"), 2))
	require.Equal(t, at(5), l.Find(at(1), []byte("a"), 1))
	require.Equal(t, -1, l.Find(at(0), []byte("012"), 0))
	require.Equal(t, -1, l.Find(-1, []byte("a"), 0))
}

// TestForeignEncodings: only other writers encode an integer as a string, or wider than necessary. Such
// elements have their value.
func TestForeignEncodings(t *testing.T) {
	l := List{0, 0, 0, 0, 2, 0, 0x81, '5', 2, 0xF1, 5, 0, 3, 0xFF}
	l[0] = byte(len(l))
	require.NoError(t, Validate(l))
	require.Equal(t, 6, l.Find(6, []byte("5"), 0))
	require.Equal(t, 9, l.Find(9, []byte("5"), 0))
	check5 := l.ReplaceInt(9, 6).Replace(6, []byte("7"))
	check(t, check5, [][]byte{[]byte("7"), []byte("6")})
}

func TestCountBecomesUnknown(t *testing.T) {
	l := NewSize(3 * 65537)
	for range 65534 {
		l = l.AppendInt(7)
	}
	require.Equal(t, 65534, l.count())
	for i := range 3 {
		l = l.AppendInt(7)
		require.Equal(t, countUnknown, l.count())
		require.Equal(t, 65535+i, l.Len())
	}
	l = l.Delete(l.First(), 10)
	require.Equal(t, countUnknown, l.count())
	require.Equal(t, 65527, l.Len())
	require.NoError(t, Validate(l))
}

func TestCloneSharesNothing(t *testing.T) {
	l := New().Append([]byte("abc"))
	c := l.Clone()
	l = l.Replace(l.First(), []byte("xyz"))
	require.Equal(t, "abc", string(c.Get(c.First()).Bytes()))
	require.Equal(t, "xyz", string(l.Get(l.First()).Bytes()))
}

func TestReplaceOfEqualSizeIsInPlace(t *testing.T) {
	l := New().Append([]byte("abc")).AppendInt(1)
	r := l.Replace(l.First(), []byte("xyz"))
	r = r.ReplaceInt(r.Last(), 127)
	require.Same(t, &l[0], &r[0])
	r = l.Delete(l.First(), 1)
	require.Same(t, &l[0], &r[0], "shrinking does not reallocate")
}

func TestReadingDoesNotAllocate(t *testing.T) {
	l := New()
	for _, s := range []string{"mode", "exclusive", "6f5902ac-237d-44bf-9ee6-4b1c2a8a12a4:31", "1"} {
		l = l.Append([]byte(s))
	}
	field, absent, sum := []byte("6f5902ac-237d-44bf-9ee6-4b1c2a8a12a4:31"), []byte("12"), 0
	require.Zero(t, testing.AllocsPerRun(100, func() {
		pos := l.Find(l.First(), field, 1)
		v := l.Get(l.Next(pos))
		sum += int(v.Int) + l.Find(l.First(), absent, 1) + l.Prev(pos) + l.Len()
		l = l.ReplaceInt(l.Next(pos), v.Int%7+1)
	}))
	require.NotZero(t, sum)
}

func randomElement(r *rand.Rand) []byte {
	switch r.IntN(8) {
	case 0, 1, 2:
		return strconv.AppendInt(nil, int64(r.Uint64())>>r.IntN(64), 10)
	case 3:
		return []byte(strings.Repeat("y", 60+r.IntN(8)))
	case 4:
		return []byte(strings.Repeat("y", r.IntN(300)))
	case 5:
		if r.IntN(10) == 0 {
			return []byte(strings.Repeat("y", 4090+r.IntN(10)))
		}
		return []byte{}
	}
	return []byte(fmt.Sprintf("f%d", r.IntN(50)))
}

func TestModel(t *testing.T) {
	seed := testkit.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 30 {
		l, model := New(), [][]byte{}
		for range 200 {
			l, model = step(r, l, model)
			check(t, l, model)
		}
	}
}

// step makes one random change to the list and to the model.
func step(r *rand.Rand, l List, model [][]byte) (List, [][]byte) {
	b := randomElement(r)
	if len(model) == 0 || r.IntN(3) == 0 {
		return l.Append(b), append(model, b)
	}
	i := r.IntN(len(model))
	pos := l.First()
	for range i {
		pos = l.Next(pos)
	}
	switch r.IntN(5) {
	case 0:
		return l.Insert(pos, b), append(model[:i:i], append([][]byte{b}, model[i:]...)...)
	case 1:
		n := r.IntN(4)
		if r.IntN(20) == 0 {
			n = 1000
		}
		return l.Delete(pos, n), append(model[:i:i], model[min(i+n, len(model)):]...)
	case 2:
		n := int64(r.Uint64()) >> r.IntN(64)
		model[i] = strconv.AppendInt(nil, n, 10)
		return l.ReplaceInt(pos, n), model
	case 3:
		n := int64(r.Uint64()) >> r.IntN(64)
		return l.AppendInt(n), append(model, strconv.AppendInt(nil, n, 10))
	}
	model[i] = b
	return l.Replace(pos, b), model
}

func BenchmarkLockHash(b *testing.B) {
	l := New()
	for _, s := range []string{"mode", "exclusive", "6f5902ac-237d-44bf-9ee6-4b1c2a8a12a4:31", "1"} {
		l = l.Append([]byte(s))
	}
	field := []byte("6f5902ac-237d-44bf-9ee6-4b1c2a8a12a4:31")
	b.Run("find", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			pos := l.Find(l.First(), field, 1)
			_ = l.Get(l.Next(pos))
		}
	})
	b.Run("replace", func(b *testing.B) {
		b.ReportAllocs()
		n := int64(0)
		for b.Loop() {
			n++
			l = l.ReplaceInt(l.Last(), n&63)
		}
	})
	b.Run("build", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = NewSize(48).Append(field).AppendInt(1)
		}
	})
}

// TestNewPairBefore: the list is equal to the result of appends, and uses the given memory if that is large
// enough.
func TestNewPairBefore(t *testing.T) {
	others := New().Append([]byte("mode")).Append([]byte("12")).Append([]byte("limit"))
	for _, first := range samples() {
		for _, second := range [][]byte{[]byte("$5:1:0"), []byte("17"), bytes.Repeat([]byte("x"), 64), nil} {
			for _, n := range []int64{0, 127, 128, 5000, 100_000, 1e9, 1 << 40} {
				want := New().Append(first).Append(second).Append([]byte("mode")).Append([]byte("12")).Append([]byte("limit")).AppendInt(n)
				for _, size := range []int{0, MinBytes, len(want) - 1, len(want), len(want) + 20} {
					memory := bytes.Repeat([]byte{0xFF}, size)
					got := NewPairBefore(memory[:0], first, second, others, n)
					if !bytes.Equal(want, got) {
						require.Equal(t, want, got)
					}
					if size >= len(want) && &memory[0] != &got[0] {
						require.Fail(t, "the memory is not used", "%d bytes in %d", len(want), size)
					}
				}
			}
		}
	}
}

// TestNewBefore is TestNewPairBefore for one element.
func TestNewBefore(t *testing.T) {
	others := New().AppendInt(1).Append([]byte("token"))
	for _, first := range samples() {
		for _, n := range []int64{0, 127, 128, 5000, 100_000, 1e9, 1 << 40} {
			want := New().Append(first).AppendInt(1).Append([]byte("token")).AppendInt(n)
			for _, size := range []int{0, MinBytes, len(want) - 1, len(want), len(want) + 20} {
				memory := bytes.Repeat([]byte{0xFF}, size)
				got := NewBefore(memory[:0], first, others, n)
				require.Equal(t, want, got)
				if size >= len(want) {
					require.Same(t, &memory[0], &got[0])
				}
			}
		}
	}
}

// TestTwoInts: the element and the integers are found in lists of exactly this form, and in no others.
func TestTwoInts(t *testing.T) {
	text := func(s string) []byte { return []byte(s) }
	for n := int64(1); n > 0; n *= 3 {
		first, holds, token, ok := New().Append(text("owner")).AppendInt(-n).Append(text("token")).AppendInt(n).TwoInts(text("token"))
		require.True(t, ok)
		require.Equal(t, []any{"owner", -n, n}, []any{string(first), holds, token})
	}
	for name, l := range map[string]List{
		"empty": New(), "one": New().Append(text("a")).AppendInt(1), "more": New().Append(text("a")).AppendInt(1).Append(text("token")).AppendInt(1).AppendInt(1),
		"another": New().Append(text("a")).AppendInt(1).Append(text("tokem")).AppendInt(1), "a number first": New().AppendInt(7).AppendInt(1).Append(text("token")).AppendInt(1),
		"no number": New().Append(text("a")).Append(text("b")).Append(text("token")).AppendInt(1), "no last number": New().Append(text("a")).AppendInt(1).Append(text("token")).Append(text("b")),
		"long":      New().Append(bytes.Repeat(text("a"), 64)).AppendInt(1).Append(text("token")).AppendInt(1),
		"otherwise": New().Append(text("token")).AppendInt(1).Append(text("a")).AppendInt(1), "numbers": New().Append(text("a")).AppendInt(1).AppendInt(1).AppendInt(1),
	} {
		_, _, _, ok := l.TwoInts(text("token"))
		require.False(t, ok, name)
	}
}

// TestPairBefore: the two elements and the integer are found in lists of exactly this form, and in no others.
func TestPairBefore(t *testing.T) {
	text := func(s string) []byte { return []byte(s) }
	others := New().Append(text("mode")).Append(text("12")).Append(text("limit"))
	whole := func(first, second string) List {
		return New().Append(text(first)).Append(text(second)).Append(text("mode")).Append(text("12")).Append(text("limit"))
	}
	for n := int64(1); n > 0; n *= 3 {
		l := whole("owner", "$5:1:0").AppendInt(n)
		first, second, last, ok := l.PairBefore(others)
		require.True(t, ok)
		require.Equal(t, []any{"owner", "$5:1:0", n}, []any{string(first), string(second), last})
	}
	for name, l := range map[string]List{
		"empty": New(), "nothing else": others, "one more": whole("a", "b").AppendInt(5).AppendInt(5),
		"no integer": whole("a", "b").Append(text("x")), "nothing behind": whole("a", "b"), "a number first": whole("7", "b").AppendInt(5),
		"a number second": whole("a", "7").AppendInt(5), "long": whole(strings.Repeat("a", 64), "b").AppendInt(5),
		"long second": whole("a", strings.Repeat("b", 5000)).AppendInt(5),
		"another":     New().Append(text("a")).Append(text("b")).Append(text("mode")).Append(text("12")).Append(text("limix")).AppendInt(5),
		"ends before": New().Append(text("a")).Append(text("b")).Append(text("c")).Append(text("d")).Append(text("e")).Append(text("f")),
	} {
		_, _, _, ok := l.PairBefore(others)
		require.False(t, ok, name)
	}
	first, _, _, ok := whole(strings.Repeat("a", 63), "").AppendInt(5).PairBefore(others)
	require.True(t, ok)
	require.Len(t, first, 63)
}

// TestMove moves each range of elements to each place outside of it.
func TestMove(t *testing.T) {
	words := []string{"a", "12", strings.Repeat("long", 40), "-70000", "", "e"}
	for from := range words {
		for count := 1; from+count <= len(words); count++ {
			for to := 0; to <= len(words); to++ {
				if to >= from && to < from+count {
					continue
				}
				l, positions := New(), make([]int, 0, len(words)+1)
				for _, w := range words {
					positions = append(positions, len(l)-1)
					l = l.Append([]byte(w))
				}
				positions = append(positions, len(l)-1)
				l.Move(positions[from], count, positions[to])
				moved := words[from : from+count]
				want := slices.Concat(words[:from], words[from+count:])
				at := to
				if to > from {
					at -= count
				}
				want = slices.Insert(want, at, moved...)
				got := []string{}
				for pos := l.First(); pos >= 0; pos = l.Next(pos) {
					v := l.Get(pos)
					got = append(got, string(v.Text(nil)))
				}
				require.Equal(t, want, got, "%d elements from %d to %d", count, from, to)
				require.NoError(t, Validate(l))
			}
		}
	}
}
