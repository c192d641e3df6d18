package checkhistory

import (
	"fmt"
	"io"
	"time"
)

// mostPrinted is how many faults of a kind are printed.
const mostPrinted = 20

// moment is a time as people read it.
func moment(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

// Print writes the report for a person to read.
func (r *Report) Print(w io.Writer) {
	fmt.Fprintf(w, "%d events, %d grants, %d writes\n", r.Events, r.Grants, r.Writes)
	if r.Gaps > 1 {
		fmt.Fprintf(w, "%d gaps: what was held before a gap is not known after it\n", r.Gaps-1)
	}
	few := func(i, n int) bool {
		if i == mostPrinted {
			fmt.Fprintf(w, "  and %d more\n", n-mostPrinted)
		}
		return i < mostPrinted
	}
	for i, o := range r.Overlaps {
		if few(i, len(r.Overlaps)) {
			fmt.Fprintf(w, "OVERLAP  %q: %s held it (%s, token %d, since %s) when %s got it (%s, token %d, at %s)\n", o.Key, o.First.Owner, o.First.Mode,
				o.First.Token, moment(o.First.FromMS), o.Second.Owner, o.Second.Mode, o.Second.Token, moment(o.Second.FromMS))
		}
	}
	for i, f := range r.Fallen {
		if few(i, len(r.Fallen)) {
			fmt.Fprintf(w, "TOKEN    %q: token %d was granted at %s, after %d\n", f.Key, f.Then, moment(f.AtMS), f.Before)
		}
	}
	for i, s := range r.StaleWrites {
		if few(i, len(r.StaleWrites)) {
			fmt.Fprintf(w, "STALE    %q: a write at %s had token %d; token %d was there since %s\n", s.Key, moment(s.AtMS), s.Token, s.Latest, moment(s.SinceMS))
		}
	}
	if r.Unknown > 0 {
		fmt.Fprintf(w, "%d writes have tokens that the history does not know\n", r.Unknown)
	}
	longest := func(what string, of *Wait) {
		if of != nil {
			fmt.Fprintf(w, "longest %s: %s by %s for %q, until %s (%s)\n", what, time.Duration(of.WaitedMS*float64(time.Millisecond)).Round(time.Microsecond),
				of.Owner, of.Key, moment(of.EndMS), of.Event)
		}
	}
	longest("wait", r.LongestWait)
	longest("hold", r.LongestHold)
	if r.OK() {
		fmt.Fprintln(w, "no fault found")
	}
}
