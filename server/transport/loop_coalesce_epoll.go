//go:build linux

package transport

import (
	"time"

	"golang.org/x/sys/unix"
)

// A loop that is faster than its clients wakes up for each request: two system calls and a switch of threads
// for one command. While many clients keep it busy, it waits a moment for more requests instead, as network
// cards do with interrupts (interrupt coalescing), and answers them in one round. Clients on the same machine
// become faster by this, too.
//
// Waiting would be wrong if one client's request depends on another's: the holders of a contended lock,
// workers at a queue. So a loop does not wait while waiting clients are served, while waiting brings few
// requests, and while it brings fewer requests than without waiting. docs/decisions/0012 has the
// measurements.

const (
	// coalesceWindow is the time in which requests are counted before a decision.
	coalesceWindow = 8 * time.Millisecond
	// coalesceShare gives the time between rounds: 1/coalesceShare of the time between two requests of a
	// client.
	coalesceShare = 4
	// coalesceWorth is the number of requests in a round from which on waiting is worth its cost.
	coalesceWorth = 4
	// coalescePhase is the number of windows with waiting before a window without waiting, for comparison.
	coalescePhase = 15
	// leastCoalescePause and mostCoalescePause limit the number of windows without waiting after waiting was
	// not worth its cost. The pause doubles when that happens again.
	leastCoalescePause, mostCoalescePause = 4, 256
	// coalesceGlance is the number of rounds between two looks at the clock, for a loop that does not wait. A
	// look costs as much as some commands.
	coalesceGlance = 8
	// leastCoalesceWait is the shortest wait that is worth a system call.
	leastCoalesceWait = 5 * time.Microsecond
)

// coalescing decides the time between the rounds of a loop.
type coalescing struct {
	window  time.Time // when this window began
	events  int       // in this window
	clients int       // number of clients with events in this window
	epoch   uint32    // number of the window: a connection with another number has not been counted

	rounds   int           // since the last look at the clock
	round    time.Time     // when the running one began
	waited   bool          // the loop waited before the running round
	first    int           // events of the previous window
	interval time.Duration // wanted time between the beginnings of rounds; 0: no waiting
	waits    int           // rounds of the window with waiting
	gathered int           // requests in the rounds with waiting

	// without and with are the requests in a second, averaged over windows without and with waiting.
	without, with float64
	phase         int    // windows with waiting since the last window without
	pause         int    // windows that are left without waiting
	penalty       int    // length of the last such pause, halved each time that waiting was worth its cost
	served        uint64 // Served at the last look
}

// count counts an event of a connection.
func (c *coalescing) count(conn *loopConn) {
	c.events++
	if conn.epoch != c.epoch {
		conn.epoch = c.epoch
		c.clients++
	}
}

// due reports whether the loop must call after at the end of this round.
func (c *coalescing) due() bool {
	c.rounds++
	return c.interval > 0 || c.rounds >= coalesceGlance
}

// after is called at the end of a round. It returns how long the loop should wait before the next. Rounds are
// at most longest apart. served is the number of waiters that have been served.
func (c *coalescing) after(now time.Time, longest time.Duration, served uint64) time.Duration {
	c.rounds = 0
	if c.waited {
		c.waits++
		c.gathered += c.events - c.first
	}
	if served != c.served {
		c.served = served
		c.interval, c.pause = 0, max(c.pause, 1)
	}
	if took := now.Sub(c.window); took >= coalesceWindow {
		c.decide(took, longest)
		c.window, c.events, c.clients, c.waits, c.gathered = now, 0, 0, 0, 0
		c.epoch++
	}
	wait := c.interval - now.Sub(c.round)
	if wait < leastCoalesceWait {
		wait = 0
	}
	c.round, c.first, c.waited = now.Add(wait), c.events, wait > 0
	return wait
}

// decide sets the interval for the next window.
func (c *coalescing) decide(took, longest time.Duration) {
	rate := float64(c.events) / took.Seconds()
	if c.interval == 0 {
		c.without = average(c.without, rate, 8)
		if c.pause > 0 {
			c.pause--
			return
		}
		apart := took / time.Duration(max(c.events, 1))
		interval := min(apart*time.Duration(c.clients)/coalesceShare, longest)
		if interval >= coalesceWorth*apart {
			c.interval, c.phase = interval, 0
		}
		return
	}
	c.with = average(c.with, rate, 32)
	c.phase++
	switch {
	case c.gathered < c.waits*coalesceWorth/2, c.phase == coalescePhase && c.with < c.without*7/8:
		c.penalty = min(max(2*c.penalty, leastCoalescePause), mostCoalescePause)
		c.interval, c.pause, c.with = 0, c.penalty, 0
	case c.phase == coalescePhase:
		c.interval = 0
		c.penalty /= 2
	}
}

// average moves an average towards a new value by one part in n. An average of 0 has no value yet.
func average(old, value, n float64) float64 {
	if old == 0 {
		return value
	}
	return old + (value-old)/n
}

// sleep waits until the bell rings, at most for wait. It avoids the 50 us that the kernel adds to a wait by
// default.
func (d *loopDriver) sleep(wait time.Duration) {
	_, _, _ = unix.RawSyscall6(unix.SYS_PRCTL, unix.PR_SET_TIMERSLACK, 1, 0, 0, 0, 0)
	_, _ = unix.Ppoll([]unix.PollFd{{Fd: int32(d.bell), Events: unix.POLLIN}}, &unix.Timespec{Nsec: int64(wait)}, nil)
}
