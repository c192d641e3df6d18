package main

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// record holds what happened, with times since the start.
type record struct {
	workers, locks, servers int
	length                  time.Duration
	holds                   []hold
	waits                   []wait
	states                  []state
	kills                   []kill
	writes                  int
	wrong                   []string // the violations
}

// hold is the time in which a worker had a lock.
type hold struct {
	worker, lock int
	token        int64
	from, to     time.Duration
	lost         bool
}

// wait is the time in which a worker waited for a lock.
type wait struct {
	worker, lock int
	from, to     time.Duration
}

// state is a time in which a server had the same condition.
type state struct {
	server   int
	is       condition
	from, to time.Duration
}

type condition int

const (
	down condition = iota
	up
	leads
)

// kill is the kill of a server.
type kill struct {
	server int
	led    bool
	at     time.Duration
}

// history collects the record.
type history struct {
	mu    sync.Mutex
	start time.Time
	r     record
	last  []state // the present state of each server
}

func newHistory(o options) *history {
	h := &history{r: record{workers: o.workers, locks: o.locks, servers: 3}}
	if o.addresses != nil {
		h.r.servers = len(o.addresses)
	}
	h.begin()
	return h
}

// begin sets the start of the time.
func (h *history) begin() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.start, h.last = time.Now(), make([]state, h.r.servers)
	for i := range h.last {
		h.last[i].server = i
	}
}

func (h *history) now() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Since(h.start)
}

// end ends all states that are still open.
func (h *history) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.r.length = time.Since(h.start)
	for _, s := range h.last {
		s.to = h.r.length
		h.r.states = append(h.r.states, s)
	}
}

func (h *history) holds(s hold) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.r.holds = append(h.r.holds, s)
}

func (h *history) waited(worker, lock int, from time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.r.waits = append(h.r.waits, wait{worker, lock, from, time.Since(h.start)})
}

func (h *history) wrote() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.r.writes++
}

// mostWrong is the largest number of violations in the report: usually there are many or none.
const mostWrong = 20

func (h *history) isWrong(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.r.wrong) < mostWrong {
		h.r.wrong = append(h.r.wrong, fmt.Sprintf(format, args...))
	}
}

// kills records that a server has been killed.
func (h *history) kills(server int, led bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := time.Since(h.start)
	h.r.kills = append(h.r.kills, kill{server, led, at})
	h.become(server, down, at)
}

// saw records the condition of a server; asked is the time of the question. An answer to a question from
// before the last kill is ignored.
func (h *history) saw(server int, is condition, asked time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if asked >= h.last[server].from {
		h.become(server, is, time.Since(h.start))
	}
}

// become begins a new state of a server; the caller holds mu.
func (h *history) become(server int, is condition, at time.Duration) {
	s := &h.last[server]
	if s.is == is {
		return
	}
	s.to = at
	h.r.states = append(h.r.states, *s)
	*s = state{server: server, is: is, from: at}
}

// record returns what was recorded so far.
func (h *history) record() record {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.r
}

// leaderless returns the times from the death of a leader to the next leader.
func (r record) leaderless() (all []wait) {
	for _, k := range r.kills {
		if !k.led {
			continue
		}
		to := r.length
		for _, s := range r.states {
			if s.is == leads && s.from > k.at {
				to = min(to, s.from)
			}
		}
		all = append(all, wait{from: k.at, to: to})
	}
	return all
}

// pauses returns the times from the death of a leader to the first lock that any worker got after it.
func (r record) pauses() (all []time.Duration) {
	for _, k := range r.kills {
		first := time.Duration(-1)
		for _, s := range r.holds {
			if k.led && s.from > k.at && (first < 0 || s.from < first) {
				first = s.from
			}
		}
		if first >= 0 {
			all = append(all, first-k.at)
		}
	}
	return all
}

// killed returns the number of kills, and how many of them hit a leader.
func (r record) killed() (all, leaders int) {
	for _, k := range r.kills {
		if k.led {
			leaders++
		}
	}
	return len(r.kills), leaders
}

// lost returns how many locks were lost.
func (r record) lost() (n int) {
	for _, s := range r.holds {
		if s.lost {
			n++
		}
	}
	return n
}

// report returns a summary as text.
func (r record) report() string {
	var b strings.Builder
	kills, leaders := r.killed()
	fmt.Fprintf(&b, "%d workers had %d locks %d times in %s, and wrote %d times\n", r.workers, r.locks, len(r.holds), r.length.Round(100*time.Millisecond), r.writes)
	fmt.Fprintf(&b, "%d servers were killed, %d of them the leader; ", kills, leaders)
	if p := r.pauses(); len(p) > 0 {
		fmt.Fprintf(&b, "after that the next lock was had within %s; ", slices.Max(p).Round(10*time.Millisecond))
	}
	fmt.Fprintf(&b, "%d locks were lost\n", r.lost())
	if len(r.wrong) == 0 {
		b.WriteString("no worker ever worked without the lock, and nothing acknowledged is missing\n")
	}
	for _, w := range r.wrong {
		fmt.Fprintln(&b, "WRONG:", w)
	}
	return b.String()
}
