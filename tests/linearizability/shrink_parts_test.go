package linearizability

import (
	"math/rand/v2"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// TestPartsOfAProperHistoryAreProper: if the history of a correct lock is shrunk, the model still allows it.
// So a shrunk refused history shows the fault, and not a gap that shrinking has made.
func TestPartsOfAProperHistoryAreProper(t *testing.T) {
	t.Parallel()
	const parts = 12
	random := rand.New(rand.NewPCG(1, 2))
	for seed := range uint64(testkit.Steps(4, 8)) {
		w, err := newWorld(2 * seed) // a manual clock: exact and fast
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
