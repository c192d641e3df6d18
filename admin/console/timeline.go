package console

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	"lockserver/internal/call"
	"lockserver/internal/checkhistory"
)

// The time line of a lock: a row for each owner, with bars for its holds and for its waits. Of a semaphore
// also the permits in use.

// The limits and measures of the picture, in units of a pixel.
const (
	eventsRead   = 500
	mostRows     = 16
	lineWidth    = 1180
	nameWidth    = 150
	lineRow      = 24
	lineTop      = 8
	lineFoot     = 22
	leastSpanMS  = 10_000
	mostSpanMS   = 3_600_000
	leastBar     = 2
	lineTicks    = 5
	lineInner    = lineWidth - nameWidth - 10
	permitsHigh  = 72
	timeInAxis   = "15:04:05"
	roundTimesMS = 1000
)

// choice is a length of time that can be chosen.
type choice struct {
	ms   int64
	text string
}

// choices are the lengths of time that can be chosen, the shortest first.
var choices = []choice{{leastSpanMS, "10 s"}, {60_000, "1 min"}, {300_000, "5 min"}, {900_000, "15 min"}, {mostSpanMS, "1 h"}}

// window is the time that a time line shows.
type window struct {
	SpanMS  int64 // 0: all that is known
	UntilMS int64 // 0: it ends now
}

// windowOf reads the window in the address of a page.
func windowOf(q url.Values) (w window) {
	if w.SpanMS = number(q.Get("span")); w.SpanMS != 0 {
		w.SpanMS = min(max(w.SpanMS, leastSpanMS), mostSpanMS)
	}
	w.UntilMS = max(0, number(q.Get("until")))
	return w
}

// timeline is the picture.
type timeline struct {
	Height  int
	FromMS  int64
	ToMS    int64
	Rows    []timelineRow
	Ticks   []timelineTick
	Left    int // the number of owners that are not drawn
	KnownMS int64
	Why     string
	Permits *permitLine // of a semaphore
	Events  []eventView
	// Moves are the links that zoom and scroll.
	Moves []timelineMove
}

// timelineMove is a link to another window.
type timelineMove struct {
	Text, Label, Link, Key string
	Here                   bool
}

// permitLine is the curve of the permits in use.
type permitLine struct {
	Path         string
	LimitY, Foot int
	Limit        int64 // permits of the semaphore
}

// timelineRow is one owner.
type timelineRow struct {
	Owner string
	Bars  []timelineBar
}

// timelineBar is a hold or a wait.
type timelineBar struct {
	X, Y, Width int
	Wait, Bad   bool // Bad: the owner lost the lock, or did not get it
	Title, Text string
}

// timelineTick is a time on the axis.
type timelineTick struct {
	X, Y int
	MS   int64
	Text string
	Last bool // it is at the right border of the picture
}

// readTimeline reads the events of a lock in a window; nil if the server stores no events. lock is the lock
// now, nil if it is free.
func readTimeline(who *viewer, db int, key string, at window, lock *lockView) (*timeline, error) {
	ask := []string{"LOCK.HISTORY", "KEY", key, "COUNT", strconv.Itoa(eventsRead)}
	if at.UntilMS > 0 {
		ask = append(ask, "UNTIL", strconv.FormatInt(at.UntilMS, 10))
	}
	replies, err := who.conn.All([]string{"SELECT", strconv.Itoa(db)}, ask)
	if err == nil {
		err = call.Failure(replies...)
	}
	if err != nil {
		return nil, err
	}
	h := checkhistory.FromReply(replies[1])
	if h.Reason == "off" {
		return nil, nil
	}
	nowMS := who.backend.NowMS()
	t := drawTimeline(&h, nowMS, at)
	if lock != nil && lock.Limit > 0 {
		if at.UntilMS > 0 { // the permits in use then follow from those now
			v, err := who.conn.Do("LOCK.HISTORY", "KEY", key, "COUNT", strconv.Itoa(eventsRead))
			if err != nil {
				return nil, err
			}
			h = checkhistory.FromReply(v)
		}
		t.drawPermits(&h, lock.Holds, lock.Limit)
	}
	t.move(lockLink(db, key), at, nowMS)
	return t, nil
}

// drawTimeline draws the events of a window; nowMS is in milliseconds since 1970.
func drawTimeline(h *checkhistory.History, nowMS int64, at window) *timeline {
	t := &timeline{ToMS: (nowMS/roundTimesMS + 1) * roundTimesMS, KnownMS: h.SinceMS, Why: h.Reason, Events: eventsOf(h.Lines)}
	if at.UntilMS > 0 {
		t.ToMS = min(t.ToMS, at.UntilMS)
	}
	t.FromMS = t.ToMS - leastSpanMS
	if at.SpanMS > 0 {
		t.FromMS = t.ToMS - at.SpanMS
	} else if len(h.Lines) > 0 {
		t.FromMS = min(t.FromMS, h.Lines[0].TimeMS)
	}
	t.FromMS = max(t.FromMS, t.ToMS-mostSpanMS)
	spans := checkhistory.SpansOf(h.Lines)
	rows := make(map[string]*timelineRow)
	latest := make(map[string]int64)
	var owners []string
	draw := func(list []*checkhistory.Span, wait bool) {
		for _, s := range list {
			end := cmp.Or(s.ToMS, t.ToMS)
			if end < t.FromMS || s.FromMS > t.ToMS {
				continue
			}
			row := rows[s.Owner]
			if row == nil {
				row = &timelineRow{Owner: s.Owner}
				rows[s.Owner] = row
				owners = append(owners, s.Owner)
			}
			latest[s.Owner] = max(latest[s.Owner], end)
			row.Bars = append(row.Bars, t.bar(s, end, wait))
		}
	}
	draw(spans.Waits, true)
	draw(spans.Holds, false)
	slices.SortStableFunc(owners, func(a, b string) int { return cmp.Compare(latest[b], latest[a]) })
	t.Left = max(0, len(owners)-mostRows)
	for i, owner := range owners[:len(owners)-t.Left] {
		row := rows[owner]
		for j := range row.Bars {
			row.Bars[j].Y = lineTop + i*lineRow
		}
		t.Rows = append(t.Rows, *row)
	}
	t.Height = lineTop + max(1, len(t.Rows))*lineRow + lineFoot
	for i := range lineTicks + 1 {
		ms := t.FromMS + (t.ToMS-t.FromMS)*int64(i)/lineTicks
		t.Ticks = append(t.Ticks, timelineTick{X: t.x(ms), Y: t.Height - lineFoot, MS: ms, Text: time.UnixMilli(ms).UTC().Format(timeInAxis), Last: i == lineTicks})
	}
	return t
}

