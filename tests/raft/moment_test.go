//go:build raft

package raft

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server"
	"lockserver/server/raft"
	"lockserver/server/raft/engine"
	"lockserver/server/topology"
	"lockserver/tests/testkit"
)

// cluster is a client of a group that follows redirections.
type cluster struct {
	dial  func(address string) (*testkit.Client, error)
	open  map[string]*testkit.Client // by the address of the member
	at    string
	moved int64 // how often it was sent on
}

// do runs a command, and returns its reply, or the error of the connection.
func (c *cluster) do(words ...string) (kind byte, text string, number int64) {
	var way []string
	for range 10 {
		if way = append(way, c.at); c.open[c.at] == nil {
			to, err := c.dial(c.at)
			if err != nil {
				return '-', err.Error(), 0
			}
			c.open[c.at] = to
		}
		v, err := c.open[c.at].Call(words...)
		if err != nil {
			return '-', err.Error(), 0
		}
		if v.Kind == '-' && strings.HasPrefix(v.Str, "MOVED ") {
			c.at = v.Str[strings.LastIndex(v.Str, " ")+1:]
			c.moved++
			continue
		}
		return byte(v.Kind), v.Str, v.Int
	}
	return '-', "it is sent on for ever: " + strings.Join(way, " "), 0
}

// close closes its connections.
func (c *cluster) close() {
	for _, to := range c.open {
		to.Close()
	}
	clear(c.open)
}

// load holds clients of a cluster. Each counts a key of its own up, and reads it. A request that is lost, or
// done twice, shows as a number that does not follow.
type load struct {
	t               *testing.T
	stop            atomic.Bool
	clients         sync.WaitGroup
	requests, moved atomic.Int64
	longest         atomic.Int64  // see taken
	machine         *machineProbe // nil: the machine is not measured
	costs           []transferCost
}

// transferCost is the longest wait of a request that ends at a transfer, in microseconds, and how often that
// request was sent on. It may have begun at an earlier transfer, and been sent on by that one, too. Beside it
// are the times that the machine has taken meanwhile for a sleep and for a sync.
type transferCost struct{ waitUS, moved, wakeUS, syncUS int64 }

// mostMoved is one more than how often a request may be redirected.
const mostMoved = 100

// taken is the time of a request, and how often it was sent on, as one number. The longest time is the
// highest number.
func taken(d time.Duration, moved int64) int64 { return d.Microseconds()*mostMoved + moved }

// begin starts so many clients, which begin at the member with an address.
func (l *load) begin(count int, at string, dial func(address string) (*testkit.Client, error)) {
	for i := range count {
		l.clients.Go(func() {
			c := &cluster{dial: dial, open: map[string]*testkit.Client{}, at: at}
			defer func() {
				l.moved.Add(c.moved)
				c.close()
			}()
			key := "key" + strconv.Itoa(i)
			for n := int64(1); !l.stop.Load(); n++ {
				if !l.count(c, key, n) {
					return
				}
			}
		})
	}
}

// count sets a key to n, and checks the value. It returns false after a wrong answer.
func (l *load) count(c *cluster, key string, n int64) bool {
	for _, words := range [][]string{{"INCR", key}, {"GET", key}} {
		begun, moved := time.Now(), c.moved
		kind, text, number := c.do(words...)
		atLeast(&l.longest, taken(time.Since(begun), c.moved-moved))
		if kind == ':' && number == n || kind == '$' && text == strconv.FormatInt(n, 10) {
			l.requests.Add(1)
			continue
		}
		l.t.Errorf("%v number %d is answered with %c%s%d", words, n, kind, text, number)
		return false
	}
	return true
}

// machineProbe measures what the machine itself makes processes wait for, with one goroutine that sleeps and
// one that syncs a file.
type machineProbe struct{ wakeUS, syncUS atomic.Int64 }

// take returns the longest times since the last call: by how much a sleep was too long, and of a sync. Of nil
// they are 0.
func (p *machineProbe) take() (wakeUS, syncUS int64) {
	if p == nil {
		return 0, 0
	}
	return p.wakeUS.Swap(0), p.syncUS.Swap(0)
}

// atLeast makes a value the maximum of itself and another.
func atLeast(v *atomic.Int64, other int64) {
	for is := v.Load(); other > is && !v.CompareAndSwap(is, other); is = v.Load() {
	}
}

// transfers hands the lead on again and again under load, and returns the cost.
func (l *load) transfers(clients, times int, transfer func()) {
	for range times {
		before := l.requests.Load()
		eventually(l.t, "requests are answered", func() bool { return l.requests.Load() > before+20 || l.t.Failed() })
		l.longest.Store(0)
		l.machine.take()
		transfer()
		before = l.requests.Load()
		eventually(l.t, "the requests of the transfer are answered", func() bool { return l.requests.Load() > before+int64(clients) || l.t.Failed() })
		cost := transferCost{waitUS: l.longest.Load() / mostMoved, moved: l.longest.Load() % mostMoved}
		cost.wakeUS, cost.syncUS = l.machine.take()
		l.costs = append(l.costs, cost)
	}
	l.stop.Store(true)
	l.clients.Wait()
	var longest []int64
	for _, c := range l.costs {
		longest = append(longest, c.waitUS)
	}
	slices.Sort(longest)
	require.LessOrEqual(l.t, l.moved.Load(), int64(clients*times), "a client is sent on once at a transfer")
	l.t.Logf("%d transfers, %d requests, sent on %d times. The longest wait of a request at a transfer: median %.1f ms, longest %.1f ms",
		times, l.requests.Load(), l.moved.Load(), float64(longest[times/2])/1000, float64(longest[times-1])/1000)
}

