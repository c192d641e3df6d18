package commands

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

func TestSetStoreEffects(t *testing.T) {
	f := newFixture(t, SetRows)
	f.want("3", "SADD", "a", "1", "2", "3")
	f.want("2", "SADD", "b", "2", "3")
	f.effects()
	for _, c := range []struct {
		line    string
		effects []string
	}{
		{"SINTERSTORE d a b", []string{"0 SADD d 2 3"}},
		{"SUNIONSTORE d b b", []string{"0 DEL d", "0 SADD d 2 3"}},
		{"SDIFFSTORE d a b", []string{"0 DEL d", "0 SADD d 1"}},
		{"SDIFFSTORE d a a", []string{"0 DEL d"}},
		{"SDIFFSTORE d a a", nil},
		{"SINTERSTORE a a b", []string{"0 DEL a", "0 SADD a 2 3"}},
		{"SUNION a b", nil},
		{"SINTERCARD 2 a b", nil},
	} {
		f.do(fields(c.line)...)
		require.Equal(t, c.effects, f.effects(), c.line)
	}
}

func TestSetStoreDropsTheDeadline(t *testing.T) {
	f := newFixture(t, SetRows)
	f.want("1", "SADD", "a", "1")
	f.want("1", "SADD", "d", "2")
	require.True(t, f.store.DB(0).Expire([]byte("d"), f.nowMS+10))
	f.want("1", "SUNIONSTORE", "d", "a")
	f.advance(20)
	f.want("1", "SCARD", "d")
	require.Zero(t, f.store.DB(0).Keys().Timed())
}

// TestSetStoreOfOverdueOperands: an overdue operand counts as missing, and its removal is recorded before the
// effects of the command.
func TestSetStoreOfOverdueOperands(t *testing.T) {
	f := newFixture(t, SetRows)
	f.want("1", "SADD", "a", "1")
	f.want("1", "SADD", "b", "2")
	require.True(t, f.store.DB(0).Expire([]byte("a"), f.nowMS+10))
	f.effects()
	f.nowMS += 11
	f.store.SetNow(f.nowMS * 1000)
	f.want("1", "SUNIONSTORE", "d", "a", "b")
	require.Equal(t, []string{"0 DEL a", "0 SADD d 2"}, f.effects())
}

// TestSetAlgebraAgainstModel compares with Go's maps. The sizes and numbers of operands are chosen so that
// every algorithm is used.
func TestSetAlgebraAgainstModel(t *testing.T) {
	f := newFixture(t, SetRows)
	r := testRand(t)
	model := map[string]map[string]bool{}
	for i := range 15 { // empty, and of integers, strings, and both: an intset, a listpack and a table of each
		key := "s" + strconv.Itoa(i)
		members := map[string]bool{}
		for range []int{0, 3, 40, 200, 700}[i%5] {
			members[[]string{"", "m", "mm"[r.IntN(3):]}[i/5]+strconv.Itoa(r.IntN(1000))] = true
		}
		if len(members) > 0 {
			f.do(append([]string{"SADD", key}, slices.Collect(maps.Keys(members))...)...)
		}
		model[key] = members
	}
	for range testkit.Steps(25, 80) {
		var keys []string
		for range 1 + r.IntN(8) {
			keys = append(keys, "s"+strconv.Itoa(r.IntN(15)))
		}
		operands := make([]map[string]bool, len(keys))
		for i, key := range keys {
			operands[i] = model[key]
		}
		for op, want := range map[string][]string{"SINTER": modelInter(operands), "SUNION": modelUnion(operands),
			"SDIFF": modelDiff(operands)} {
			call := append([]string{op}, keys...)
			require.Equal(t, want, sorted(bulks(f.do(call...))), "%q", call)
			call = append([]string{op + "STORE", "d"}, keys...)
			f.want(strconv.Itoa(len(want)), call...)
			require.Equal(t, want, sorted(bulks(f.do("SMEMBERS", "d"))), "%q", call)
		}
		limit := r.IntN(50)
		want := len(modelInter(operands))
		if limit > 0 {
			want = min(want, limit)
		}
		call := append([]string{"SINTERCARD", strconv.Itoa(len(keys))}, keys...)
		f.want(strconv.Itoa(want), append(call, "LIMIT", strconv.Itoa(limit))...)
	}
}

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}

