package server

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/lockhistory"
	"lockserver/internal/tracecontext"
)

// ringRecord keeps events as they are, and is what a ring is compared with.
type ringRecord struct{ events []lockhistory.Event }

func (r *ringRecord) add(ring *lockhistory.Ring, e lockhistory.Event) {
	e.ID = int64(len(r.events)) + 1
	if e.AtUS%3 > 0 {
		e.KeyHash = ring.Hash(e.Key)
	}
	ring.Add(&e)
	e.KeyHash = 0
	r.events = append(r.events, e)
}

// wanted are the events from a number on that fit, the oldest first.
func (r *ringRecord) wanted(first int64, q lockhistory.Query) (list []lockhistory.Event) {
	for _, e := range r.events {
		all := e.Key == nil
		if e.ID >= first && e.ID > q.After && e.DB == q.DB && (all || q.Key == nil || bytes.Equal(q.Key, e.Key)) &&
			(all || q.Owner == nil || bytes.Equal(q.Owner, e.Owner)) && (q.SinceUS == 0 || e.AtUS >= q.SinceUS) && (q.UntilUS == 0 || e.AtUS <= q.UntilUS) {
			list = append(list, e)
		}
	}
	return list
}

func collectEvents(visit func(q lockhistory.Query, f func(e *lockhistory.Event) bool), q lockhistory.Query) (list []lockhistory.Event) {
	visit(q, func(e *lockhistory.Event) bool {
		c := *e
		c.Key, c.Owner = bytes.Clone(e.Key), bytes.Clone(e.Owner)
		list = append(list, c)
		return true
	})
	return list
}

// TestRingAgainstRecord: a ring tells the latest of all events, whatever they are, and of each query those
// that fit.
func TestRingAgainstRecord(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 1))
		ring := lockhistory.New(7)
		ring.Resize(lockhistory.MinBytes, 5, "start")
		var all ringRecord
		names := 1 + random.IntN(200)
		for range random.IntN(6000) {
			e := lockhistory.Event{AtUS: 1 + int64(random.IntN(1000)), DB: random.IntN(2), Kind: lockhistory.Kind(1 + random.IntN(int(lockhistory.Unconfirmed))), Reason: lockhistory.Reason(random.IntN(int(lockhistory.Failed) + 1)),
				Mode: lockhistory.Mode(random.IntN(3)), Permits: random.Int32N(3), Token: random.Int64(), Client: random.Int64N(3), TookUS: random.Int64N(9) - 1,
				Owner: fmt.Appendf(nil, "owner-%d", random.IntN(names))}
			if random.IntN(50) > 0 {
				e.Key = bytes.Repeat(fmt.Appendf(nil, "key-%d", random.IntN(names)), 1+random.IntN(4))
			} else if e.Owner = nil; random.IntN(2) == 0 {
				e.Key = []byte{}
			}
			if random.IntN(2) == 0 { // the token of an event before, with whatever names
				e.Token = random.Int64N(1000)
			}
			if random.IntN(4) == 0 {
				e.Trace = &tracecontext.Context{Trace: [16]byte{1: byte(random.IntN(256))}, Span: [8]byte{7: byte(random.IntN(256))}, Flags: byte(random.IntN(256))}
			}
			if e.Client > 0 {
				e.Address = fmt.Sprint("10.0.0.1:", e.Client)
			}
			all.add(ring, e)
		}
		require.EqualValues(t, len(all.events), ring.LastID())
		whole := collectEvents(ring.Oldest, lockhistory.Query{})
		first := ring.LastID() + 1
		for _, db := range []int{0, 1} {
			for _, e := range collectEvents(ring.Oldest, lockhistory.Query{DB: db}) {
				first = min(first, e.ID)
			}
		}
		require.Equal(t, all.wanted(first, lockhistory.Query{}), whole, "seed %d", seed)
		sinceUS, why := ring.Since()
		if first <= 1 {
			require.Equal(t, "start", why)
			require.EqualValues(t, 5, sinceUS)
		} else {
			require.Equal(t, "full", why)
			require.Equal(t, max(5, all.events[first-1].AtUS), sinceUS)
		}
		for range 20 {
			q := lockhistory.Query{DB: random.IntN(2)}
			if random.IntN(2) == 0 {
				q.Key = fmt.Appendf(nil, "key-%d", random.IntN(names))
			}
			if random.IntN(2) == 0 {
				q.Owner = fmt.Appendf(nil, "owner-%d", random.IntN(names))
			}
			if random.IntN(2) == 0 {
				q.SinceUS, q.UntilUS = int64(random.IntN(500)), 500+int64(random.IntN(500))
			}
			if random.IntN(2) == 0 {
				q.After = random.Int64N(ring.LastID() + 2)
			}
			want := all.wanted(first, q)
			require.Equal(t, want, collectEvents(ring.Oldest, q), "seed %d %+v", seed, q)
			back := collectEvents(ring.Latest, q)
			for i := range back {
				require.Equal(t, want[len(want)-1-i], back[i], "seed %d %+v", seed, q)
			}
			require.Len(t, back, len(want))
		}
	}
}

