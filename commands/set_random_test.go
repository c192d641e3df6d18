package commands

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
)

// fillSet makes a set of the members prefix0, prefix1, ...; with an empty prefix they are integers.
func fillSet(f *fixture, key, prefix string, n int) {
	args := []string{"SADD", key}
	for i := range n {
		args = append(args, prefix+strconv.Itoa(i))
	}
	f.want(strconv.Itoa(n), args...)
}

// bulks returns the strings of an array or a set.
func bulks(v resp.Value) []string {
	list := make([]string, 0, len(v.Elems))
	for _, e := range v.Elems {
		list = append(list, e.Str)
	}
	return list
}

func TestSRandMemberDrawsDistinctMembers(t *testing.T) {
	f := newFixture(t, SetRows)
	f.rand = testRand(t)
	for _, prefix := range []string{"", "m"} {
		for _, size := range containerSizes {
			key := prefix + "set" + strconv.Itoa(size)
			fillSet(f, key, prefix, size)
			for _, count := range []int{1, size / 5, size / 2, size - 1, size, size + 1} {
				seen := map[string]bool{}
				for _, m := range bulks(f.do("SRANDMEMBER", key, strconv.Itoa(count))) {
					f.want("1", "SISMEMBER", key, m)
					seen[m] = true
				}
				require.Len(t, seen, min(count, size))
			}
			for _, m := range bulks(f.do("SRANDMEMBER", key, strconv.Itoa(-2*size))) {
				f.want("1", "SISMEMBER", key, m)
			}
			f.want(strconv.Itoa(size), "SCARD", key)
		}
	}
}

func TestSRandMemberIsUniform(t *testing.T) {
	f := newFixture(t, SetRows)
	f.rand = testRand(t)
	for _, prefix := range []string{"", "m"} {
		for _, size := range []int{50, 600} {
			key := prefix + "set" + strconv.Itoa(size)
			fillSet(f, key, prefix, size)
			for name, draw := range map[string]func() []string{
				"one":         func() []string { return []string{f.do("SRANDMEMBER", key).Str} },
				"distinct":    func() []string { return bulks(f.do("SRANDMEMBER", key, "5")) },
				"independent": func() []string { return bulks(f.do("SRANDMEMBER", key, "-5")) },
			} {
				counts, n := make([]int, size), 0
				for n < 25*size {
					for _, m := range draw() {
						i, err := strconv.Atoi(strings.TrimPrefix(m, prefix))
						if err != nil {
							require.NoError(t, err)
						}
						counts[i]++
						n++
					}
				}
				t.Log(name, key)
				requireUniform(t, counts, n)
			}
		}
	}
}

func TestSPopTakesOutWhatItReplies(t *testing.T) {
	f := newFixture(t, SetRows)
	f.rand = testRand(t)
	for _, prefix := range []string{"", "m"} {
		for _, size := range containerSizes {
			fillSet(f, "s", prefix, size)
			popped := map[string]bool{}
			for left := size; left > 0; {
				var members []string
				if count := f.rand.IntN(size/4 + 2); count == 0 {
					members = []string{f.do("SPOP", "s").Str}
				} else {
					members = bulks(f.do("SPOP", "s", strconv.Itoa(count)))
					require.Len(t, members, min(count, left))
				}
				for _, m := range members {
					require.False(t, popped[m], "%q came twice", m)
					popped[m] = true
					f.want("0", "SISMEMBER", "s", m)
				}
				left -= len(members)
				f.want(strconv.Itoa(left), "SCARD", "s")
			}
			require.Len(t, popped, size)
			require.Zero(t, f.store.DB(0).Len(), "the key went with its last member")
		}
	}
}

func TestSPopIsUniform(t *testing.T) {
	f := newFixture(t, SetRows)
	f.rand = testRand(t)
	const size, rounds = 10, 1000
	for _, prefix := range []string{"", "m"} {
		first, last := make([]int, size), make([]int, size)
		for range rounds {
			fillSet(f, "s", prefix, size)
			order := bulks(f.do("SPOP", "s", "9"))
			order = append(order, f.do("SPOP", "s").Str)
			for counts, m := range map[*[]int]string{&first: order[0], &last: order[size-1]} {
				i, err := strconv.Atoi(strings.TrimPrefix(m, prefix))
				require.NoError(t, err)
				(*counts)[i]++
			}
		}
		requireUniform(t, first, rounds)
		requireUniform(t, last, rounds)
	}
}

func TestSPopEffects(t *testing.T) {
	f := newFixture(t, SetRows)
	f.want("1", "SADD", "s", "a")
	f.effects()
	f.want(`"a"`, "SPOP", "s")
	require.Equal(t, []string{"0 DEL s"}, f.effects())
	f.want("3", "SADD", "s", "1", "2", "3")
	f.effects()
	f.want("[]", "SPOP", "s", "0")
	f.want("$nil", "SPOP", "none")
	require.Empty(t, f.effects())
	popped := bulks(f.do("SPOP", "s", "2"))
	require.Equal(t, []string{"0 SREM s " + strings.Join(popped, " ")}, f.effects())
	f.do("SPOP", "s", "2")
	require.Equal(t, []string{"0 DEL s"}, f.effects())
}
