package server

import (
	"fmt"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server/transport"
	"lockserver/server/wait"
	"lockserver/tests/testkit"
)

// manyWaits is a server with a clock that stands still, and a session that waits for many locks with NOTIFY.
type manyWaits struct {
	*executor
	s       *session
	clock   *ManualClock
	scratch batch
	each    float64 // bytes of heap that a wait takes
	words   float64 // how many of them are its words, which fill the memory that they are given
	listed  float64 // how many CLIENT LIST tells of
}

// howManyWaits is how many of them there are.
var howManyWaits = testkit.Steps(20_000, 100_000)

// ownerOf is a name that makes the words of a call of LOCK 80 bytes long, for which Go allocates just that.
// Shorter words are rounded up: 68 bytes take 80 as well, and the rest would be counted as the wait's.
func ownerOf(i int) string { return fmt.Sprintf("c0ffee1e-7a94-4c0b-9a3e-2f6f4f5d6e7b:%014d", i) }

func newManyWaits(t *testing.T) *manyWaits {
	clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
	m := &manyWaits{executor: &start(t, Options{Clock: clock}).executor, clock: clock}
	m.Waits.LockEvents.Muted = true // it keeps a bounded number of keys
	addr := &net.UnixAddr{Net: "unix"}
	open := func() *session {
		s, refused := m.open(nowhere{}, transport.Peer{Local: addr, Remote: addr})
		require.NotNil(t, s, refused)
		return s
	}
	holder := open()
	for i := range howManyWaits {
		holder.Feed(appendCommand(nil, "LOCK", fmt.Sprintf("lock:%012d", i), "holder", "PX", "3600000000"), &m.scratch, nil)
	}
	requests := make([][]byte, howManyWaits)
	for i := range requests {
		requests[i] = appendCommand(nil, "LOCK", fmt.Sprintf("lock:%012d", i), ownerOf(i), "WAIT", "600000", "NOTIFY")
	}
	m.s = open()
	m.s.Feed(appendCommand(nil, "LOCK", "lock:000000000000", "first", "WAIT", "600000", "NOTIFY"), &m.scratch, nil)
	before, listed := heapBytes(), m.Memory.Clients.Sum
	for _, r := range requests {
		m.s.Feed(r, &m.scratch, nil)
	}
	m.each = float64(heapBytes()-before) / float64(howManyWaits)
	m.listed = float64(m.Memory.Clients.Sum-listed) / float64(howManyWaits)
	m.words = float64(len(m.s.Queued.First.Words))
	require.Equal(t, howManyWaits+1, m.s.Queued.Count)
	require.Equal(t, howManyWaits+1, m.Waits.Queues.Len())
	runtime.KeepAlive(requests)
	return m
}

// dueInSlices does what is due, and returns the most waits that one slice has ended or moved, and how long
// the longest took.
func (m *manyWaits) dueInSlices(count func() int) (most int, longest time.Duration) {
	for more := true; more; {
		m.LockIdle()
		m.Begin()
		before, began := count(), time.Now()
		more = m.Ticker.DueSlice()
		longest = max(longest, time.Since(began))
		most = max(most, before-count())
		m.End()
		m.Mu.Unlock()
	}
	return most, longest
}

// What a wait without a blocked connection takes is bounded, and CLIENT LIST tells about as much of it. When
// its session ends nothing is done for each wait at once, but for some of them in each slice.
func TestNotifyManyWaits(t *testing.T) {
	// 368 for its four structs, 16 for its places in two indexes, and 16 to 20 for its timer in a heap
	// that grows by a quarter.
	const most = 410
	m := newManyWaits(t)
	t.Logf("a wait takes %.0f bytes, %.0f of them for its words, and %.0f are counted", m.each, m.words, m.listed)
	require.EqualValues(t, 80, m.words)
	require.LessOrEqual(t, m.each-m.words, float64(most))
	require.InDelta(t, m.each, m.listed, 0.25*m.each)

	began := time.Now()
	m.s.Close()
	took := time.Since(began)
	require.Equal(t, howManyWaits+1, m.s.Queued.Count)
	count := func() int { return m.Waits.QueuedWaits }
	ended, longest := m.dueInSlices(count)
	require.Zero(t, ended, "there is some time for the owners to come back")
	t.Logf("the end of the session took %v, and the longest slice that looked for others %v", took, longest)
	m.clock.Set(time.UnixMicro(m.clock.NowUS()).Add(10 * time.Second))
	ended, longest = m.dueInSlices(count)
	t.Logf("the longest slice took %v for the end of %d waits", longest, ended)
	require.LessOrEqual(t, ended, wait.DueBudget)
	require.Zero(t, m.Waits.Queues.Len())
	require.Zero(t, m.s.Queued.Count)
	require.Zero(t, m.s.Queued.Bytes)
}

// Many waits that time out at the same moment end in slices.
func TestNotifyManyTimeouts(t *testing.T) {
	m := newManyWaits(t)
	for i := range howManyWaits / 2 {
		m.s.Feed(appendCommand(nil, "LOCK.CANCEL", fmt.Sprintf("lock:%012d", i), ownerOf(i)), &m.scratch, nil)
	}
	require.Equal(t, howManyWaits/2+1, m.Waits.QueuedWaits)
	m.clock.Set(time.UnixMicro(m.clock.NowUS()).Add(10 * time.Minute))
	ended, longest := m.dueInSlices(func() int { return m.Waits.QueuedWaits })
	t.Logf("the longest slice took %v for the end of %d waits", longest, ended)
	require.LessOrEqual(t, ended, wait.DueBudget)
	require.Zero(t, m.Waits.Queues.Len())
	require.Zero(t, m.s.Queued.Bytes)
}
