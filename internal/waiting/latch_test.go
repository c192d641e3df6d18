package waiting

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// idle is a call that is never tried.
type idle struct{ Waiter }

func (*idle) Try() (done, stop bool) { return false, false }
func (*idle) Refuse(Cycle)           {}

// TestLatchQueues: after any waiters enter and leave, the list has exactly the queues with waiters for a
// latch, the latest first and each once.
func TestLatchQueues(t *testing.T) {
	for seed := range uint64(testkit.Steps(60, 200)) {
		r := rand.New(rand.NewPCG(seed, 0))
		qs := New(2, Locks{})
		var all []*idle
		var order []string // the keys with waiters for a latch, the latest first
		waiters := map[string]int{}
		for range 200 {
			if len(all) > 0 && r.IntN(5) < 2 {
				i := r.IntN(len(all))
				w := all[i]
				all = slices.Delete(all, i, i+1)
				if key := w.First().Key(); w.ForLatch() {
					if waiters[key]--; waiters[key] == 0 {
						delete(waiters, key)
						order = slices.DeleteFunc(order, func(k string) bool { return k == key })
					}
				}
				qs.Leave(&w.Waiter, false)
			} else {
				w, key := new(idle), fmt.Sprint("k", r.IntN(20))
				latch := r.IntN(3) > 0
				qs.Enter(&w.Waiter, w, &Request{DB: 1, Keys: [][]byte{[]byte(key)}, First: key, Strict: latch, Latch: latch})
				all = append(all, w)
				if latch {
					if waiters[key]++; waiters[key] == 1 {
						order = slices.Insert(order, 0, key)
					}
				}
			}
			checkLatches(t, qs, order, waiters, 1+r.IntN(5))
		}
		for _, w := range all {
			qs.Leave(&w.Waiter, false)
		}
		checkLatches(t, qs, nil, nil, 1)
		require.Empty(t, qs.latches[1].list)
	}
}

// checkLatches reads the list in pieces, and compares it with the expected order.
func checkLatches(t *testing.T, qs *Queues, order []string, waiters map[string]int, piece int) {
	t.Helper()
	total := 0
	for _, n := range waiters {
		total += n
	}
	if qs.LatchWaiters(1) != total || qs.LatchKeys(1) != len(order) || qs.LatchKeys(0) != 0 {
		require.Fail(t, "the counts are wrong", "%d waiters for a latch of %d, %d keys of %d, %d in the other database",
			qs.LatchWaiters(1), total, qs.LatchKeys(1), len(order), qs.LatchKeys(0))
	}
	var seen []string
	for cursor := uint64(0); ; {
		n := 0
		cursor = qs.LatchesBelow(1, cursor, piece, func(q *Queue) {
			n++
			seen = append(seen, q.Key())
			want := waiters[q.Key()]
			if got, awaited := q.LatchWaiters(), qs.LatchAwaited(1, []byte(q.Key())); got != want || awaited != want {
				require.Fail(t, "a queue has a wrong count", "%s has %d and %d, not %d", q.Key(), got, awaited, want)
			}
		})
		if n > piece {
			require.Fail(t, "a piece is too large", "%d of %d", n, piece)
		}
		if cursor == 0 {
			break
		}
	}
	if listed := len(qs.latches[1].list); !slices.Equal(order, seen) || listed > max(1, 2*len(order)) {
		require.Fail(t, "the list is wrong", "%v is listed as %v, in a list of %d", order, seen, listed)
	}
}
