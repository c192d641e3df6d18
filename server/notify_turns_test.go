package server

import (
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server/output"
	"lockserver/server/shard"
	"lockserver/server/transport"
	"lockserver/tests/testkit"
)

// countingConn counts what it is sent. While it is deaf, its client reads nothing.
type countingConn struct {
	nowhere
	sent int // bytes
	deaf bool
}

func (c *countingConn) Send(b []byte, _ bool) (held bool, err error) {
	c.sent += len(b)
	return false, nil
}

func (c *countingConn) Buffered() int {
	if c.deaf {
		return mostUnsent + 1
	}
	return 0
}

func (c *countingConn) AwaitDrain(int) bool { return c.deaf }

// pieces is a server with waits that are to end all at once. It counts how much is done in each piece of
// work: a turn of a session, or a slice of the ticker. Between two pieces other clients are served.
type pieces struct {
	*executor
	t       *testing.T
	clock   *ManualClock
	scratch batch
	loop    transport.Loop // that feeds the sessions
	conns   []*countingConn
	giver   *session // holds the locks
	asker   *session // waits for them, and hears of the outcomes
	hears   *countingConn
	most    pieceOfWork // in one piece
}

// pieceOfWork is what one piece of work did.
type pieceOfWork struct{ outcomes, commands, bytes int }

// piecesName is the length of an owner's name, so that the pushes are too many bytes for one piece.
const piecesName = 1000

var piecesWaits = testkit.Steps(1600, 4000)

func newPieces(t *testing.T, deaf bool) *pieces {
	clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
	p := &pieces{t: t, executor: &start(t, Options{Clock: clock}).executor, clock: clock}
	p.giver, _ = p.open()
	p.asker, p.hears = p.open()
	p.run(p.asker, appendCommand(nil, "HELLO", "3"))
	for i := range piecesWaits {
		p.run(p.giver, appendCommand(nil, "LOCK", p.key(i), "giver", "PX", "7200000"))
		p.run(p.asker, appendCommand(nil, "LOCK", p.key(i), p.owner(i), "PX", "3600000", "WAIT", "3600000", "NOTIFY"))
	}
	require.Equal(t, piecesWaits, p.Waits.QueuedWaits)
	p.hears.deaf = deaf
	p.most = pieceOfWork{}
	return p
}

func (p *pieces) open() (*session, *countingConn) {
	addr, c := &net.UnixAddr{Net: "unix"}, &countingConn{}
	s, refused := p.executor.open(c, transport.Peer{Local: addr, Remote: addr})
	require.NotNil(p.t, s, refused)
	p.conns = append(p.conns, c)
	return s, c
}

func (p *pieces) key(i int) string { return fmt.Sprintf("lock:%d", i) }

func (p *pieces) owner(i int) string {
	return fmt.Sprintf("%-*d", piecesName, i)
}

// all is a pipeline with a command for each wait.
func (p *pieces) all(words func(i int) []string) (pipeline []byte) {
	for i := range piecesWaits {
		pipeline = appendCommand(pipeline, words(i)...)
	}
	return pipeline
}

func (p *pieces) done() (w pieceOfWork) {
	w = pieceOfWork{outcomes: p.Waits.Outcomes, commands: int(p.Stats.Total)}
	for _, c := range p.conns {
		w.bytes += c.sent
	}
	return w
}

// piece does one piece of work.
func (p *pieces) piece(do func()) {
	before := p.done()
	do()
	after := p.done()
	p.most.outcomes = max(p.most.outcomes, after.outcomes-before.outcomes)
	p.most.commands = max(p.most.commands, after.commands-before.commands)
	p.most.bytes = max(p.most.bytes, after.bytes-before.bytes)
}

// run feeds a session, and gives it turns until it has run everything. The asker has its turns in between.
func (p *pieces) run(s *session, data []byte) {
	p.piece(func() { s.Feed(data, &p.scratch, &p.loop) })
	for s.turn.behind {
		if s != p.asker {
			p.run(p.asker, nil)
		}
		p.piece(func() { s.Feed(nil, &p.scratch, &p.loop) })
	}
}

