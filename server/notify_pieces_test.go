package server

import (
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server/transport"
	"lockserver/server/wait"
	"lockserver/tests/testkit"
)

// One command may free very many locks, or let very many readers in. Others are served after a bounded number
// of grants.

// listeningConn keeps what it is sent.
type listeningConn struct {
	nowhere
	heard strings.Builder
}

func (c *listeningConn) Send(b []byte, _ bool) (held bool, err error) {
	c.heard.Write(b)
	return false, nil
}

// take returns what was heard since the last call.
func (c *listeningConn) take() string {
	text := c.heard.String()
	c.heard.Reset()
	return text
}

// split is a server that puts waiters off although its clock stands still.
type split struct {
	*executor
	*testing.T
	scratch batch
	loop    transport.Loop
	conns   map[*session]*listeningConn
	before  int // outcomes before the last piece
}

func newSplit(t *testing.T, most int) *split {
	p := &split{T: t, executor: &start(t, Options{Clock: NewManualClock(time.UnixMilli(1_750_000_000_000))}).executor, conns: map[*session]*listeningConn{}}
	p.Waits.Most = most
	return p
}

func (p *split) client() *session {
	addr, c := &net.UnixAddr{Net: "unix"}, &listeningConn{}
	s, refused := p.executor.open(c, transport.Peer{Local: addr, Remote: addr})
	require.NotNil(p, s, refused)
	p.conns[s] = c
	p.do(s, "HELLO", "3")
	c.take()
	return s
}

// do runs one command and returns the reply, with all pushes that stand around it. It counts the outcomes.
func (p *split) do(s *session, words ...string) string {
	p.before = p.Waits.Outcomes
	s.Feed(appendCommand(nil, words...), &p.scratch, &p.loop)
	for s.turn.behind {
		s.Feed(nil, &p.scratch, &p.loop)
	}
	return p.conns[s].take()
}

// outcomes are those of the last command.
func (p *split) outcomes() int { return p.Waits.Outcomes - p.before }

// slice is one slice of the ticker; the outcomes of it are returned.
func (p *split) slice() (outcomes int) {
	p.LockIdle()
	defer p.Mu.Unlock()
	before := p.Waits.Outcomes
	p.Begin()
	p.Ticker.DueSlice()
	p.End()
	return p.Waits.Outcomes - before
}

// drain gives all their turn, and returns the most outcomes of one slice.
func (p *split) drain() (most int) {
	for slices := 0; p.Waits.Queues.PutOff() > 0; slices++ {
		require.Less(p, slices, 2*splitWaits, "nothing goes on")
		most = max(most, p.slice())
	}
	return most
}

const (
	splitWaits = 1000
	splitMost  = 16
)

// freesMany are commands that free very much at once.
var freesMany = []struct {
	name   string
	shared bool
	free   func(p *split, giver *session)
}{
	{"readers of one lock", true, func(p *split, giver *session) { p.do(giver, "UNLOCK", "k", "giver") }},
	{"readers of one lock that is deleted", true, func(p *split, giver *session) { p.do(giver, "DEL", "k") }},
	{"FLUSHALL", false, func(p *split, giver *session) { p.do(giver, "FLUSHALL") }},
	{"FLUSHDB", false, func(p *split, giver *session) { p.do(giver, "FLUSHDB", "ASYNC") }},
	{"SWAPDB", false, func(p *split, giver *session) { p.do(giver, "SWAPDB", "0", "1") }},
	{"MUNLOCK", false, func(p *split, giver *session) {
		words := []string{"MUNLOCK", fmt.Sprint(splitWaits)}
		for i := range splitWaits {
			words = append(words, fmt.Sprint("k", i))
		}
		p.do(giver, append(words, "giver")...)
	}},
	{"EXEC", false, func(p *split, giver *session) {
		p.do(giver, "MULTI")
		for i := range splitWaits {
			p.do(giver, "UNLOCK", fmt.Sprint("k", i), "giver")
		}
		p.do(giver, "EXEC")
	}},
	{"a script", false, func(p *split, giver *session) {
		p.do(giver, "EVAL", fmt.Sprintf("for i = 0, %d do redis.call('DEL', 'k' .. i) end", splitWaits-1), "0")
	}},
}

func (p *split) keyOf(shared bool, i int) string {
	if shared {
		return "k"
	}
	return fmt.Sprint("k", i)
}

