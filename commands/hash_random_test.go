package commands

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// Sizes for both encodings of a hash: up to 512 fields it is compact, with more it is a table.
var containerSizes = []int{1, 2, 40, 600}

// fillHash makes a hash of fields f0, f1, ... with their numbers as values.
func fillHash(f *fixture, key string, n int) {
	args := []string{"HSET", key}
	for i := range n {
		args = append(args, "f"+strconv.Itoa(i), strconv.Itoa(i))
	}
	f.want(strconv.Itoa(n), args...)
}

func TestHRandFieldDrawsDistinctFields(t *testing.T) {
	f := newFixture(t, HashRows)
	f.rand = testRand(t)
	for _, size := range containerSizes {
		key := "h" + strconv.Itoa(size)
		fillHash(f, key, size)
		for _, count := range []int{1, size / 5, size / 2, size - 1, size, size + 1} {
			seen := map[string]bool{}
			for _, v := range f.do("HRANDFIELD", key, strconv.Itoa(count)).Elems {
				require.Equal(t, "1", f.do("HEXISTS", key, v.Str).String())
				seen[v.Str] = true
			}
			require.Len(t, seen, min(count, size))
		}
	}
}

func TestHRandFieldPairsFieldsWithTheirValues(t *testing.T) {
	f := newFixture(t, HashRows)
	f.rand = testRand(t)
	for _, size := range containerSizes {
		key := "h" + strconv.Itoa(size)
		fillHash(f, key, size)
		for _, count := range []int{1, size/3 + 1, size, -1, -3 * size} {
			f.do("HELLO", "2")
			flat := f.do("HRANDFIELD", key, strconv.Itoa(count), "WITHVALUES").Elems
			require.Len(t, flat, 2*min(max(count, -count), max(size, -count)))
			for i := 0; i < len(flat); i += 2 {
				require.Equal(t, flat[i].Str, "f"+flat[i+1].Str)
			}
			f.do("HELLO", "3")
			for _, pair := range f.do("HRANDFIELD", key, strconv.Itoa(count), "WITHVALUES").Elems {
				require.Len(t, pair.Elems, 2)
				require.Equal(t, pair.Elems[0].Str, "f"+pair.Elems[1].Str)
			}
		}
	}
}

func TestHRandFieldIsUniform(t *testing.T) {
	f := newFixture(t, HashRows)
	f.rand = testRand(t)
	for _, size := range []int{50, 600} {
		key := "h" + strconv.Itoa(size)
		fillHash(f, key, size)
		for name, draw := range map[string]func() []int{
			"one":         func() []int { return fieldNumbers(t, f.do("HRANDFIELD", key).Str) },
			"distinct":    func() []int { return fieldNumbers(t, bulks(f.do("HRANDFIELD", key, "5"))...) },
			"independent": func() []int { return fieldNumbers(t, bulks(f.do("HRANDFIELD", key, "-5"))...) },
		} {
			counts, n := make([]int, size), 0
			for n < 25*size {
				for _, i := range draw() {
					counts[i]++
					n++
				}
			}
			t.Log(name, size)
			requireUniform(t, counts, n)
		}
	}
}

func fieldNumbers(t *testing.T, fields ...string) []int {
	var numbers []int
	for _, field := range fields {
		n, err := strconv.Atoi(field[1:])
		require.NoError(t, err)
		numbers = append(numbers, n)
	}
	return numbers
}

// TestIndependentDrawsAreBounded: a reply that is too large is refused, where Redis would run out of memory.
func TestIndependentDrawsAreBounded(t *testing.T) {
	f := newFixture(t, HashRows, SetRows)
	f.settings.MaxStringBytes = 1 << 20
	f.want("1", "HSET", "h", "f", string(make([]byte, 1<<15)))
	f.want("1", "SADD", "s", string(make([]byte, 1<<15)))
	refused := "-" + string(ErrOutOfRange)
	f.want(refused, "HRANDFIELD", "h", "-9223372036854775807")
	f.want(refused, "HRANDFIELD", "h", "-4611686018427387903", "WITHVALUES")
	f.want(refused, "SRANDMEMBER", "s", "-9223372036854775807")
	f.want(refused, "SRANDMEMBER", "s", "-32")
	f.want(refused, "HRANDFIELD", "h", "-32", "WITHVALUES")
	require.Len(t, f.do("SRANDMEMBER", "s", "-5").Elems, 5)
}
