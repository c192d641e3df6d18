package console

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"lockserver/internal/call"
	"lockserver/internal/checkhistory"
)

// The time line of a lock: a row for each owner, with bars for its holds and for its waits.

// The limits and measures of the picture, in units of a pixel.
const (
	eventsRead   = 300
	mostRows     = 12
	lineWidth    = 960
	nameWidth    = 150
	lineRow      = 24
	lineTop      = 8
	lineFoot     = 22
	leastSpanMS  = 10_000
	mostSpanMS   = 3_600_000
	leastBar     = 2
	lineTicks    = 4
	lineInner    = lineWidth - nameWidth - 10
	timeInAxis   = "15:04:05"
	roundTimesMS = 1000
)

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
	Title       string
}

// timelineTick is a time on the axis.
type timelineTick struct {
	X, Y int
	MS   int64
	Text string
	Last bool // it is at the right border of the picture
}

// readTimeline reads the events of a lock; nil if the server stores no events.
func readTimeline(who *viewer, db int, key string) (*timeline, error) {
	replies, err := who.conn.All([]string{"SELECT", strconv.Itoa(db)}, []string{"LOCK.HISTORY", "KEY", key, "COUNT", strconv.Itoa(eventsRead)})
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
	return drawTimeline(&h, who.backend.NowMS()), nil
}

// drawTimeline draws events up to now, in milliseconds since 1970.
func drawTimeline(h *checkhistory.History, nowMS int64) *timeline {
	t := &timeline{ToMS: (nowMS/roundTimesMS + 1) * roundTimesMS, KnownMS: h.SinceMS, Why: h.Reason}
	t.FromMS = t.ToMS - leastSpanMS
	if len(h.Lines) > 0 {
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
			if end < t.FromMS {
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
	return b
}
