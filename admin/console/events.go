package console

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lockserver/internal/checkhistory"
)

// eventsShown is the number of events on the page of a lock.
const eventsShown = 20

// eventView is an event of a lock, in words.
type eventView struct {
	At          string // the time, UTC
	Owner, Text string
	Bad         bool // an owner lost the lock, or did not get it
}

// eventWords says what happened to an owner, by the event of LOCK.HISTORY and its reason. Words for the event
// alone stand for all reasons that are not named.
var eventWords = map[string]string{
	"queued":               "began to wait",
	"granted":              "got it",
	"granted again":        "got it once more",
	"granted upgraded":     "has it exclusively now",
	"granted renamed":      "has it under this name now",
	"released":             "gave it back",
	"released partly":      "gave back a part, and holds it still",
	"released downgraded":  "holds it shared now",
	"released upgraded":    "gave its shared hold for an exclusive one",
	"released undone":      "did not receive the grant: it was taken back",
	"released script":      "gave it back by a script",
	"renewed-by-hand":      "renewed the lease",
	"expired":              "lost it: the lease ended",
	"forced":               "lost it: LOCK.FORCE took it",
	"asked":                "was asked to let go",
	"lost":                 "lost it",
	"lost deleted":         "lost it: the key was deleted",
	"lost overwritten":     "lost it: the key was overwritten",
	"lost renamed":         "lost it here: the key was renamed",
	"lost flushed":         "all locks of the database were lost: it was flushed",
	"lost swapped":         "all locks of the database were lost: SWAPDB",
	"refused":              "did not get it",
	"refused held":         "did not wait for it, and did not get it",
	"refused timeout":      "waited in vain: its time was over",
	"refused cancelled":    "waited in vain: the wait was cancelled",
	"refused disconnected": "waited in vain: it disconnected",
	"refused limit":        "may not wait: there are too many waits",
	"refused wrongtype":    "waited in vain: the key is no lock any more",
	"refused denied":       "waited in vain: its user has no right to the key any more",
	"refused failover":     "waited in vain: another server leads",
	"deadlock":             "was refused: its wait would have closed a deadlock cycle",
	"confirmed":            "confirmed the grant",
	"unconfirmed":          "lost it: the grant was not confirmed in time",
}

// badEvents are the events by which an owner loses the lock, or does not get it.
var badEvents = []string{"expired", "forced", "lost", "refused", "deadlock", "unconfirmed"}

// newEventView writes an event in words.
func newEventView(l *checkhistory.Line) eventView {
	e := eventView{At: time.UnixMilli(l.TimeMS).UTC().Format("15:04:05.000"), Owner: l.Owner, Bad: slices.Contains(badEvents, l.Event)}
	e.Text = eventWords[strings.TrimSpace(l.Event+" "+l.Reason)]
	if e.Text == "" {
		e.Text = eventWords[l.Event]
	}
	if e.Text == "" { // an event of a newer server
		e.Text = strings.TrimSpace(l.Event + " " + l.Reason)
	}
	if l.Permits > 0 {
		e.Text += fmt.Sprintf(" (%d permit%s)", l.Permits, map[bool]string{true: "s"}[l.Permits != 1])
	}
	if l.HeldMS != nil {
		e.Text += " after " + lasting(*l.HeldMS)
	}
	if l.WaitedMS != nil && *l.WaitedMS > 0 {
		e.Text += ", after waiting " + lasting(*l.WaitedMS)
	}
	return e
}

// eventsOf returns the latest events, the latest first.
func eventsOf(lines []checkhistory.Line) (list []eventView) {
	for i := len(lines) - 1; i >= 0 && len(list) < eventsShown; i-- {
		list = append(list, newEventView(&lines[i]))
	}
	return list
}