// move makes the links that zoom and scroll, and go back to now.
func (t *timeline) move(page string, at window, nowMS int64) {
	span := t.ToMS - t.FromMS
	add := func(text, label, key string, spanMS, untilMS int64, here bool) {
		link := page + "&span=" + strconv.FormatInt(spanMS, 10)
		if untilMS > 0 && untilMS < nowMS {
			link += "&until=" + strconv.FormatInt(untilMS, 10)
		}
		t.Moves = append(t.Moves, timelineMove{Text: text, Label: label, Link: link, Key: key, Here: here})
	}
	if t.FromMS > t.KnownMS {
		add("←", "Earlier", "ArrowLeft", span, t.ToMS-span/2, false)
	}
	if at.UntilMS > 0 {
		add("→", "Later", "ArrowRight", span, t.ToMS+span/2, false)
		add("now", "Back to now", "n", at.SpanMS, 0, false)
	}
	here := slices.IndexFunc(choices, func(c choice) bool { return c.ms == at.SpanMS })
	if here < 0 {
		here = len(choices) // all that is known counts as longer than each of them
	}
	for i, c := range choices {
		add(c.text, "Show this much", map[int]string{here - 1: "+", here + 1: "-"}[i], c.ms, at.UntilMS, i == here)
	}
	add("all", "All that is known", "", 0, at.UntilMS, at.SpanMS == 0)
}

// drawPermits draws how many permits were in use, backwards from the number now, as far as the events go back
// and the database was not flushed.
func (t *timeline) drawPermits(h *checkhistory.History, used, limit int64) {
	p := &permitLine{Limit: limit, Foot: permitsHigh - 4}
	top, from := max(limit, used), max(t.FromMS, t.KnownMS)
	if len(h.Lines) == eventsRead {
		from = max(from, h.Lines[0].TimeMS)
	}
	for _, l := range h.Lines {
		if top = max(top, l.Permits); l.Key == "" { // a flush
			from = max(from, l.TimeMS)
		}
	}
	y := func(n int64) int { return p.Foot - int(min(max(0, n), top)*int64(permitsHigh-16)/top) }
	p.LimitY = y(limit)
	if from > t.ToMS {
		return
	}
	i := len(h.Lines) - 1
	for ; i >= 0 && h.Lines[i].TimeMS > t.ToMS; i-- {
		used = usedBefore(&h.Lines[i], used)
	}
	p.Path = fmt.Sprintf("M%d %dV%d", t.x(t.ToMS), p.Foot, y(used))
	for ; i >= 0 && h.Lines[i].TimeMS >= from; i-- {
		if before := usedBefore(&h.Lines[i], used); before != used {
			used = before
			p.Path += fmt.Sprintf("H%dV%d", t.x(h.Lines[i].TimeMS), y(used))
		}
	}
	p.Path += fmt.Sprintf("H%dV%dZ", t.x(from), p.Foot)
	t.Permits = p
}

// usedBefore returns how many permits were in use before an event.
func usedBefore(l *checkhistory.Line, used int64) int64 {
	switch {
	case l.Event == "granted":
		return used - l.Permits
	case slices.Contains([]string{"released", "expired", "forced", "lost", "unconfirmed"}, l.Event):
		return used + l.Permits
	}
	return used
}

// x returns the position of a time.
func (t *timeline) x(ms int64) int {
	ms = min(max(ms, t.FromMS), t.ToMS)
	return nameWidth + int((ms-t.FromMS)*lineInner/(t.ToMS-t.FromMS))
}

func (t *timeline) bar(s *checkhistory.Span, endMS int64, wait bool) timelineBar {
	b := timelineBar{X: t.x(s.FromMS), Wait: wait, Bad: s.End != "" && s.End != "granted" && s.End != "released" && s.End != "released (script)"}
	b.Width = max(leastBar, t.x(endMS)-b.X)
	what := "held"
	if wait {
		what = "waited"
	}
	b.Title = fmt.Sprintf("%s %s for %s", shown(s.Owner), what, time.Duration(endMS-s.FromMS)*time.Millisecond)
	if s.FromMS == 0 {
		b.Title = shown(s.Owner) + " " + what + " it before the history begins"
	}
	if s.End != "" {
		b.Title += ": " + s.End
	}
	if s.Permits > 0 {
		b.Title += fmt.Sprintf(" (permits: %d)", s.Permits)
		if b.Width > 14 {
			b.Text = strconv.FormatInt(s.Permits, 10)
		}
	}
	return b
}
