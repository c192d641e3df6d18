package server

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/lockhistory"
	"lockserver/internal/tracecontext"
)

// storyWork are the hashes of keys, and the allocations, that so many pairs of LOCK and UNLOCK take.
func storyWork(t *testing.T, s *session, pairs int) (hashes int64, allocs float64) {
	t.Helper()
	var requests [][]byte
	for i := range 64 {
		key := fmt.Sprint("order:", i)
		requests = append(requests, appendCommand(appendCommand(nil, "LOCK", key, "worker-17", "PX", "60000"), "UNLOCK", key, "worker-17"))
	}
	var scratch batch
	ex, at := s.executor, 0
	pair := func() {
		s.Feed(requests[at%len(requests)], &scratch, nil)
		at++
	}
	for range 200_000 { // until events are sampled, and all memory of the history exists
		pair()
	}
	ex.mu.Lock()
	before := ex.story.hashed
	ex.mu.Unlock()
	allocs = testing.AllocsPerRun(pairs, pair) // one more as a warm-up
	ex.mu.Lock()
	defer ex.mu.Unlock()
	return ex.story.hashed - before, allocs
}

// TestWorkOfLockEvents counts what classes and the history add to LOCK and UNLOCK. Without classes a key is
// hashed for the sample of hot keys alone, which is one release in 16, and for a name that is new to the
// history.
func TestWorkOfLockEvents(t *testing.T) {
	const pairs = 16_000
	for name, c := range map[string]struct {
		classes [][]string
		history int
		most    int64
	}{
		"neither":     {nil, 0, pairs / 16 * 5 / 4},
		"the history": {nil, 1 << 20, pairs / 16 * 5 / 4},
		"classes":     {[][]string{{"orders", "order:*"}}, 0, 2*pairs + pairs/16*5/4},
		"both":        {[][]string{{"orders", "order:*"}}, 1 << 20, 2*pairs + pairs/16*5/4},
	} {
		s := toNowhere(t)
		ex := s.executor
		ex.mu.Lock()
		ex.config.LockClasses, ex.config.LockHistoryBytes = c.classes, int64(c.history)
		ex.story.configure(ex)
		ex.mu.Unlock()
		hashes, allocs := storyWork(t, s, pairs)
		require.Zero(t, allocs, name)
		require.LessOrEqual(t, hashes, c.most, name)
		require.Positive(t, hashes, name)
	}
}

// TestAddWorkOfRing: adding an event allocates nothing, also with a trace.
func TestAddWorkOfRing(t *testing.T) {
	r := lockhistory.New(1)
	r.Resize(1<<20, 0, "start")
	trace := tracecontext.Context{Trace: [16]byte{1}, Span: [8]byte{2}}
	token := int64(0)
	add := func(trace *tracecontext.Context) {
		token++
		r.Add(&lockhistory.Event{Kind: lockhistory.Granted, Key: []byte("order:1"), Owner: []byte("worker-17"), Token: token, Client: 1, Address: "10.0.0.1:1", Trace: trace})
	}
	for range 100_000 {
		add(nil)
	}
	require.Zero(t, testing.AllocsPerRun(10_000, func() { add(nil) }))
	require.Zero(t, testing.AllocsPerRun(10_000, func() { add(&trace) }))
}
