//go:build linux

package transport

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// coalesceModel is a loop and its clients in a time of their own. The work of the loop costs as much as on
// a machine, and a client sends its next request some time after the reply.
type coalesceModel struct {
	clients int
	think   time.Duration // from a reply to the client's next request
	serial  bool          // one thread does the clients' thinking, one after the other
	turns   bool          // one client after the other: a request follows from the reply to another client
	serves  bool          // each round serves a client that waits in a command
	longest time.Duration
}

// run lets the model go on for span and returns how many requests were answered, in how many rounds.
func (m coalesceModel) run(span time.Duration) (requests, rounds int) {
	const wake, perRound, perRequest = 3 * time.Microsecond, time.Microsecond, 2500 * time.Nanosecond
	conns := make([]loopConn, m.clients)
	due := make([]time.Duration, m.clients) // when each one's next request is there
	for i := range due {
		due[i] = time.Duration(i) * m.think
		if m.turns && i > 0 {
			due[i] = never
		}
	}
	var c coalescing
	var now, thinker time.Duration
	var served uint64
	start := time.Unix(1_800_000_000, 0)
	for now < span {
		first := never
		for _, at := range due {
			first = min(first, at)
		}
		if first > now {
			now = first + wake
		}
		var came []int
		for i, at := range due {
			if at <= now {
				came = append(came, i)
				c.count(&conns[i])
			}
		}
		now += perRound + time.Duration(len(came))*perRequest
		for _, i := range came {
			next := i
			if m.turns {
				due[i], next = never, (i+1)%m.clients
			}
			due[next] = now + m.think
			if m.serial {
				thinker = max(thinker, now) + m.think
				due[next] = thinker
			}
		}
		requests += len(came)
		rounds++
		if m.serves {
			served++
		}
		if c.due() {
			now += c.after(start.Add(now), m.longest, served)
		}
	}
	return requests, rounds
}

const never = time.Duration(1 << 62)

// compare returns requests with waiting by those without, and requests a round with waiting.
func (m coalesceModel) compare(t *testing.T) (throughput, found float64) {
	m.longest = 0
	without, _ := m.run(2 * time.Second)
	m.longest = 200 * time.Microsecond
	with, rounds := m.run(2 * time.Second)
	throughput, found = float64(with)/float64(without), float64(with)/float64(rounds)
	t.Logf("%+v: %.3f of the requests, %.2f a round", m, throughput, found)
	return throughput, found
}

func TestCoalescingGathersWhatABusyGeneratorSends(t *testing.T) {
	throughput, found := coalesceModel{clients: 50, think: 8 * time.Microsecond, serial: true}.compare(t)
	require.Greater(t, throughput, 0.98)
	require.Greater(t, found, 6.0)
}

func TestCoalescingCostsClientsFarAwayLittle(t *testing.T) {
	throughput, _ := coalesceModel{clients: 64, think: 500 * time.Microsecond}.compare(t)
	require.Greater(t, throughput, 0.85)
}

func TestCoalescingLetsAChainBe(t *testing.T) {
	throughput, _ := coalesceModel{clients: 50, think: 15 * time.Microsecond, turns: true}.compare(t)
	require.Greater(t, throughput, 0.97)
}

func TestCoalescingLetsFewClientsBe(t *testing.T) {
	for clients := 1; clients <= 15; clients += 4 {
		throughput, _ := coalesceModel{clients: clients, think: 30 * time.Microsecond}.compare(t)
		require.Greater(t, throughput, 0.999)
	}
}

func TestCoalescingLetsRareRequestsBe(t *testing.T) {
	throughput, found := coalesceModel{clients: 100, think: 5 * time.Millisecond}.compare(t)
	require.Greater(t, throughput, 0.999)
	require.Less(t, found, 1.5)
}

func TestCoalescingStopsWhenAWaiterIsServed(t *testing.T) {
	m := coalesceModel{clients: 50, think: 8 * time.Microsecond, serial: true}
	_, rounds := m.run(time.Second)
	m.serves, m.longest = true, 200*time.Microsecond
	_, serving := m.run(time.Second)
	require.Equal(t, rounds, serving, "a loop waited although each round served a waiter")
}

func TestCoalescingIsSwitchedOff(t *testing.T) {
	var c coalescing
	conns := make([]loopConn, 64)
	now := time.Unix(1_800_000_000, 0)
	step := func(longest time.Duration) (waited time.Duration) {
		for range 10 * int(coalesceWindow/(40*time.Microsecond)) {
			for i := range 4 {
				c.count(&conns[(int(now.UnixMicro())+i)%len(conns)])
			}
			wait := time.Duration(0)
			if c.due() {
				wait = c.after(now, longest, 0)
			}
			waited += wait
			now = now.Add(max(40*time.Microsecond, wait))
		}
		return waited
	}
	require.Positive(t, step(200*time.Microsecond))
	step(0)
	require.Zero(t, step(0))
}
