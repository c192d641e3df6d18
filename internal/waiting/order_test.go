package waiting

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// names returns the names of the waits in the order that InGrantOrder foresees.
func (t *table) names(key string, most int) (names []string) {
	for _, w := range t.qs.InGrantOrder(t.qs.Of(0, []byte(key)), most) {
		names = append(names, w.Call().(*call).name)
	}
	return names
}

// TestPermitsInGrantOrder: a wait with ONCE passes as soon as its owner holds enough. Other waits for
// permits keep their turn.
func TestPermitsInGrantOrder(t *testing.T) {
	w := newTable()
	pool := w.at("pool")
	pool.limit, pool.holds["x"] = 2, &hold{permits: 2}
	for _, c := range []*call{
		{name: "a", owner: "a", permits: 1, once: true},
		{name: "all", owner: "b", permits: 2},
		{name: "a again", owner: "a", permits: 1, once: true},
		{name: "c", owner: "c", permits: 1},
		{name: "b", owner: "b", permits: 1, once: true},
	} {
		c.keys = []string{"pool"}
		require.Equal(t, "waits", w.begin(c))
	}
	list := w.names("pool", 10)
	require.Equal(t, []string{"a", "a again", "all", "b", "c"}, list)
	require.Equal(t, list[:2], w.names("pool", 2))
	var granted []string
	for _, owner := range []string{"x", "a", "b", "c"} {
		for pool.holds[owner] != nil {
			require.True(t, w.release("pool", owner, false, pool.holds[owner].permits))
			granted = append(granted, w.endUnit()...)
		}
	}
	for i := range list {
		list[i] += " is granted"
	}
	require.Equal(t, list, granted)
}

// TestGrantOrderIsBounded: if a lock has very many readers and waiters, the list looks at some of them. With
// a short queue or few holders it looks at all of them.
func TestGrantOrderIsBounded(t *testing.T) {
	for _, many := range []struct{ readers, waiters, looks int }{
		{20_000, 12_000, SearchLimit}, {12_000, 20_000, SearchLimit}, {20_000, 9, 10}, {9, 20_000, 9},
	} {
		w := newTable()
		looked := 0
		w.qs = New(1, Locks{Kind: w.kind,
			Find: func(_ int, key string) Lock { return Lock{Holders: len(w.at(key).holds), Limit: All} },
			Held: func(db int, key, owner string) int32 {
				looked++
				return w.held(db, key, owner)
			},
			EachHolder: func(_ int, key string, visit func(owner []byte, units int32) bool) {
				for owner, h := range w.at(key).holds {
					if looked++; !visit([]byte(owner), h.units()) {
						return
					}
				}
			}})
		book := w.at("book")
		for i := range many.readers {
			book.holds[fmt.Sprint("reader", i)] = &hold{shared: 1}
		}
		enter := func(c *call) {
			c.t = w
			w.qs.Enter(&c.Waiter, c, &Request{Keys: [][]byte{[]byte("book")}, First: "book", Owner: []byte(c.owner), Name: c.owner, Units: All, Reentrant: true, Counts: true, Strict: true})
		}
		for i := range many.waiters {
			enter(&call{name: fmt.Sprint("w", i), owner: fmt.Sprint("writer", i)})
		}
		enter(&call{name: "up", owner: "reader3"})
		list := w.names("book", 3)
		require.Positive(t, looked)
		require.LessOrEqual(t, looked, many.looks)
		if many.looks < SearchLimit {
			require.Equal(t, []string{"up", "w0", "w1"}, list)
		} else {
			require.Len(t, list, 3)
		}
	}
}
