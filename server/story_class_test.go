package server

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/glob"
	"lockserver/internal/lockclass"
)

// TestClassTable: the first class that matches counts, whether the cache knows the key or not.
func TestClassTable(t *testing.T) {
	seed := maphash.MakeSeed()
	table := lockclass.New()
	of := func(key string) string { return table.Of(maphash.String(seed, key), []byte(key)).Name }
	require.Equal(t, lockclass.Other, of("order:1"))
	table.Define([][]string{{"orders", "order:*", "cart:?"}, {"first", "order:1", "mail*"}})
	for range 3 {
		for i := range 3 << 12 {
			require.Equal(t, "orders", of(fmt.Sprint("order:", i)))
		}
		require.Equal(t, "orders", of("cart:1"))
		require.Equal(t, lockclass.Other, of("cart:11"))
		require.Equal(t, "first", of("mail"))
		require.Equal(t, lockclass.Other, of(""))
	}
	table.Of(maphash.String(seed, "mail"), []byte("mail")).Grants = 7
	table.Of(maphash.String(seed, "mail"), []byte("mail")).Waiting = 2
	table.Reset()
	f := table.All()[1]
	require.Equal(t, "first", f.Name)
	require.Zero(t, f.Grants)
	require.EqualValues(t, 2, f.Waiting, "what is, stays")
	table.Define([][]string{{"all", "*"}})
	require.Equal(t, "all", of("order:1"), "the cache begins anew")
	require.Len(t, table.All(), 2)
	f = table.All()[0]
	f.Lost[lockclass.Expired], f.Lost[lockclass.Forced] = 2, 3
	require.EqualValues(t, 5, f.LostSum())
	require.Zero(t, testing.AllocsPerRun(100, func() { table.Of(5, []byte("x")) }))
}

// TestSimplePatterns: patterns that are compared as prefixes choose the class that glob.Match does.
func TestSimplePatterns(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 5))
	word := func(most int) string {
		b := make([]byte, random.IntN(most+1))
		for i := range b {
			b[i] = "ab\x00"[random.IntN(3)]
		}
		return string(b)
	}
	matched := 0
	for range 3000 {
		var lines [][]string
		for i := range 1 + random.IntN(4) {
			lines = append(lines, []string{fmt.Sprint("c", i), word(12) + "*", word(4)})
		}
		table := lockclass.New()
		table.Define(lines)
		require.False(t, table.NeedsHash())
		for range 20 {
			key, want := []byte(word(20)), lockclass.Other
			for i := len(lines) - 1; i >= 0; i-- {
				for _, p := range lines[i][1:] {
					if glob.Match([]byte(p), key, false) {
						want = lines[i][0]
						matched++
					}
				}
			}
			require.Equal(t, want, table.Of(0, key).Name, "%q of %q", key, lines)
		}
	}
	require.Greater(t, matched, 1000)
	table := lockclass.New()
	for _, lines := range [][][]string{{{"c", "a?"}}, {{"c", "a*b"}}, {{"c", "[a]"}}, {{"c", `a\*`}}, {{"c", "1", "2", "3", "4", "5", "6", "7", "8", "9"}}} {
		table.Define(lines)
		require.True(t, table.NeedsHash(), "%q", lines)
	}
}