// pass lets time pass, and does what is due.
func (p *pieces) pass(d time.Duration) {
	p.clock.Set(time.UnixMicro(p.clock.NowUS()).Add(d))
	for more := true; more; {
		p.piece(func() {
			p.LockIdle()
			p.Begin()
			more = p.Ticker.DueSlice()
			p.End()
			p.Mu.Unlock()
		})
		p.run(p.asker, nil)
	}
}

// endsAtOnce are the ways in which many waits, or grants, end at once.
var endsAtOnce = []struct {
	name     string
	outcomes int // of each wait
	end      func(p *pieces)
}{
	{"granted", 1, (*pieces).release},
	{"granted when leases end", 1, func(p *pieces) {
		p.run(p.giver, p.all(func(i int) []string { return []string{"RENEW", p.key(i), "giver", "PX", "1000"} }))
		p.pass(time.Second)
	}},
	{"not confirmed", 2, func(p *pieces) {
		p.release()
		require.Equal(p.t, piecesWaits, p.Waits.Grants.Len())
		p.pass(10 * time.Second)
		require.Zero(p.t, p.Waits.Grants.Len())
	}},
	{"timed out", 1, func(p *pieces) { p.pass(time.Hour) }},
	{"cancelled", 1, func(p *pieces) {
		p.run(p.giver, p.all(func(i int) []string { return []string{"LOCK.CANCEL", p.key(i), p.owner(i)} }))
	}},
	{"disconnected", 1, func(p *pieces) {
		p.piece(p.asker.Close)
		p.pass(10 * time.Second)
	}},
}

func (p *pieces) release() {
	p.run(p.giver, p.all(func(i int) []string { return []string{"UNLOCK", p.key(i), "giver"} }))
}

// However many waits end at once, and whether or not their client reads, other clients are served after a
// bounded number of them.
func TestNotifyGivesWay(t *testing.T) {
	t.Parallel()
	for _, tt := range endsAtOnce {
		for _, deaf := range []bool{false, true} {
			t.Run(strings.ReplaceAll(fmt.Sprint(tt.name, " deaf ", deaf), " ", "-"), func(t *testing.T) {
				p := newPieces(t, deaf)
				before := p.Waits.Outcomes
				tt.end(p)
				require.Equal(t, tt.outcomes*piecesWaits, p.Waits.Outcomes-before)
				require.Zero(t, p.Waits.QueuedWaits)
				if p.hears.deaf {
					require.True(t, p.asker.Ended() || p.asker.inbox.Bytes() > batchOutput, "%d bytes", p.asker.inbox.Bytes())
					p.hears.deaf = false
				}
				p.run(p.asker, nil)
				require.Zero(t, p.asker.inbox.Bytes())
				t.Logf("at most in one piece of work: %+v", p.most)
				require.LessOrEqual(t, p.most.outcomes, sliceOutcomes)
				require.LessOrEqual(t, p.most.commands, feedSlices*batchCommands)
				require.LessOrEqual(t, p.most.bytes, batchOutput+output.MostSpace+2*piecesName)
			})
		}
	}
}

// The input of a session on an event loop is not read on while it has commands for several turns. That of a
// session that is stalled is, because its client may read only when it has sent everything.
func TestBehindSessionsAreNotReadFrom(t *testing.T) {
	t.Parallel()
	ex := &start(t, Options{}).executor
	addr, c := &net.UnixAddr{Net: "unix"}, &countingConn{}
	s, refused := ex.open(c, transport.Peer{Local: addr, Remote: addr})
	require.NotNil(t, s, refused)
	pings := []byte(strings.Repeat("*1\r\n$4\r\nPING\r\n", mostBehind/10))
	var scratch batch
	var loop transport.Loop
	s.Feed(pings, &scratch, &loop)
	require.True(t, s.turn.behind)
	require.True(t, s.InputFull(1))
	for s.turn.behind {
		s.Feed(nil, &scratch, &loop)
	}
	require.False(t, s.InputFull(1))

	s.Feed(pings, &scratch, nil)
	require.False(t, s.InputFull(1), "its owner is no loop")
	c.deaf = true
	for !s.output.Stalled {
		s.Feed(pings, &scratch, &loop)
	}
	require.False(t, s.InputFull(1))
}

