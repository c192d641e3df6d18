//go:build raft && linux

package moves

import (
	"flag"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/keyslot"
	"lockserver/tests/testkit"
)

var (
	movesFlag = flag.Int("moves", 100, "how many moves TestFrozen measures")
	keysFlag  = flag.Int("keys", 100_000, "how many keys move while TestFrozen measures the other slots")
)

// keysTogether is about how many keys TestFrozen moves at a time: as many as 'lockserver cluster move' does.
const keysTogether = 50_000

// frozenAtMost is the longest time that a slot may be frozen.
const frozenAtMost = time.Second

// times are durations.
type times []time.Duration

// of returns the duration that a part of all is not above.
func (d times) of(part float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	return d[min(len(d)-1, int(part*float64(len(d))))]
}

func (d times) String() string {
	return fmt.Sprintf("%7d %10.2f %10.2f %10.2f", len(d), ms(d.of(0.5)), ms(d.of(0.99)), ms(d.of(1)))
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// probe is a client that counts up a number in a slot again and again, and measures how long each request
// took, with all redirections.
type probe struct {
	mu   sync.Mutex
	took times
}

// take returns the durations since the last call.
func (p *probe) take() times {
	p.mu.Lock()
	defer p.mu.Unlock()
	took := p.took
	p.took = nil
	return took
}

// run sends requests until stop is closed.
func (p *probe) run(c *client, slot int, stop <-chan struct{}) {
	defer c.leave()
	key := place{slot}.key("probe")
	for {
		select {
		case <-stop:
			return
		case <-time.After(time.Millisecond):
		}
		begun := time.Now()
		c.once(slot, patience, "INCR", key)
		p.mu.Lock()
		p.took = append(p.took, time.Since(begun))
		p.mu.Unlock()
	}
}

// pauses measures for how long this process did not run although it wanted to.
type pauses struct {
	mu   sync.Mutex
	most time.Duration
}

func (p *pauses) run(stop <-chan struct{}) {
	for last := time.Now(); ; last = time.Now() {
		select {
		case <-stop:
			return
		case <-time.After(time.Millisecond):
		}
		p.mu.Lock()
		p.most = max(p.most, time.Since(last)-time.Millisecond)
		p.mu.Unlock()
	}
}

// longest returns the longest pause so far.
func (p *pauses) longest() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.most
}

// quiet is a cluster without faults, and its probes.
type quiet struct {
	*mover
	pauses                  pauses
	moving, beside, another probe // in a slot that moves, in one of its shard, in one of the other shard
	stop                    chan struct{}
	all                     sync.WaitGroup
}

// The slots that move, and those of the probes beside them. The first shard has them at the begin.
const firstMoving, lastMoving, besideMoving = 1000, 1255, 5000

func newQuiet(t *testing.T) *quiet {
	c := start(t, shardsOf, false, "")
	q := &quiet{mover: newMover(c, 1, nil), stop: make(chan struct{})}
	h, y := newHistories(), &tally{}
	for i, p := range []struct {
		probe *probe
		slot  int
	}{{&q.moving, firstMoving}, {&q.moving, lastMoving}, {&q.beside, besideMoving}, {&q.another, keyslot.Count - 1}} {
		client := newClient(h, y, i, 1, c.addresses(), q.stop)
		q.all.Go(func() { p.probe.run(client, p.slot, q.stop) })
	}
	q.all.Go(func() { q.pauses.run(q.stop) })
	t.Cleanup(func() {
		close(q.stop)
		q.all.Wait()
	})
	return q
}

// fill sets keys in the slots that move.
func (q *quiet) fill(t *testing.T, keys int) {
	t.Helper()
	nc, err := net.Dial("tcp", q.at(q.leader(0)).Addr())
	require.NoError(t, err)
	conn := testkit.Connect(nc)
	defer conn.Close()
	conn.Timeout = patience
	value := strings.Repeat("x", 64)
	const together = 1000
	for n := 0; n < keys; n += together {
		var commands [][]string
		for i := n; i < min(keys, n+together); i++ {
			slot := firstMoving + i%(lastMoving-firstMoving+1)
			commands = append(commands, []string{"SET", place{slot}.key(strconv.Itoa(i)), value})
		}
		replies, err := conn.CallPipeline(commands)
		require.NoError(t, err)
		for _, v := range replies {
			require.Equal(t, "OK", v.Str)
		}
	}
}

// move moves the slots from a shard to the other one.
func (q *quiet) move(t *testing.T, from int) (moved move) {
	t.Helper()
	return q.moveOf(t, from, firstMoving, lastMoving)
}

// moveOf moves some slots from a shard to the other one.
func (q *quiet) moveOf(t *testing.T, from, first, last int) (moved move) {
	t.Helper()
	eventually(t, "a move succeeds", func() bool {
		moved = q.begin(from, 1-from, q.leader(from), first, last, -1)
		require.Empty(t, q.texts)
		return moved.state == "success"
	})
	return moved
}

// TestFrozen measures how long slots are frozen, by the server and by a client, over many moves. Then it
// measures requests for other slots while many keys move, and before. No result counts but one: no move is
// frozen for longer than a second, and the longest pause of this machine.
func TestFrozen(t *testing.T) {
	q := newQuiet(t)
	q.fill(t, 1000)
	var frozen, took times
	q.moving.take()
	for i := range *movesFlag {
		moved := q.move(t, i%2)
		frozen = append(frozen, time.Duration(moved.frozenMS)*time.Millisecond)
		took = append(took, moved.took)
	}
	moving := q.moving.take()
	if *movesFlag%2 == 1 {
		q.move(t, 1)
	}
	t.Logf("%d moves of %d slots, ms:\n%30s %7s %10s %10s %10s\n%30s %s\n%30s %s\n%30s %s", *movesFlag, lastMoving-firstMoving+1,
		"", "number", "median", "p99", "longest", "frozen, says the server", frozen, "a request of a client", moving, "a whole move", took)
	require.LessOrEqual(t, frozen.of(1), frozenAtMost+q.pauses.longest())

	q.fill(t, *keysFlag)
	q.beside.take()
	q.another.take()
	for begun := time.Now(); time.Since(begun) < 5*time.Second; {
		time.Sleep(10 * time.Millisecond)
	}
	besideBefore, anotherBefore := q.beside.take(), q.another.take()
	begun, longest, portions := time.Now(), int64(0), 0
	slots := max(1, (lastMoving-firstMoving+1)*keysTogether/max(1, *keysFlag))
	for first := firstMoving; first <= lastMoving; first += slots {
		moved := q.moveOf(t, 0, first, min(lastMoving, first+slots-1))
		longest, portions = max(longest, moved.frozenMS), portions+1
	}
	beside, another := q.beside.take(), q.another.take()
	t.Logf("%d keys moved in %v and %d moves, frozen for %d ms at most; requests for other slots, ms:\n%30s %7s %10s %10s %10s\n%30s %s\n%30s %s\n%30s %s\n%30s %s",
		*keysFlag, time.Since(begun), portions, longest, "", "number", "median", "p99", "longest", "source, before", besideBefore, "source, meanwhile", beside,
		"target, before", anotherBefore, "target, meanwhile", another)
	t.Logf("p99 beside p99 before: source %.2f, target %.2f; the longest pause of this process was %v",
		float64(beside.of(0.99))/float64(besideBefore.of(0.99)), float64(another.of(0.99))/float64(anotherBefore.of(0.99)), q.pauses.longest())
	require.LessOrEqual(t, longest, (frozenAtMost + q.pauses.longest()).Milliseconds())
}