// The grants of one command come in pieces. Between two of them other clients run commands, and these serve
// none of the waits. A client that asks then stands behind all of them. All waits are granted in their order.
func TestNotifyGrantsInPieces(t *testing.T) {
	t.Parallel()
	for _, tt := range freesMany {
		t.Run(strings.ReplaceAll(tt.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			p := newSplit(t, splitMost)
			giver, asker, other := p.client(), p.client(), p.client()
			for i := range splitWaits {
				if i == 0 || !tt.shared {
					p.do(giver, "LOCK", p.keyOf(tt.shared, i), "giver", "PX", "7200000")
				}
				words := []string{"LOCK", p.keyOf(tt.shared, i), fmt.Sprint("o", i), "PX", "3600000", "WAIT", "0", "NOTIFY"}
				if tt.shared {
					words = slices.Insert(words, 3, "SHARED")
				}
				p.do(asker, words...)
			}
			require.Equal(t, splitWaits, p.Waits.QueuedWaits)
			tt.free(p, giver)
			require.LessOrEqual(t, p.outcomes(), splitMost)
			require.Positive(t, p.outcomes())
			require.Equal(t, splitWaits-p.outcomes(), p.Waits.QueuedWaits)

			last := p.keyOf(tt.shared, splitWaits-1)
			require.Equal(t, "+PONG\r\n", p.do(other, "PING"))
			require.Zero(t, p.outcomes(), "a command of another client serves none of them")
			if tt.name != "SWAPDB" {
				require.Equal(t, "_\r\n", p.do(other, "LOCK", last, "late"), "it comes before nobody who waits")
				require.Equal(t, "+QUEUED\r\n", p.do(other, "LOCK", last, "late", "WAIT", "0", "NOTIFY"))
			}
			require.LessOrEqual(t, p.drain(), splitMost)
			grants := p.grantsIn(p.do(asker, "PING"))
			require.Len(t, grants, splitWaits)
			for i, g := range grants {
				if i > 0 {
					require.Greater(t, g.token, grants[i-1].token, "tokens rise")
				}
				if tt.shared {
					require.Equal(t, grantPush{"k", fmt.Sprint("o", i), g.token}, g)
				} else {
					require.Equal(t, g.key[1:], g.owner[1:])
				}
			}
			if tt.name != "SWAPDB" {
				require.Equal(t, 1, p.Waits.QueuedWaits, "late waits on")
			}
		})
	}
}

// grant is a push about one.
type grantPush struct {
	key, owner string
	token      int64
}

// grantsIn reads the grants out of what a client heard.
func (p *split) grantsIn(heard string) (grants []grantPush) {
	lines := strings.Split(heard, "\r\n")
	for i, line := range lines {
		if line == "lock-granted" {
			var g grantPush
			g.key, g.owner = lines[i+2], lines[i+5]
			_, err := fmt.Sscanf(lines[i+3], ":%d", &g.token)
			require.NoError(p, err)
			grants = append(grants, g)
		}
	}
	return grants
}

// FLUSHALL looks as if it were done at one moment, although locks are given to the next ones later. No key is
// left, and each that is there after it is a grant.
func TestNotifyFlushIsOneMoment(t *testing.T) {
	t.Parallel()
	p := newSplit(t, splitMost)
	giver, asker, other := p.client(), p.client(), p.client()
	for i := range 100 {
		p.do(giver, "LOCK", fmt.Sprint("k", i), "giver", "PX", "7200000")
		p.do(giver, "SET", fmt.Sprint("plain", i), "x")
		p.do(asker, "LOCK", fmt.Sprint("k", i), "asker", "PX", "3600000", "WAIT", "0", "NOTIFY")
	}
	p.do(giver, "FLUSHALL")
	for granted := p.outcomes(); ; granted += p.slice() {
		require.Equal(t, fmt.Sprintf(":%d\r\n", granted), p.do(other, "DBSIZE"))
		for i := range 100 {
			require.Equal(t, ":0\r\n", p.do(other, "EXISTS", fmt.Sprint("plain", i)))
			require.NotEqual(t, ":1\r\n", p.do(giver, "UNLOCK", fmt.Sprint("k", i), "giver"), "it has lost all of them")
		}
		if p.Waits.Queues.PutOff() == 0 {
			require.Equal(t, 100, granted)
			return
		}
	}
}