// What the end of a wait with NOTIFY allocates is bounded. If 100,000 end at once, the collector would run in
// the middle.
func TestNotifyEndsAllocateLittle(t *testing.T) {
	const waits = 2000
	clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
	p := &split{T: t, executor: &start(t, Options{Clock: clock}).executor, conns: map[*session]*listeningConn{}}
	p.Waits.Most = waits
	giver, asker := p.client(), p.client()
	mallocs := func(what string, most float64, end func(i int)) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for i := range waits {
			end(i)
		}
		runtime.ReadMemStats(&after)
		each := float64(after.Mallocs-before.Mallocs) / waits
		t.Logf("%s: %.2f allocations each", what, each)
		require.LessOrEqual(t, each, most, what)
	}
	var unlock, cancel, cancelled [][]byte
	for i := range 2 * waits {
		key, owner := fmt.Sprintf("lock:%012d", i), fmt.Sprintf("waiter:%012d", i)
		p.do(giver, "LOCK", key, "giver", "PX", "3600000")
		p.do(asker, "LOCK", key, owner, "PX", "3600000", "WAIT", "0", "NOTIFY")
		unlock = append(unlock, appendCommand(nil, "UNLOCK", key, "giver"))
		cancel = append(cancel, appendCommand(nil, "LOCK.CANCEL", key, owner))
	}
	unlock, cancelled = unlock[:waits], cancel[waits:]
	mallocs("cancelled", 0.5, func(i int) { giver.Feed(cancelled[i], &p.scratch, &p.loop) })
	mallocs("granted", 8, func(i int) { giver.Feed(unlock[i], &p.scratch, &p.loop) })
	require.Equal(t, waits, p.Waits.Grants.Len())
	mallocs("passed on", 2, func(i int) {
		if i == 0 {
			clock.Advance(time.Minute)
		}
	})
	require.Zero(t, p.Waits.Grants.Len())
	require.Equal(t, 3*waits, p.Waits.Outcomes)
}

// Pushes share the memory of an element of the inbox, and leave that of messages alone which others have.
func TestPushesShareElementsOfAnInbox(t *testing.T) {
	p := newSplit(t, splitMost)
	s := p.client()
	shared := append(make([]byte, 0, 64), "+shared\r\n"...)
	want := ""
	p.LockIdle()
	for i := range 1000 {
		push := fmt.Appendf(nil, "+push %d\r\n", i)
		p.deliver(s, push, true)
		want += string(push)
		clear(push) // the caller uses it again
		if i%100 == 0 {
			p.deliver(s, shared, false)
			want += string(shared)
		}
	}
	elements := s.inbox.Len()
	p.Mu.Unlock()
	require.Less(t, elements, 50)
	require.Equal(t, make([]byte, 64-len(shared)), shared[len(shared):cap(shared)], "a message that others have was written to")
	require.Equal(t, want+"+PONG\r\n", p.do(s, "PING"))
}

// The executor's lock knows whether others wait for it.
func TestLockKnowsWhoWaits(t *testing.T) {
	var mu shard.AwaitedMutex
	mu.Lock()
	require.False(t, mu.TryLock())
	require.False(t, mu.Awaited())
	got := make(chan struct{})
	go func() {
		mu.Lock()
		close(got)
	}()
	require.Eventually(t, mu.Awaited, 30*time.Second, time.Millisecond)
	mu.Unlock()
	<-got
	require.False(t, mu.Awaited())
	mu.Unlock()
}
