package sales

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// TestPartsOfAProperHistoryAreProper: if the history of a correct sale is shrunk, the model still allows it.
// So a shrunk refused history shows the fault, and not a gap that shrinking has made.
func TestPartsOfAProperHistoryAreProper(t *testing.T) {
	t.Parallel()
	const parts = 12
	worlds := testkit.Steps(6, 24)
	decided := 0
	random := rand.New(rand.NewPCG(1, 2))
	for seed := range uint64(worlds) {
		w, err := newWorld(seed)
		require.NoError(t, err)
		t.Cleanup(w.close)
		err = w.phase(false) // now there are orders from before
		begin := w.quiet
		if err == nil {
			err = w.phase(false)
		}
		if errors.Is(err, errUndecided) {
			continue
		}
		require.NoError(t, err)
		decided++
		for range parts {
			tr := &trial{terms: w.terms, begin: begin, end: w.quiet, ops: w.history, plenty: random.IntN(2) == 0}
			if random.IntN(2) == 0 {
				tr.ops = tr.until(tr.ops[random.IntN(len(tr.ops))].ret)
			}
			var part []unit
			share := 1 + random.IntN(99)
			for _, u := range tr.units() {
				if random.IntN(100) < share {
					part = append(part, u)
				}
			}
			left := tr.assemble(part)
			if left.check(patience) == porcupine.Illegal {
				require.Fail(t, "a part is refused", "%s\n%s", w, left.explain())
			}
		}
	}
	require.Greater(t, decided, worlds/2)
}
