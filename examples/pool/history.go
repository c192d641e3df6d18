package main

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// record is what happened, in time since the beginning.
type record struct {
	workers, locks, servers int
	length                  time.Duration
	holds                   []hold
	waits                   []wait
	states                  []state
	kills                   []kill
	writes                  int
	wrong                   []string // what must not be
}

// hold is a lock that a worker had.
type hold struct {
	worker, lock int
	token        int64
	from, to     time.Duration
	lost         bool
}

// wait is a worker who waited for a lock.
type wait struct {
	worker, lock int
	from, to     time.Duration
}

// state is how a server was for a while.
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

// kill is the end of a server.
type kill struct {
	server int
	led    bool
	at     time.Duration
}

// history writes the record.
type history struct {
	mu    sync.Mutex
	start time.Time
	r     record
	last  []state // of each server, which goes on
}

func newHistory(o options) *history {
	h := &history{r: record{workers: o.workers, locks: o.locks, servers: 3}}
	if o.addresses != nil {
		h.r.servers = len(o.addresses)
	}
	h.begin()
	return h
}

// begin is the moment from which time counts.
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

// end says that all is over.
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

// mostWrong bounds the number of reported violations: where there is one there are many.
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

// saw records the condition of a server when it was asked. An answer from before its death is ignored.
func (h *history) saw(server int, is condition, asked time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if asked >= h.last[server].from {
		h.become(server, is, time.Since(h.start))
	}
}

// become begins another state of a server; the caller holds mu.
func (h *history) become(server int, is condition, at time.Duration) {
	s := &h.last[server]
	if s.is == is {
		return
	}
	s.to = at
	h.r.states = append(h.r.states, *s)
	*s = state{server: server, is: is, from: at}
}

// record is what there is so far.
func (h *history) record() record {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.r
}

// leaderless are the times between the death of a leader and the next one.
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

// pauses are the times between the death of a leader and the first lock that any worker got after it.
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

// killed counts the kills, and those of leaders.
func (r record) killed() (all, leaders int) {
	for _, k := range r.kills {
		if k.led {
			leaders++
		}
	}
	return len(r.kills), leaders
}

// lost counts the locks that were lost.
func (r record) lost() (n int) {
	for _, s := range r.holds {
		if s.lost {
			n++
		}
	}
	return n
}

// report says it in words.
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
