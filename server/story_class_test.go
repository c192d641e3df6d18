package server

import (
	"fmt"
	"hash/maphash"
	"testing"

	"github.com/stretchr/testify/require"

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
