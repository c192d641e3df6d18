package inspect

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"lockserver/internal/checkhistory"
)

// Then is the state of a lock at a time in the past.
type Then struct {
	Key string    `json:"key"`
	At  time.Time `json:"at"`
	// Since is the time of the first known event. Reason is why earlier events are not known.
	Since   time.Time           `json:"known_since"`
	Reason  string              `json:"known_since_reason"`
	Holders []checkhistory.Span `json:"holders"`
	Waiters []checkhistory.Span `json:"waiters"`
	Next    []checkhistory.Line `json:"next"` // the events that follow
}

// mostOfKey limits the events before and after the time that are read.
const (
	mostOfKey = 10_000
	mostNext  = 10
)

// WhyAt finds out from the history how a lock was held at a time in the past.
func (s *Server) WhyAt(key string, at time.Time) (*Then, error) {
	before, err := s.history(&Events{Key: key, Until: at, Count: mostOfKey}, -1)
	if err != nil {
		return nil, err
	}
	if before.Reason == "off" {
		return nil, errors.New("the server keeps no history: lock-history-bytes is 0")
	}
	last := int64(0)
	if n := len(before.Lines); n > 0 {
		last = before.Lines[n-1].ID
	}
	behind, err := s.history(&Events{Key: key, Since: at.Add(time.Millisecond), Count: mostOfKey}, last)
	if err != nil {
		return nil, err
	}
	t := &Then{Key: key, At: at, Since: time.UnixMilli(before.SinceMS), Reason: before.Reason, Next: behind.Lines[:min(len(behind.Lines), mostNext)]}
	spans := checkhistory.SpansOf(append(before.Lines, behind.Lines...))
	if l, err := s.Lock(key); err == nil && l != nil && len(l.Sharers) == 0 && l.Since != nil && spans.HoldOf(l.Token) == nil {
		spans.Holds = append(spans.Holds, heldNow(l)) // the grant is older than the history
	}
	t.Holders, t.Waiters = covering(spans.Holds, at), covering(spans.Waits, at)
	return t, nil
}

// covering returns the spans that include a time, in the order of their beginnings.
func covering(spans []*checkhistory.Span, at time.Time) []checkhistory.Span {
	list := []checkhistory.Span{}
	for _, p := range spans {
		if p.Covers(at.UnixMilli()) {
			list = append(list, *p)
		}
	}
	slices.SortStableFunc(list, func(a, b checkhistory.Span) int { return cmp.Compare(a.FromMS, b.FromMS) })
	return list
}

// heldNow returns the hold of the present holder.
func heldNow(l *Lock) *checkhistory.Span {
	p := &checkhistory.Span{Owner: l.Owner, Token: l.Token, Mode: "exclusive", FromMS: l.Since.UnixMilli(), Trace: l.Trace}
	if l.Client != nil {
		p.ClientID, p.ClientAddress = l.Client.ID, l.Client.Address
	}
	return p
}

// PrintJSON writes the state as one object.
func (t *Then) PrintJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(t)
}

// Print writes the state for a person.
func (t *Then) Print(w io.Writer) {
	fmt.Fprintf(w, "%s at %s\n", printable(t.Key), clock(t.At))
	if t.At.Before(t.Since) {
		fmt.Fprintf(w, "  the server knows what happened since %s only (%s)\n", clock(t.Since), t.Reason)
	}
	if len(t.Holders) == 0 {
		fmt.Fprintln(w, "  held by   no owner, as far as the history knows")
	}
	for i := range t.Holders {
		fmt.Fprintf(w, "  held by   %s\n", spanText(&t.Holders[i], t.At))
	}
	fmt.Fprintf(w, "  waiting   %d\n", len(t.Waiters))
	for i := range t.Waiters {
		fmt.Fprintf(w, "    %2d. %s\n", i+1, spanText(&t.Waiters[i], t.At))
	}
	if len(t.Next) > 0 {
		fmt.Fprintln(w, "  then")
	}
	for i := range t.Next {
		fmt.Fprintf(w, "    %s\n", eventText(&t.Next[i]))
	}
}

// spanText describes a span, relative to a time within it.
func spanText(p *checkhistory.Span, at time.Time) string {
	var b strings.Builder
	b.WriteString(printable(p.Owner))
	if p.Token > 0 {
		fmt.Fprintf(&b, ", token %d", p.Token)
	}
	if p.Mode != "" && p.Mode != "exclusive" {
		fmt.Fprintf(&b, ", %s", p.Mode)
	}
	if p.Permits > 0 {
		fmt.Fprintf(&b, " %d", p.Permits)
	}
	if p.FromMS == 0 {
		b.WriteString(", since before the history begins")
	} else {
		fmt.Fprintf(&b, ", since %s (%s)", clock(time.UnixMilli(p.FromMS)), millis(at.UnixMilli()-p.FromMS))
	}
	if p.ToMS == 0 {
		b.WriteString(", still")
	} else {
		fmt.Fprintf(&b, ", until %s: %s", clock(time.UnixMilli(p.ToMS)), p.End)
	}
	if p.ClientID > 0 {
		fmt.Fprintf(&b, ", client %d at %s", p.ClientID, printable(p.ClientAddress))
	}
	if p.Trace != "" {
		fmt.Fprintf(&b, ", trace %s", p.Trace)
	}
	return b.String()
}

func clock(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05.000") }