// FLUSHALL wakes the waiters one after the other, the oldest first. If the next one leaves, or the database
// is emptied again meanwhile, those behind it are not forgotten.
func TestNotifyFlushAgain(t *testing.T) {
	t.Parallel()
	for left := range 30 {
		p := newSplit(t, 1)
		giver, asker := p.client(), p.client()
		for i := range 30 {
			p.do(giver, "LOCK", fmt.Sprint("k", i), "giver", "PX", "7200000")
			p.do(asker, "LOCK", fmt.Sprint("k", i), fmt.Sprint("o", i), "PX", "3600000", "WAIT", "0", "NOTIFY")
		}
		p.do(giver, "FLUSHALL")
		p.slice()
		p.do(giver, "LOCK.CANCEL", fmt.Sprint("k", left), fmt.Sprint("o", left))
		again := 0
		if left%2 == 0 { // one that has come since waits for a lock that ends now
			require.Equal(t, "+QUEUED\r\n", p.do(giver, "LOCK", "k0", "late", "PX", "3600000", "WAIT", "0", "NOTIFY"))
			p.do(giver, "FLUSHALL")
			again = 1
		}
		p.drain()
		require.Zero(t, p.Waits.Queues.Len(), "left %d", left)
		require.GreaterOrEqual(t, len(p.grantsIn(p.do(asker, "PING"))), 29)
		require.Len(t, p.grantsIn(p.do(giver, "PING")), again)
	}
}

// The places of waits are found by the names of their owners. Clients that come back one after the other, or
// detach from one owner after the other, do not have all waits looked at each time.
func TestNotifyPlacesAreNotWalked(t *testing.T) {
	t.Parallel()
	const n = 300
	p := newSplit(t, splitMost)
	giver, back, left := p.client(), p.client(), 0
	for i := range n {
		key, owner := fmt.Sprint("k", i), fmt.Sprint("owner ", i)
		p.do(giver, "LOCK", key, "giver", "PX", "7200000")
		s := p.client()
		p.do(s, "LOCK", key, owner, "PX", "3600000", "WAIT", "0", "NOTIFY")
		s.Close()
	}
	p.Clock.(*ManualClock).Advance(0)
	before := p.Waits.KeptPlaces.Looked
	for i := range n {
		p.do(back, "LOCK.ATTACH", fmt.Sprint("owner ", i))
		p.Clock.(*ManualClock).Advance(0)
	}
	require.Equal(t, n, back.Queued.Count)
	require.Equal(t, n, back.Queued.Adopted)
	require.LessOrEqual(t, p.Waits.KeptPlaces.Looked-before, 2*n)
	before = p.Waits.KeptPlaces.Looked
	for i := range n {
		p.do(back, "LOCK.DETACH", fmt.Sprint("owner ", i))
	}
	require.Zero(t, back.Queued.Count)
	require.LessOrEqual(t, p.Waits.KeptPlaces.Looked-before, 2*n)
	p.Clock.(*ManualClock).Advance(11 * time.Second)
	require.Zero(t, p.Waits.QueuedWaits, "no connection keeps them")
	for ws := p.Waits.KeptPlaces.First; ws != nil; ws = ws.Newer {
		left++
	}
	require.Zero(t, left)
}

// LOCK.DETACH PREFIX gives places up in slices. An attached connection gets them, those that were given up
// last, too.
func TestNotifyDetachInPieces(t *testing.T) {
	t.Parallel()
	const n = 5 * wait.DueBudget
	p := newSplit(t, splitMost)
	giver, asker, a, b := p.client(), p.client(), p.client(), p.client()
	p.do(a, "LOCK.ATTACH", "PREFIX", "program one")
	for i := range n {
		p.do(giver, "LOCK", fmt.Sprint("k", i), "giver", "PX", "7200000")
		p.do(asker, "LOCK", fmt.Sprint("k", i), fmt.Sprint("program one ", i), "PX", "3600000", "WAIT", "0", "NOTIFY")
	}
	asker.Close()
	p.Clock.(*ManualClock).Advance(0)
	require.Equal(t, n, a.Queued.Adopted)
	p.do(b, "LOCK.ATTACH", "PREFIX", "program one")
	before := p.Waits.KeptPlaces.Looked
	p.do(a, "LOCK.DETACH", "PREFIX", "program one")
	require.LessOrEqual(t, p.Waits.KeptPlaces.Looked-before, wait.DueBudget)
	require.Positive(t, a.Queued.Count)
	for slices := 0; a.Queued.Count > 0 || b.Queued == nil || b.Queued.Count < n; slices++ {
		require.Less(t, slices, 100)
		before := p.Waits.KeptPlaces.Looked
		p.slice()
		require.LessOrEqual(t, p.Waits.KeptPlaces.Looked-before, wait.DueBudget)
	}
	require.Equal(t, n, b.Queued.Adopted)
	p.Clock.(*ManualClock).Advance(time.Minute)
	require.Equal(t, n, p.Waits.QueuedWaits)
}