// dialer connects to the member of the group with an address.
func (g *group) dialer() func(address string) (*testkit.Client, error) {
	return func(address string) (*testkit.Client, error) {
		for _, m := range g.all {
			if m.peer.Client == address {
				return m.dial(), nil
			}
		}
		return nil, fmt.Errorf("%s is no member", address)
	}
}

// TestTransferLosesNoRequest: while the lead is handed on again and again, each request of clients of a
// cluster is done once, and no connection breaks. No member builds its data anew, though there are leases:
// the leader's clock is an entry once a second.
func TestTransferLosesNoRequest(t *testing.T) {
	t.Parallel()
	const clients = 6
	g := newGroup(t, 3, func(eo *engine.Options, so *server.Options) {
		seenAs(topology.Cluster)(eo, so)
		eo.ElectionMS = 6000 // a busy machine elects no leader by itself
	})
	leader := g.leader()
	eventually(t, "it serves", func() bool { return leader.ask("LOCK", "door", "me", "PX", "600000", "ONCE").Kind == ':' })
	l := &load{t: t}
	l.begin(clients, leader.peer.Client, g.dialer())
	l.transfers(clients, 20, func() {
		old := g.leader()
		require.Equal(t, "OK", old.ask("RAFT", "TRANSFER").Str)
		require.NotEqual(t, old, g.leader())
	})
	for _, m := range g.all {
		require.Equal(t, "0", m.field("raft_rebuilds"))
		require.Equal(t, "0", m.field("raft_undone"))
	}
	g.same()
}

// laggard is an engine that takes a random time to say what it knows, and to catch up with the log.
type laggard struct {
	raft.Engine
	mu  *sync.Mutex
	rng *rand.Rand
}

// intN returns a random number below n.
func (l *laggard) intN(n int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rng.IntN(n)
}

// lag waits for a random time up to most, in one of oneIn calls.
func (l *laggard) lag(oneIn int, most time.Duration) {
	if l.intN(oneIn) == 0 {
		<-time.After(time.Duration(l.intN(int(most))))
	}
}

// Status implements raft.Engine.
func (l *laggard) Status() raft.Status {
	s := l.Engine.Status()
	l.lag(4, 100*time.Millisecond)
	return s
}

// Barrier implements raft.Engine.
func (l *laggard) Barrier() error {
	l.lag(2, 100*time.Millisecond)
	return l.Engine.Barrier()
}

// newcomers are clients that begin each request at any member, as those do that have just been started.
type newcomers struct {
	t            *testing.T
	begun, ended atomic.Int64 // transfers
	stop         atomic.Bool
	clients      sync.WaitGroup
}

// begin starts one.
func (n *newcomers) begin(g *group, key string, any *laggard) {
	n.clients.Go(func() {
		c := &cluster{dial: g.dialer(), open: map[string]*testkit.Client{}}
		defer c.close()
		for i := int64(1); !n.stop.Load(); i++ {
			c.at, c.moved = g.all[any.intN(len(g.all))].peer.Client, 0
			ended := n.ended.Load()
			_, text, number := c.do("INCR", key)
			if most := 1 + n.begun.Load() - ended; number != i || c.moved > most {
				n.t.Errorf("INCR number %d is answered with %s%d, sent on %d times and at most %d", i, text, number, c.moved, most)
				return
			}
		}
	})
}

// TestTransferWhileMembersLag is TestTransferLosesNoRequest in a group in which each member may learn late
// which one leads, and serve late. Requests begin at any member. Each is sent on to the leader once, and once
// more for each transfer meanwhile: no two members send it to each other.
func TestTransferWhileMembersLag(t *testing.T) {
	t.Parallel()
	const clients, times = 6, 20
	g := prepare(t, 3, steadily(seenAs(topology.Cluster)))
	chance := &laggard{mu: new(sync.Mutex), rng: rand.New(rand.NewPCG(testkit.Seed(t), 0))}
	g.wrap = func(_ string, e raft.Engine) raft.Engine { return &laggard{e, chance.mu, chance.rng} }
	for _, m := range g.all {
		m.start()
	}
	g.elect()
	eventually(t, "it serves", func() bool { return g.leader().ask("LOCK", "door", "me", "PX", "600000", "ONCE").Kind == ':' })
	for _, m := range g.all {
		eventually(t, "it knows who leads", func() bool { return !strings.HasPrefix(m.ask("GET", "key0").Str, "CLUSTERDOWN") })
	}
	n := &newcomers{t: t}
	for i := range clients {
		n.begin(g, "key"+strconv.Itoa(i), chance)
	}
	for range times {
		old := g.leader()
		next := g.all[(slices.Index(g.all, old)+1)%len(g.all)] // its last news of a leader are the oldest
		n.begun.Add(1)
		require.Equal(t, "OK", old.ask("RAFT", "TRANSFER", next.peer.ID).Str)
		require.Equal(t, next, g.leader())
		n.ended.Add(1)
	}
	n.stop.Store(true)
	n.clients.Wait()
	for _, m := range g.all {
		require.Equal(t, "0", m.field("raft_rebuilds"))
		require.Equal(t, "0", m.field("raft_undone"))
	}
	g.same()
}
