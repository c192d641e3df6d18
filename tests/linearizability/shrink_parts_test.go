package linearizability

import (
	"math/rand/v2"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"lockserver/internal/testkit"
)

// TestPartsOfAProperHistoryAreProper: whatever shrinking may leave out of a lock's history, a lock's
// history is left. So what it shows of a refused one is the fault, and not a hole that it has made itself.
func TestPartsOfAProperHistoryAreProper(t *testing.T) {
	t.Parallel()
	const parts = 12
	random := rand.New(rand.NewPCG(1, 2))
	for seed := range uint64(testkit.Steps(4, 8)) {
		w, err := newWorld(2 * seed) // a manual clock: exact, and quick
		require.NoError(t, err)
		require.NoError(t, check(w))
		m, ops := w.model().porcupine(), w.operations()
		for range parts {
			keys := []int{0, 1, 2}
			random.Shuffle(maxKeys, func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
			some := onKeys(ops, keys[:1+random.IntN(maxKeys)])
			if random.IntN(2) == 0 {
				some = until(some, some[random.IntN(len(some))].Return)
			}
			h := newHolds(some)
			var part []unit
			share := 1 + random.IntN(99)
			for _, u := range h.units() {
				if random.IntN(100) < share {
					part = append(part, u)
				}
			}
			left := inPlace(h.assemble(part))
			if porcupine.CheckOperationsTimeout(m, left, checkPatience) == porcupine.Illegal {
				v := &violation{world: w, model: m, ops: left}
				v.explain(false)
				require.Fail(t, "a part is refused", v.Error())
			}
		}
	}
}