func modelInter(operands []map[string]bool) []string {
	return modelFilter(operands[0], func(m string) bool {
		return !slices.ContainsFunc(operands, func(s map[string]bool) bool { return !s[m] })
	})
}

func modelDiff(operands []map[string]bool) []string {
	return modelFilter(operands[0], func(m string) bool {
		return !slices.ContainsFunc(operands[1:], func(s map[string]bool) bool { return s[m] })
	})
}

func modelUnion(operands []map[string]bool) []string {
	all := map[string]bool{}
	for _, s := range operands {
		maps.Copy(all, s)
	}
	return modelFilter(all, func(string) bool { return true })
}

func modelFilter(members map[string]bool, keep func(string) bool) []string {
	list := []string{}
	for m := range members {
		if keep(m) {
			list = append(list, m)
		}
	}
	return sorted(list)
}

// TestOperationsStop: every operation stops when the visitor returns false.
func TestOperationsStop(t *testing.T) {
	f := newFixture(t, SetRows)
	var keys []string
	for i := range maxProbedSets + 1 {
		key := "s" + strconv.Itoa(i)
		fillSet(f, key, "m", 50)
		f.want("1", "SADD", key, "own"+strconv.Itoa(i))
		keys = append(keys, key)
	}
	f.want("1", "SADD", "other", "x")
	for name, c := range map[string]struct {
		op   operation
		keys []string
	}{
		"SINTER":               {intersection, keys},
		"SUNION by looking up": {union, keys[:2]},
		"SUNION by collecting": {union, keys},
		"SDIFF":                {difference, []string{keys[0], "other"}},
	} {
		for stopAt := 1; stopAt <= 50; stopAt++ {
			operands, err := findSets(&Ctx{DB: f.store.DB(0)}, words(c.keys...))
			require.NoError(t, err)
			r := result{limit: stopAt}
			c.op(f.store, operands, &r)
			require.Equal(t, stopAt, r.n, name)
		}
	}
}

// BenchmarkSetAlgebra: SINTER of a small set with a large one must not walk the large one, at any position in
// the call.
func BenchmarkSetAlgebra(b *testing.B) {
	f := newFixture(b, SetRows)
	fillSet(f, "large", "m", 100_000)
	fillSet(f, "small", "m", 10)
	for _, line := range []string{"SINTER large small", "SINTERCARD 2 large small", "SDIFF small large"} {
		benchmarkLine(b, f, line)
	}
}

// BenchmarkSetAlgebraOfHundred: half of 100 members are in the other set: strings, integers, and integers
// stored as strings.
func BenchmarkSetAlgebraOfHundred(b *testing.B) {
	f := newFixture(b, SetRows)
	fillSetFrom(f, "few", "element:", 0, 100)
	fillSetFrom(f, "many", "element:", 50, 1000)
	fillSetFrom(f, "table", "element:", 0, 200)
	fillSetFrom(f, "ints", "", 0, 100)
	fillSetFrom(f, "moreints", "", 50, 500)
	fillSetFrom(f, "manyints", "", 50, 1000)
	for _, line := range []string{
		"SINTER few many", "SINTERCARD 2 few many", "SDIFF few many", "SINTERSTORE d few many", "SINTER table many",
		"SINTER few few", "SINTER ints moreints", "SINTER ints manyints", "SINTER few moreints",
		"SUNION few many", "SMEMBERS few", "SMEMBERS many", "SMEMBERS ints",
		"SMISMEMBER few element:77 element:50 x", "SMISMEMBER many element:77 element:50 element:1 element:5 element:55",
	} {
		benchmarkLine(b, f, line)
	}
}

// fillSetFrom makes a set of n numbered members.
func fillSetFrom(f *fixture, key, prefix string, first, n int) {
	args := []string{"SADD", key}
	for i := range n {
		args = append(args, prefix+strconv.Itoa(first+i))
	}
	f.want(strconv.Itoa(n), args...)
}

func benchmarkLine(b *testing.B, f *fixture, line string) {
	b.Run(strings.ReplaceAll(line, " ", "_"), func(b *testing.B) {
		argv := words(fields(line)...)
		row, err := f.table.Resolve(argv)
		require.NoError(b, err)
		c := f.client(1).context(argv, row)
		for b.Loop() {
			c.Out.Rollback(0)
			f.store.Record(false)
			if err := row.Run(c); err != nil {
				b.Fatal(err)
			}
		}
	})
}