// A wait that is cancelled, or loses its connection, between two pieces gets no lock, and the others do.
func TestNotifyEndsBetweenPieces(t *testing.T) {
	t.Parallel()
	p := newSplit(t, 1)
	giver, asker, going := p.client(), p.client(), p.client()
	p.do(giver, "LOCK", "k", "giver", "PX", "7200000")
	for i := range 60 {
		s := asker
		if i%3 == 1 {
			s = going
		}
		p.do(s, "LOCK", "k", fmt.Sprint("o", i), "SHARED", "PX", "3600000", "WAIT", "0", "NOTIFY")
	}
	p.do(giver, "FLUSHALL")
	p.slice()
	for i := 2; i < 60; i += 3 {
		require.Equal(t, 1, strings.Count(p.do(giver, "LOCK.CANCEL", "k", fmt.Sprint("o", i)), ":1\r\n"))
	}
	going.Close()
	p.drain()
	granted := p.grantsIn(p.do(asker, "PING"))
	require.Len(t, granted, 20)
	for i, g := range granted {
		require.Equal(t, fmt.Sprint("o", 3*i), g.owner)
	}
	p.Clock.(*ManualClock).Advance(11 * time.Second) // the places of the connection that went, and what it had got
	require.Zero(t, p.Waits.QueuedWaits)
	require.Zero(t, p.Waits.Queues.Len())
}

// While writes are paused nothing is granted, and after that everything.
func TestNotifyPausedBetweenPieces(t *testing.T) {
	t.Parallel()
	p := newSplit(t, splitMost)
	giver, asker := p.client(), p.client()
	for i := range 100 {
		p.do(giver, "LOCK", fmt.Sprint("k", i), "giver", "PX", "7200000")
		p.do(asker, "LOCK", fmt.Sprint("k", i), "asker", "PX", "3600000", "WAIT", "5000", "NOTIFY")
	}
	p.do(giver, "FLUSHALL")
	due, ok := p.Ticker.NextDueUS()
	require.True(t, ok)
	require.Equal(t, p.Clock.NowUS(), due, "the ticker goes on at once")
	p.do(giver, "CLIENT", "PAUSE", "1000", "WRITE")
	due, _ = p.Ticker.NextDueUS()
	require.Greater(t, due, p.Clock.NowUS())
	for range 3 {
		require.Zero(t, p.slice())
	}
	require.Equal(t, 100-splitMost, p.Waits.QueuedWaits)
	p.Clock.(*ManualClock).Advance(time.Hour)
	require.Len(t, p.grantsIn(p.do(asker, "PING")), 100, "their time was not over when the locks were free")
}

// A client that waits for a list is served in the unit that fills it: another one could take the element.
func TestNotifyListsAreNotPutOff(t *testing.T) {
	t.Parallel()
	p := newSplit(t, 1)
	giver, asker := p.client(), p.client()
	for i := range 5 {
		p.do(giver, "LOCK", fmt.Sprint("k", i), "giver", "PX", "7200000")
		p.do(asker, "LOCK", fmt.Sprint("k", i), "asker", "PX", "3600000", "WAIT", "0", "NOTIFY")
	}
	pops := []*session{p.client(), p.client(), p.client()}
	for _, s := range pops {
		p.do(s, "BLPOP", "list", "0")
	}
	p.do(giver, "EVAL", "for i = 0, 4 do redis.call('DEL', 'k' .. i) end redis.call('RPUSH', 'list', 'a', 'b', 'c')", "0")
	require.Positive(t, p.Waits.Queues.PutOff())
	require.Equal(t, ":0\r\n", p.do(giver, "LLEN", "list"))
	for i, s := range pops {
		require.Contains(t, p.do(s), string(rune('a'+i)))
	}
	require.Equal(t, 1, p.drain())
}

