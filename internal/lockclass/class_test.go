package lockclass

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/glob"
)

// naive finds the name of a key's class without prefixes and without a cache.
func naive(lines [][]string, key []byte) string {
	for _, words := range lines {
		for _, p := range words[1:] {
			if glob.Match([]byte(p), key, false) {
				return words[0]
			}
		}
	}
	return Other
}

// classOf returns the name of a key's class. It requires that Quick returns the same class as Of, or nil.
func classOf(t *testing.T, table *Table, hash uint64, key []byte) string {
	t.Helper()
	of, quick := table.Of(hash, key), table.Quick(key)
	require.True(t, quick == nil || quick == of, "%q", key)
	return of.Name
}

// TestQuick: these keys need only a look at their first eight bytes.
func TestQuick(t *testing.T) {
	table := New()
	require.Equal(t, table.All()[0], table.Quick([]byte("order:12")))
	table.Define([][]string{{"orders", "order:*"}, {"mail", "mail:today:*", "mailbox1"}})
	for key, want := range map[string]string{"order:12": "orders", "order:1": "", "mail:today:1": "", "mailbox1": "", "x": "", "elsewhere": Other} {
		if f := table.Quick([]byte(key)); want == "" {
			require.Nil(t, f, key)
		} else {
			require.Equal(t, want, f.Name, key)
		}
	}
	table.Define([][]string{{"orders", "[o]rder:*"}})
	require.Nil(t, table.Quick([]byte("elsewhere")), "the cache decides")
	table.Define(nil)
	require.Equal(t, Other, table.Quick([]byte("order:12")).Name)
}

// TestTable: the first matching class counts, whether the cache knows the key or not.
func TestTable(t *testing.T) {
	seed := maphash.MakeSeed()
	table := New()
	of := func(key string) string { return classOf(t, table, maphash.String(seed, key), []byte(key)) }
	require.Equal(t, Other, of("order:1"))
	table.Define([][]string{{"orders", "order:*", "cart:?"}, {"first", "order:1", "mail*"}})
	for range 3 {
		for i := range 3 * cacheSize {
			require.Equal(t, "orders", of(fmt.Sprint("order:", i)))
		}
		require.Equal(t, "orders", of("cart:1"))
		require.Equal(t, Other, of("cart:11"))
		require.Equal(t, "first", of("mail"))
		require.Equal(t, Other, of(""))
	}
	table.Define([][]string{{"all", "*"}})
	require.Equal(t, "all", of("order:1"), "the cache begins anew")
	require.Len(t, table.All(), 2)
	require.Zero(t, testing.AllocsPerRun(100, func() { table.Of(5, []byte("x")) }))
}

// TestReset: all figures become zero, except the numbers of current grants and waiters.
func TestReset(t *testing.T) {
	table := New()
	table.Define([][]string{{"mail", "mail*"}})
	f := table.Of(0, []byte("mail"))
	*f = Figures{Name: f.Name, Grants: 7, Refusals: 1, Timeouts: 2, Deadlocks: 3, Waiting: 4, PermitWaiting: 1, PermitGrants: 2}
	f.Lost[Expired], f.Lost[Unconfirmed] = 2, 3
	f.Waits.Add(5)
	f.Holds.Add(5)
	require.EqualValues(t, 5, f.LostSum())
	table.Reset()
	require.Equal(t, Figures{Name: "mail", Waiting: 4, PermitWaiting: 1}, *table.All()[0])
	require.Equal(t, Figures{Name: Other}, *table.All()[1])
}

