package inspect

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// chainLimit limits how many holders `why` follows from lock to lock.
const chainLimit = 16

// Reason is a lock, with the locks that its holder waits for, and so on.
type Reason struct {
	Lock   *Lock    `json:"lock"` // nil: the lock is free
	Key    string   `json:"key"`
	Behind []Reason `json:"holder_waits_for,omitempty"`
	// now is the time of the question, by the server's clock.
	now time.Time
}

// Why finds out why a lock is not free: its holder, its waiters, and the locks that the holder waits for.
func (s *Server) Why(key string) (*Reason, error) {
	r, err := s.reason(key, map[string]bool{})
	if err == nil {
		r.now = s.now()
	}
	return r, err
}

func (s *Server) reason(key string, seen map[string]bool) (*Reason, error) {
	seen[key] = true
	l, err := s.Lock(key)
	if err != nil {
		return nil, err
	}
	r := &Reason{Key: key, Lock: l}
	if l == nil {
		return r, nil
	}
	for _, owner := range l.owners()[:min(len(l.owners()), chainLimit)] {
		waits, err := s.waits("OWNER", owner)
		if err != nil {
			return nil, err
		}
		for _, w := range waits {
			l.WaitsFor = append(l.WaitsFor, w.keys...)
		}
	}
	for _, next := range l.WaitsFor {
		if seen[next] || len(seen) == chainLimit {
			continue
		}
		behind, err := s.reason(next, seen)
		if err != nil {
			return nil, err
		}
		r.Behind = append(r.Behind, *behind)
	}
	return r, nil
}

// PrintJSON writes the reason as one object.
func (r *Reason) PrintJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// Print writes the reason for a person. Ages are by the server's time.
func (r *Reason) Print(w io.Writer) { r.print(w, r.now, "") }

func (r *Reason) print(w io.Writer, now time.Time, indent string) {
	l := r.Lock
	if l == nil {
		fmt.Fprintf(w, "%s%s is free\n", indent, printable(r.Key))
		return
	}
	in := indent + "  "
	if l.Latch {
		fmt.Fprintf(w, "%s%s is a latch, its count is %d\n", indent, printable(l.Key), l.Holds)
	} else {
		fmt.Fprintf(w, "%s%s is held by %s%s\n", indent, printable(l.Key), printable(l.Owner), holds(l))
	}
	l.printHolders(w, in)
	if l.Since != nil {
		fmt.Fprintf(w, "%ssince     %s (%s)\n", in, l.Since.UTC().Format(time.RFC3339), span(now.Sub(*l.Since)))
	}
	if !l.Latch || l.TTLMS >= 0 {
		fmt.Fprintf(w, "%slease     %s\n", in, lease(l))
	}
	if l.ConfirmBy != nil {
		fmt.Fprintf(w, "%sconfirm   the owner has %s to confirm the grant\n", in, span(l.ConfirmBy.Sub(now)))
	}
	if l.Token != 0 {
		fmt.Fprintf(w, "%stoken     %d\n", in, l.Token)
	}
	if l.Trace != "" {
		fmt.Fprintf(w, "%strace     %s\n", in, l.Trace)
	}
	switch len(l.Waiters) {
	case 0:
		fmt.Fprintf(w, "%swaiting   none\n", in)
	default:
		fmt.Fprintf(w, "%swaiting   %d\n", in, len(l.Waiters))
	}
	for i, waiter := range l.Waiters {
		until := "without limit"
		if waiter.Deadline != nil {
			until = "gives up in " + span(waiter.Deadline.Sub(now))
		}
		name := printable(waiter.Owner)
		if l.Latch {
			name = "a client"
		}
		fmt.Fprintf(w, "%s  %2d. %s, for %s, %s", in, i+1, name, span(now.Sub(waiter.Since)), until)
		if waiter.Client != nil {
			fmt.Fprintf(w, ", %s", describe(waiter.Client))
		}
		if waiter.Notify {
			fmt.Fprint(w, ", NOTIFY")
		}
		if waiter.Trace != "" {
			fmt.Fprintf(w, ", trace %s", waiter.Trace)
		}
		fmt.Fprintln(w)
	}
	for i := range r.Behind {
		fmt.Fprintf(w, "%s%s waits for\n", in, printable(l.Owner))
		r.Behind[i].print(w, now, in+"  ")
	}
}

// printHolders prints the shard of the lock, and who holds it.
func (l *Lock) printHolders(w io.Writer, in string) {
	if l.Shard > 0 {
		fmt.Fprintf(w, "%sshard     %d\n", in, l.Shard)
	}
	switch {
	case l.Latch:
	case l.Permits != nil:
		fmt.Fprintf(w, "%spermits   %d, %d available, %d holders\n", in, l.Permits.Limit, l.Permits.Available, len(l.Sharers))
	case len(l.Sharers) > 0: // each holder has its own client, lease and token
		fmt.Fprintf(w, "%sshared    by %d\n", in, len(l.Sharers))
	case l.Client != nil:
		fmt.Fprintf(w, "%sclient    %s\n", in, describe(l.Client))
	default:
		fmt.Fprintf(w, "%sclient    unknown: its connection is gone, or the lock was not taken by LOCK\n", in)
	}
}

// lease describes the end of the lease, and whether a client renews it.
func lease(l *Lock) string {
	switch {
	case l.Watchdog:
		return fmt.Sprintf("%s left, renewed by the server as long as the client lives", millis(l.TTLMS))
	case l.TTLMS < 0:
		return "without end"
	}
	return millis(l.TTLMS) + " left"
}

// holds formats the hold count of a lock, or the taken permits of a semaphore.
func holds(l *Lock) string {
	if l.Permits != nil {
		return fmt.Sprintf(", %d permits", l.Holds)
	}
	return times(l.Holds)
}

func times(holds int64) string {
	if holds == 1 {
		return ""
	}
	return fmt.Sprintf(", %d times", holds)
}

func describe(c *Client) string {
	if c.Name == "" {
		return fmt.Sprintf("%s (id %d)", printable(c.Address), c.ID)
	}
	return fmt.Sprintf("%s at %s (id %d)", printable(c.Name), printable(c.Address), c.ID)
}
