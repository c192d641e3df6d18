//go:build raft && linux

package moves

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// histories are those of all keys.
type histories struct {
	begun time.Time

	mu     sync.Mutex
	of     map[string][]event
	faults []string
}

func newHistories() *histories { return &histories{begun: time.Now(), of: map[string][]event{}} }

// nowUS returns the microseconds since the begin.
func (h *histories) nowUS() int64 { return time.Since(h.begun).Microseconds() }

// add adds an event to the history of a key.
func (h *histories) add(key string, e event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.of[key] = append(h.of[key], e)
}

// events returns the history of a key.
func (h *histories) events(key string) []event {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.of[key])
}

// served reports whether the last event of a key has a reply, and began after a time.
func (h *histories) served(key string, sinceUS int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.of[key]
	return len(all) > 0 && all[len(all)-1].outcome == done && all[len(all)-1].first > sinceUS
}

// summary counts the events of all keys, by act and outcome.
func (h *histories) summary() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	counts := map[string]int{}
	for _, all := range h.of {
		for _, e := range all {
			counts[e.act.String()+" "+e.outcome.String()]++
			if e.queuedUS > 0 && e.outcome == done {
				counts["queued and granted"]++
			}
		}
	}
	return fmt.Sprint(counts)
}

// wrong records something that never may be.
func (h *histories) wrong(key, what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.faults = append(h.faults, key+": "+what)
}

// found returns what was wrong so far.
func (h *histories) found() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.faults...)
}

// shown is how many events of a history a failure shows.
const shown = 60

// tell returns the events of a key that name one of the ids, or the last ones.
func (h *histories) tell(key, fault string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	named := map[string]bool{}
	for _, word := range strings.FieldsFunc(fault, func(r rune) bool { return strings.ContainsRune(" ,:'", r) }) {
		named[word] = true
	}
	all := h.of[key]
	from, to := max(0, len(all)-shown), len(all)
	for i, e := range all {
		if named[e.id] {
			from, to = max(0, i-shown/2), min(len(all), i+shown/2)
			break
		}
	}
	var b strings.Builder
	for i, e := range all {
		if i >= from && i < to || named[e.id] {
			fmt.Fprintf(&b, "  %s\n", e)
		}
	}
	return b.String()
}
