package server

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/server/watching"
	"lockserver/store"
	"lockserver/tests/testkit"
)

// TestWatchingModel compares the table with what each client should have heard of, over random watches,
// changes and departures.
func TestWatchingModel(t *testing.T) {
	seed := testkit.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	const databases, clients, keys = 2, 5, 6
	st := store.New(databases, store.Limits{})
	table := watching.New(databases)
	type at struct {
		db  int
		key string
	}
	var watches [clients]watching.Watches
	var watched [clients]map[at]bool
	var changed [clients]bool
	for i := range watched {
		watched[i] = map[at]bool{}
	}
	for step := range 20_000 {
		i, where := r.IntN(clients), at{r.IntN(databases), strconv.Itoa(r.IntN(keys))}
		switch n := r.IntN(100); {
		case n < 60:
			if changed[i] {
				continue // its next transaction fails whatever else it watches
			}
			table.Add(&watches[i], st.DB(where.db), []byte(where.key))
			watched[i][where] = true
		case n < 85:
			table.KeyChanged(where.db, []byte(where.key))
			for j := range watched {
				if watched[j][where] {
					changed[j] = true
					clear(watched[j])
				}
			}
		default:
			require.Equal(t, len(watched[i]) > 0, table.Forget(&watches[i]), "step %d", step)
			clear(watched[i])
			changed[i] = false
		}
		all, of := 0, 0
		for j := range watched {
			require.Equal(t, changed[j], watches[j].Changed(), "step %d, client %d", step, j)
			require.Equal(t, len(watched[j]), watches[j].Len(), "step %d, client %d", step, j)
			if all += len(watched[j]); len(watched[j]) > 0 {
				of++
			}
		}
		require.Equal(t, all, table.Len(), "step %d", step)
		require.Equal(t, of, table.Clients(), "step %d", step)
		require.NoError(t, table.Check(), "step %d", step)
	}
}

// TestWatchingOfADatabase: a deleted key and a new key have changed; other keys have not.
func TestWatchingOfADatabase(t *testing.T) {
	st := store.New(1, store.Limits{})
	table, db := watching.New(1), st.DB(0)
	var none, gone, made watching.Watches
	db.EditString([]byte("gone")).Set([]byte("v"), store.NoTTL)
	table.Add(&none, db, []byte("none"))
	table.Add(&gone, db, []byte("gone"))
	table.Add(&made, db, []byte("made"))
	require.Equal(t, 3, table.Keys())
	require.True(t, db.Delete([]byte("gone")))
	db.EditString([]byte("made")).Set([]byte("v"), store.NoTTL)
	table.DatabaseChanged(0)
	require.Equal(t, []bool{false, true, true}, []bool{none.Look(), gone.Look(), made.Look()})
	require.True(t, table.Forget(&made))
	require.False(t, made.Changed())
	require.False(t, table.Forget(&made))
}