// Random histories: with pieces of one grant each lock goes to the same owners in the same order as without
// pieces, and nothing is left that could go. Between two pieces a deadlock may be seen that would later be
// ended by the refusal of another wait. So after a different number of refusals a history is not compared.
func TestNotifyPiecesRandom(t *testing.T) {
	t.Parallel()
	seeds := uint64(testkit.Steps(20, 2000))
	compared := 0
	for seed := range seeds {
		random := rand.New(rand.NewPCG(seed, 1))
		whole, pieces := newSplit(t, 1_000_000), newSplit(t, 1+random.IntN(2))
		servers := []*split{whole, pieces}
		clients := [2][]*session{}
		for i, p := range servers {
			for range 4 { // the last one only looks
				clients[i] = append(clients[i], p.client())
			}
		}
		var log []string
		for range 60 {
			who, words := random.IntN(3), randomLockCommand(random)
			log = append(log, strings.Join(words, " "))
			for i, p := range servers {
				p.do(clients[i][who], words...)
			}
			pieces.drain()
			if whole.Waits.Refused.Total != pieces.Waits.Refused.Total {
				compared--
				break
			}
			require.Equal(t, whole.holdersOf(t, clients[0][3]), pieces.holdersOf(t, clients[1][3]), "seed %d: %s", seed, strings.Join(log, "\n"))
			require.Equal(t, whole.Waits.Queues.Len(), pieces.Waits.Queues.Len(), "seed %d: %s", seed, strings.Join(log, "\n"))
		}
		compared++
		for i, p := range servers {
			for _, s := range clients[i] {
				s.Close()
			}
			p.Clock.(*ManualClock).Advance(2 * time.Hour)
			require.Zero(t, p.Waits.Queues.Len())
		}
	}
	t.Logf("%d of %d histories were compared to their end", compared, seeds)
	require.Greater(t, compared, int(seeds)*9/10)
}

func randomLockCommand(random *rand.Rand) []string {
	key, owner := fmt.Sprint("k", random.IntN(3)), fmt.Sprint("o", random.IntN(5))
	switch random.IntN(12) {
	case 0:
		return []string{"FLUSHALL"}
	case 1:
		return []string{"DEL", "k0", "k1", "k2"}
	case 2:
		return []string{"MUNLOCK", "2", "k0", "k1", owner}
	case 3, 4:
		return []string{"UNLOCK", key, owner}
	case 5:
		return []string{"LOCK.CANCEL", key, owner}
	case 6, 7, 8:
		return []string{"LOCK", key, owner, "SHARED", "PX", "3600000", "WAIT", "0", "NOTIFY"}
	case 9:
		return []string{"MLOCK", "2", "k0", "k1", owner, "PX", "3600000", "WAIT", "0", "NOTIFY"}
	}
	return []string{"LOCK", key, owner, "PX", "3600000", "WAIT", "0", "NOTIFY"}
}

// holdersOf tells who holds which lock.
func (p *split) holdersOf(t *testing.T, s *session) string {
	var text strings.Builder
	for i := range 3 {
		reply := p.do(s, "HKEYS", fmt.Sprint("k", i))
		fields := strings.Split(reply, "\r\n")
		slices.Sort(fields)
		text.WriteString(strings.Join(fields, " ") + "\n")
	}
	require.NotEmpty(t, text.String())
	return text.String()
}

// A server with a clock that goes finishes by itself, and so does one in test mode with a frozen one.
func TestNotifyPiecesGoOnByThemselves(t *testing.T) {
	t.Parallel()
	for name, directives := range map[string]map[string]string{"system clock": {}, "frozen": {"test-mode": "yes"}} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			srv := start(t, Options{EventLoops: true, Directives: directives})
			holder, c := testkit.Dial(t, overPort(srv)), testkit.Dial(t, overPort(srv))
			c.Hello(3)
			if name == "frozen" {
				require.Equal(t, "4000000000000", holder.Do("TEST.CLOCK", "FREEZE", "4000000000000").String())
			}
			require.Positive(t, holder.Do("LOCK", "k", "holder", "PX", "7200000").Int)
			for i := range 5 * wait.ServedPerUnit {
				require.Equal(t, "+QUEUED", c.Do("LOCK", "k", fmt.Sprint("o", i), "SHARED", "PX", "3600000", "WAIT", "0", "NOTIFY").String())
			}
			require.EqualValues(t, 1, holder.Do("DEL", "k").Int)
			if name == "frozen" { // all of it belongs to the moment
				left := 0
				srv.executor.look(func() { left = srv.executor.Waits.QueuedWaits })
				require.Zero(t, left)
			}
			for i := range 5 * wait.ServedPerUnit {
				require.Equal(t, fmt.Sprint("o", i), c.Receive().Elems[3].Str)
			}
		})
	}
}