// TestPatterns: these patterns are compared as prefixes, and match these keys.
func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern string
		simple  bool
		matches string // words
		others  string
	}{
		{"*", true, "a ab order:1", ""},
		{"", true, "", "a"},
		{"a", true, "a", "ab b"},
		{"a*", true, "a ab", "b ba"},
		{"order:12", true, "order:12", "order:1 order:123"},
		{"order:12*", true, "order:12 order:123", "order:1 order:13"},
		{"order:123*", true, "order:123 order:1234", "order:12 order:124"},
		{"order:123", true, "order:123", "order:1234 order:12"},
		{"a?", false, "ab", "a abc"},
		{"a*b", false, "ab axb", "a abc"},
		{"*a", false, "a ba", "ab"},
		{"a**", false, "a ab", "b"},
		{"[ab]", false, "a b", "c"},
		{`a\*`, false, "a*", "ab"},
	} {
		table := New()
		table.Define([][]string{{"c", c.pattern}})
		require.Equal(t, !c.simple, table.NeedsHash(), c.pattern)
		for want, words := range map[string]string{"c": c.matches, Other: c.others} {
			for _, key := range strings.Fields(words) {
				require.Equal(t, want, classOf(t, table, maphash.String(maphash.MakeSeed(), key), []byte(key)), "%q %q", c.pattern, key)
			}
		}
		require.Equal(t, naive([][]string{{"c", c.pattern}}, nil), table.Of(3, nil).Name, "%q and no key", c.pattern)
	}
	table := New()
	table.Define([][]string{{"c", "1", "2", "3", "4", "5", "6", "7", "8"}})
	require.False(t, table.NeedsHash())
	table.Define([][]string{{"c", "1", "2", "3", "4", "5", "6", "7", "8", "9"}})
	require.True(t, table.NeedsHash(), "too many to be compared")
}

// TestMostClasses: the largest allowed number of classes is kept separate, also in the cache.
func TestMostClasses(t *testing.T) {
	var lines [][]string
	for i := range Most {
		lines = append(lines, []string{fmt.Sprint("c", i), fmt.Sprintf("[k]%d", i)})
	}
	table := New()
	table.Define(lines)
	require.Less(t, Most, 1<<classBits)
	seed := maphash.MakeSeed()
	for range 2 {
		for i := range Most {
			key := fmt.Sprint("k", i)
			require.Equal(t, fmt.Sprint("c", i), table.Of(maphash.String(seed, key), []byte(key)).Name)
		}
		require.Equal(t, Other, table.Of(maphash.String(seed, "x"), []byte("x")).Name)
	}
}

// TestAgainstGlob: random classes match as glob.Match does, whether they are compared as prefixes or not.
func TestAgainstGlob(t *testing.T) {
	t.Parallel()
	random, seed := rand.New(rand.NewPCG(5, 5)), maphash.MakeSeed()
	word := func(letters string, most int) string {
		b := make([]byte, random.IntN(most+1))
		for i := range b {
			b[i] = letters[random.IntN(len(letters))]
		}
		return string(b)
	}
	matched, simple := 0, 0
	for range 3000 {
		var lines [][]string
		for i := range 1 + random.IntN(4) {
			name := fmt.Sprint("c", i)
			if random.IntN(4) == 0 {
				lines = append(lines, []string{name, word("ab*?[]\\", 6)})
			} else {
				lines = append(lines, []string{name, word("ab\x00", 12) + "*", word("ab\x00", 4)})
			}
		}
		table := New()
		table.Define(lines)
		if !table.NeedsHash() {
			simple++
		}
		for range 20 {
			key := []byte(word("ab\x00", 20))
			want := naive(lines, key)
			if want != Other {
				matched++
			}
			for range 2 { // the cache may know the key the second time
				require.Equal(t, want, classOf(t, table, maphash.Bytes(seed, key), key), "%q of %q", key, lines)
			}
		}
	}
	require.Greater(t, matched, 1000)
	require.Greater(t, simple, 500)
	require.Less(t, simple, 2500)
}

// FuzzOf does what TestAgainstGlob does, for any patterns, one on each line, and any key.
func FuzzOf(f *testing.F) {
	for _, c := range [][2]string{{"order:*\ncart:?", "order:1"}, {"a*\n*", ""}, {"order:12345*", "order:1234"}, {"[a-", "a"}, {"\\", "\\"}, {"", ""}} {
		f.Add(c[0], []byte(c[1]))
	}
	seed := maphash.MakeSeed()
	f.Fuzz(func(t *testing.T, patterns string, key []byte) {
		var lines [][]string
		for i, p := range strings.Split(patterns, "\n")[:min(Most, strings.Count(patterns, "\n")+1)] {
			lines = append(lines, []string{fmt.Sprint("c", i), p})
		}
		table := New()
		table.Define(lines)
		want := naive(lines, key)
		for range 2 {
			require.Equal(t, want, classOf(t, table, maphash.Bytes(seed, key), key), "%q of %q", key, lines)
		}
	})
}
