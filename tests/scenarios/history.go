package scenarios

import (
	"cmp"
	"fmt"
	"slices"
)

// Request is a line that an agent reads. Fields without use in a request are left out.
type Request struct {
	ID int `json:"id"`
	// Do is the kind: connect, acquire, release, guard, check, cancel, work, rest, stalled or close.
	Do string `json:"do"`

	// For connect: Kind is server, sentinel or cluster. There are the addresses as host:port, the name of the
	// master, and how long a call waits for replies of the server.
	Kind      string   `json:"kind,omitempty"`
	Addrs     []string `json:"addrs,omitempty"`
	Master    string   `json:"master,omitempty"`
	TimeoutMS int      `json:"timeout_ms,omitempty"`

	// As is the runner's name for a lock in later requests.
	As string `json:"as,omitempty"`
	// Key is the key of the lock. WaitMS is how long acquire waits for other holders; -1 means no limit.
	// LeaseMS is the length of a fixed lease; 0 means that the server renews it. DeadlineMS is a limit of the
	// caller's; 0 means none. Locks with the same Task have the same owner.
	Key        string `json:"key,omitempty"`
	WaitMS     int    `json:"wait_ms,omitempty"`
	LeaseMS    int    `json:"lease_ms,omitempty"`
	DeadlineMS int    `json:"deadline_ms,omitempty"`
	Task       string `json:"task,omitempty"`

	// Words is the command for guard.
	Words []string `json:"words,omitempty"`

	// For work: Workers threads of the program take locks at random keys of Keys until rest. Quiet means
	// without events.
	Workers int      `json:"workers,omitempty"`
	Keys    []string `json:"keys,omitempty"`
	Quiet   bool     `json:"quiet,omitempty"`
}

// Answer is the line that an agent writes in answer to a request.
type Answer struct {
	ID int   `json:"id"`
	At int64 `json:"at"` // microseconds
	// Error is empty, or one of: not_acquired, deadline, cancelled, deadlock, no_connection, closed,
	// released, lost, other. Text is the error's own text. Reason is the reason of a loss.
	Error  string `json:"error"`
	Text   string `json:"text"`
	Reason string `json:"reason"`
	Token  int64  `json:"token"`
	// Sections is the number of sections that the workers have completed. NoAnswer is the number of their
	// calls without an answer.
	Sections int `json:"sections"`
	NoAnswer int `json:"no_answer"`
	// Stalled is the longest delay of the agent's own timer, in microseconds.
	Stalled int64 `json:"stalled"`
}

// Kinds of events.
const (
	In     = "in"      // a lock was acquired; written after the call has returned
	Out    = "out"     // its holder is about to release it
	Lost   = "lost"    // the client reports that it is lost
	Failed = "failure" // the agent has found a fault
)

// Event is a line that an agent writes without a request.
type Event struct {
	Event  string `json:"event"`
	At     int64  `json:"at"` // microseconds
	Key    string `json:"key"`
	Token  int64  `json:"token"`
	Reason string `json:"reason"` // the reason of a loss, or the text of a failure

	// Client is the name of the agent. The runner sets it.
	Client string `json:"-"`
}

// Pause is a time in which an agent was stopped, in microseconds.
type Pause struct {
	Client   string
	From, To int64
}

// History holds the events that all agents have written in a scenario.
type History struct {
	Events []Event
	Pauses []Pause
	// Taken reports whether an operator took away a lock at this key. The next holder may then get its lock
	// before the old holder learns of the loss.
	Taken func(key string) bool
	// MayLose reports whether the scenario allows this loss; nil allows no loss.
	MayLose func(e Event) bool
}

// span is the time in which a client held a lock, according to the client.
type span struct {
	in    Event
	end   int64  // the time when the holder released it or learned of the loss
	ended string // Out, Lost, or empty while it is held
}

// Check returns the faults in the history.
func (h *History) Check() (faults []string) {
	events := slices.Clone(h.Events)
	slices.SortStableFunc(events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	type hold struct {
		key   string
		token int64
	}
	spans := make(map[hold]*span)
	byKey := make(map[string][]*span)
	losses := make(map[hold]int)
	for _, e := range events {
		of := hold{e.Key, e.Token}
		switch e.Event {
		case Failed:
			faults = append(faults, fmt.Sprintf("%s: %s", e.Client, e.Reason))
		case In:
			if s := spans[of]; s != nil {
				faults = append(faults, fmt.Sprintf("token %d of %s was granted to %s and to %s", e.Token, e.Key, s.in.Client, e.Client))
			}
			spans[of] = &span{in: e}
			byKey[e.Key] = append(byKey[e.Key], spans[of])
		case Out, Lost:
			if s := spans[of]; s != nil && s.ended == "" {
				s.end, s.ended = e.At, e.Event
			}
		}
		if e.Event != Lost {
			continue
		}
		losses[of]++
		if losses[of] == 2 {
			faults = append(faults, fmt.Sprintf("%s: the loss of %s (token %d) is reported twice", e.Client, e.Key, e.Token))
		}
		if h.MayLose == nil || !h.MayLose(e) {
			faults = append(faults, fmt.Sprintf("%s: %s (token %d) is lost (%s) while its owner and the server live", e.Client, e.Key, e.Token, e.Reason))
		}
	}
	for key, list := range byKey {
		faults = append(faults, h.checkKey(key, list)...)
	}
	slices.Sort(faults)
	return faults
}

// checkKey checks the holders of a key, in the order of their acquisitions.
func (h *History) checkKey(key string, list []*span) (faults []string) {
	for i, s := range list[1:] {
		before := list[i]
		if s.in.Token <= before.in.Token {
			faults = append(faults, fmt.Sprintf("%s: token %d of %s comes after %d of %s",
				key, s.in.Token, s.in.Client, before.in.Token, before.in.Client))
		}
		if before.ended != "" && before.end <= s.in.At || h.Taken != nil && h.Taken(key) || h.stopped(before, s.in.At) {
			continue
		}
		faults = append(faults, fmt.Sprintf("%s: %s (token %d) has it while %s (token %d) has not heard of its end",
			key, s.in.Client, s.in.Token, before.in.Client, before.in.Token))
	}
	return faults
}

// stopped reports whether the holder's program was stopped at a time. Then it cannot learn of a loss.
func (h *History) stopped(holder *span, at int64) bool {
	return slices.ContainsFunc(h.Pauses, func(p Pause) bool {
		return p.Client == holder.in.Client && p.From <= at && at <= p.To && (holder.ended == "" || holder.end >= p.To)
	})
}

// Sections returns the number of locks that a client got.
func (h *History) Sections(client string) (n int) {
	for _, e := range h.Events {
		if e.Event == In && e.Client == client {
			n++
		}
	}
	return n
}