// TestRingHash: nearly equal texts of all lengths have different hashes.
func TestRingHash(t *testing.T) {
	ring, seen := lockhistory.New(7), make(map[uint64]string)
	for n := range 40 {
		for i := range max(n, 1) {
			for c := range 200 {
				text := bytes.Repeat([]byte("a"), n)
				if n > 0 {
					text[i] = byte(c)
				}
				h := ring.Hash(text)
				other, there := seen[h]
				require.True(t, !there || other == string(text), "%q %q", other, text)
				seen[h] = string(text)
			}
		}
	}
}

// TestRingBytes: an event takes at most 64 bytes if its texts are there already, and the ring never more than
// it may.
func TestRingBytes(t *testing.T) {
	const size = 1 << 20
	ring := lockhistory.New(7)
	ring.Resize(size, 0, "start")
	e := lockhistory.Event{Kind: lockhistory.Granted, Key: []byte("k"), Owner: []byte("o"), Client: 1, Address: "a", KeyHash: ring.Hash([]byte("k"))}
	for range 4 * size / 48 {
		ring.Add(&e)
	}
	require.LessOrEqual(t, ring.Bytes(), size)
	kept := len(collectEvents(ring.Oldest, lockhistory.Query{}))
	require.Greater(t, kept, size/64*15/16, "one chunk of sixteen is being filled")
	require.Zero(t, testing.AllocsPerRun(10_000, func() { ring.Add(&e) }))
}

// TestRingCuts: a long text is cut, and found by the whole text.
func TestRingCuts(t *testing.T) {
	ring := lockhistory.New(7)
	ring.Resize(lockhistory.MinBytes, 0, "start")
	long := bytes.Repeat([]byte("x"), 5000)
	for range 1000 {
		ring.Add(&lockhistory.Event{Kind: lockhistory.Granted, Key: long, Owner: long, KeyHash: ring.Hash(long)})
	}
	found := collectEvents(ring.Latest, lockhistory.Query{Key: long, Owner: long})
	require.NotEmpty(t, found)
	require.Len(t, found[0].Key, 1024)
	require.Empty(t, collectEvents(ring.Latest, lockhistory.Query{Key: long[:10]}))
}

// TestRingOff: a ring without bytes keeps nothing, and another size empties it.
func TestRingOff(t *testing.T) {
	ring := lockhistory.New(7)
	e := lockhistory.Event{Kind: lockhistory.Granted, Key: []byte("k")}
	ring.Add(&e)
	require.False(t, ring.On())
	require.Zero(t, ring.LastID())
	ring.Resize(lockhistory.MinBytes, 7, "configured")
	ring.Add(&e)
	ring.Resize(lockhistory.MinBytes, 8, "configured")
	require.Len(t, collectEvents(ring.Oldest, lockhistory.Query{}), 1, "the same size changes nothing")
	ring.Resize(2*lockhistory.MinBytes, 9, "configured")
	require.Empty(t, collectEvents(ring.Oldest, lockhistory.Query{}))
	ring.Add(&e)
	require.EqualValues(t, 2, collectEvents(ring.Oldest, lockhistory.Query{})[0].ID, "numbers go on")
	ring.Restart(10, "failover")
	at, why := ring.Since()
	require.EqualValues(t, 10, at)
	require.Equal(t, "failover", why)
	require.Empty(t, collectEvents(ring.Latest, lockhistory.Query{}))
}

// TestRingNames: each kind and each reason has a name of its own.
func TestRingNames(t *testing.T) {
	seen := map[string]bool{}
	for k := lockhistory.Kind(1); k <= lockhistory.Unconfirmed; k++ {
		require.NotEmpty(t, k.String())
		require.False(t, seen[k.String()])
		seen[k.String()] = true
	}
	for r := lockhistory.None + 1; r <= lockhistory.Failed; r++ {
		require.NotEmpty(t, r.String())
		require.False(t, seen["r "+r.String()], r.String())
		seen["r "+r.String()] = true
	}
	require.True(t, lockhistory.EndsHold("released", "") && lockhistory.EndsHold("released", "undone") && !lockhistory.EndsHold("released", "partly") && lockhistory.EndsHold("lost", "flushed"))
	require.True(t, lockhistory.EndsWait("granted") && lockhistory.EndsWait("deadlock") && !lockhistory.EndsWait("lost"))
}
