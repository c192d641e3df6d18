//go:build linux

package transport

import (
	"time"

	"golang.org/x/sys/unix"
)

// A loop that is faster than its clients wakes up for each request: two system calls and a switch of
// threads for one command. While many clients keep it busy, it lets requests gather for a moment instead,
// as network cards do with interrupts (interrupt coalescing), and answers them in one round. Clients on the
// same machine are faster for it, too.
//
// Waiting would be wrong where one client's request depends on another's: the holders of a hot lock, workers
// at a queue. So a loop does not wait while clients that wait in a command are served, while waiting brings
// few requests, and while it brings fewer than not waiting did. docs/decisions/0012 tells what was measured.

const (
	// coalesceWindow is how long requests are counted before something is decided.
	coalesceWindow = 8 * time.Millisecond
	// coalesceShare is the part of the time between two requests of one client,
	// 1/coalesceShare, that rounds are apart.
	coalesceShare = 4
	// coalesceWorth is how many requests a round must find for waiting to be worth it.
	coalesceWorth = 4
	// coalescePhase is after how many windows with waiting there is one without, to compare.
	coalescePhase = 15
	// leastCoalescePause and mostCoalescePause bound for how many windows waiting is let be when it was not
	// worth it. The pause doubles when that happens again.
	leastCoalescePause, mostCoalescePause = 4, 256
	// coalesceGlance is after how many rounds a loop that does not wait looks at the clock, which
	// costs as much as some commands.
	coalesceGlance = 8
	// leastCoalesceWait is the shortest wait that is worth a system call.
	leastCoalesceWait = 5 * time.Microsecond
)

// coalescing decides how far apart the rounds of a loop are.
type coalescing struct {
	window  time.Time // when this one began
	events  int       // in this window
	clients int       // that they were of
	epoch   uint32    // of the window: a connection that has another has not been counted

	rounds   int           // since the clock was looked at
	round    time.Time     // when the running one began
	waited   bool          // it was waited for
	first    int           // events of the window before it
	interval time.Duration // rounds begin so far apart; 0: at once
	waits    int           // rounds of the window that were waited for
	gathered int           // what they found

	// without and with are requests a second, averaged over windows without waiting and with it.
	without, with float64
	phase         int    // windows with waiting since the last one without
	pause         int    // windows for which waiting is let be
	penalty       int    // how long the last such pause was, halved each time that waiting was worth it since
	served        uint64 // waiters of the server, when it was looked at last
}

// count counts an event of a connection.
func (c *coalescing) count(conn *loopConn) {
	c.events++
	if conn.epoch != c.epoch {
		conn.epoch = c.epoch
		c.clients++
	}
}

// due reports whether after is to be called at the end of this round.
func (c *coalescing) due() bool {
	c.rounds++
	return c.interval > 0 || c.rounds >= coalesceGlance
}

// after is called at the end of a round and returns how long the loop should wait before the next. Rounds are
// at most longest apart; served counts the waiters that have been served.
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

// average moves an average, 0 if there is none yet, towards a new value by one part in n.
func average(old, value, n float64) float64 {
	if old == 0 {
		return value
	}
	return old + (value-old)/n
}

// sleep waits until the bell rings, for a while at most, and not for the 50 us longer that the
// kernel allows itself by default.
func (d *loopDriver) sleep(wait time.Duration) {
	_, _, _ = unix.RawSyscall6(unix.SYS_PRCTL, unix.PR_SET_TIMERSLACK, 1, 0, 0, 0, 0)
	_, _ = unix.Ppoll([]unix.PollFd{{Fd: int32(d.bell), Events: unix.POLLIN}}, &unix.Timespec{Nsec: int64(wait)}, nil)
}
