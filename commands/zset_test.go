package commands

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestZSetScript(t *testing.T) {
	playScript(t, "testdata/zset.script", ZSetRows, SetRows, HashRows, StringRows, KeyRows)
}

// TestZSetNewerScript plays what Redis 7.2 documents; the script says where.
func TestZSetNewerScript(t *testing.T) {
	playDocumented(t, "testdata/zset_newer.script", ZSetRows, StringRows)
}

// TestZSetEffects: the journal gets the commands that a plain Redis needs to make the same change, with the
// final scores and members.
func TestZSetEffects(t *testing.T) {
	f := newFixture(t, ZSetRows)
	for _, c := range []struct{ command, want string }{
		{"ZADD z 1 a 2 b 0.1 c", "0 ZADD z 1 a 2 b 0.1 c"},
		{"ZADD z CH 1 a 3 b inf d", "0 ZADD z 3 b inf d"},
		{"ZADD z NX 9 a", ""},
		{"ZADD z GT 0 a 4 b", "0 ZADD z 4 b"},
		{"ZINCRBY z 0.2 c", "0 ZADD z 0.30000000000000004 c"},
		{"ZINCRBY z 0 a", ""},
		{"ZADD z INCR -0 e", "0 ZADD z -0 e"},
		{"ZREM z e none d", "0 ZREM z e d"},
		{"ZREMRANGEBYSCORE z 4 +inf", "0 ZREM z b"},
		{"ZPOPMIN z", "0 ZREM z c"},
		{"ZPOPMAX z 5", "0 DEL z"},
		{"ZADD z 1 a 2 b 3 c 4 d", "0 ZADD z 1 a 2 b 3 c 4 d"},
		{"ZREMRANGEBYRANK z 1 2", "0 ZREM z b c"},
		{"ZRANGESTORE y z 0 -1", "0 ZADD y 1 a 4 d"},
		{"ZUNIONSTORE y 2 y z WEIGHTS 1 2", "0 DEL y, 0 ZADD y 3 a 12 d"},
		{"ZINTERSTORE y 2 y none", "0 DEL y"},
		{"BZMPOP 0 1 z MAX COUNT 1", "0 ZREM z d"},
		{"ZREMRANGEBYLEX z - +", "0 DEL z"},
		{"ZREMRANGEBYLEX z - +", ""},
		{"ZDIFFSTORE z 1 y", ""},
	} {
		f.effects()
		f.do(strings.Fields(c.command)...)
		require.Equal(t, c.want, strings.Join(f.effects(), ", "), c.command)
	}
	f.client(2).do("BZPOPMIN", "z", "0")
	f.effects()
	f.do("ZADD", "z", "1", "a", "2", "b")
	require.Equal(t, []string{"0 ZADD z 1 a 2 b", "0 ZREM z a"}, f.effects())
}

// fillZSet makes a sorted set of the members m0, m1, ..., some of them with equal scores.
func fillZSet(f *fixture, key string, n int) {
	args := []string{"ZADD", key}
	for i := range n {
		args = append(args, strconv.Itoa(i%7), "m"+strconv.Itoa(i))
	}
	f.want(strconv.Itoa(n), args...)
}

func TestZRandMemberDrawsDistinctMembers(t *testing.T) {
	f := newFixture(t, ZSetRows)
	f.rand = testRand(t)
	for _, size := range containerSizes {
		key := "z" + strconv.Itoa(size)
		fillZSet(f, key, size)
		for _, count := range []int{1, size / 5, size / 2, size - 1, size, size + 1} {
			seen := map[string]bool{}
			for _, m := range bulks(f.do("ZRANDMEMBER", key, strconv.Itoa(count))) {
				require.NotEqual(t, "$nil", f.do("ZSCORE", key, m).String())
				seen[m] = true
			}
			require.Len(t, seen, min(count, size))
			pairs := bulks(f.do("ZRANDMEMBER", key, strconv.Itoa(count), "WITHSCORES"))
			require.Len(t, pairs, 2*min(count, size))
			for i := 0; i < len(pairs); i += 2 {
				f.want(strconv.Quote(pairs[i+1]), "ZSCORE", key, pairs[i])
			}
		}
		require.Len(t, f.do("ZRANDMEMBER", key, strconv.Itoa(-2*size)).Elems, 2*size)
	}
}

func TestZRandMemberIsUniform(t *testing.T) {
	f := newFixture(t, ZSetRows)
	f.rand = testRand(t)
	for _, size := range []int{50, 600} {
		key := "z" + strconv.Itoa(size)
		fillZSet(f, key, size)
		for name, draw := range map[string]func() []string{
			"one":         func() []string { return []string{f.do("ZRANDMEMBER", key).Str} },
			"distinct":    func() []string { return bulks(f.do("ZRANDMEMBER", key, "5")) },
			"independent": func() []string { return bulks(f.do("ZRANDMEMBER", key, "-5")) },
		} {
			counts, n := make([]int, size), 0
			for n < 25*size {
				for _, m := range draw() {
					i, err := strconv.Atoi(m[1:])
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

// TestZScanSeesWhatStays: a member that stays is returned, whatever is added, changed and removed meanwhile.
func TestZScanSeesWhatStays(t *testing.T) {
	f := newFixture(t, ZSetRows)
	f.rand = testRand(t)
	const size = 1000
	fillZSet(f, "z", size)
	seen := map[string]bool{}
	for cursor := "0"; ; {
		reply := f.do("ZSCAN", "z", cursor, "COUNT", "10")
		elements := bulks(reply.Elems[1])
		for i := 0; i < len(elements); i += 2 {
			seen[elements[i]] = true
		}
		if cursor = reply.Elems[0].Str; cursor == "0" {
			break
		}
		f.do("ZREM", "z", "m"+strconv.Itoa(2*f.rand.IntN(size/2)))
		f.do("ZADD", "z", strconv.Itoa(f.rand.IntN(9)), "m"+strconv.Itoa(f.rand.IntN(size)))
		f.do("ZADD", "z", "5", "new"+cursor)
	}
	for i := 1; i < size; i += 2 {
		require.True(t, seen["m"+strconv.Itoa(i)], i)
	}
}
