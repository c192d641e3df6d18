package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"lockserver/internal/call"
	"lockserver/internal/checkhistory"
)

// Events selects events of locks.
type Events struct {
	Key, Owner   string // empty: any
	Since, Until time.Time
	Count        int
	// Lost is called when the connection is lost, before the first attempt to reconnect. It may be nil.
	Lost func(err error)
}

// eventsPiece is the number of events in one request.
const eventsPiece = 1000

// words returns the call of LOCK.HISTORY. If after is not negative, only events with higher numbers are
// requested.
func (e *Events) words(after int64) []string {
	words := []string{"LOCK.HISTORY"}
	add := func(name, value string) { words = append(words, name, value) }
	if e.Key != "" {
		add("KEY", e.Key)
	}
	if e.Owner != "" {
		add("OWNER", e.Owner)
	}
	if !e.Since.IsZero() {
		add("SINCE", strconv.FormatInt(e.Since.UnixMilli(), 10))
	}
	if !e.Until.IsZero() {
		add("UNTIL", strconv.FormatInt(e.Until.UnixMilli(), 10))
	}
	if after >= 0 {
		add("AFTER", strconv.FormatInt(after, 10))
	}
	add("COUNT", strconv.Itoa(e.Count))
	return words
}

// history requests events; after has the same meaning as in words.
func (s *Server) history(e *Events, after int64) (checkhistory.History, error) {
	v, err := s.conn.Do(e.words(after)...)
	if err != nil {
		return checkhistory.History{}, err
	}
	h := checkhistory.FromReply(v)
	for i := range h.Lines {
		h.Lines[i].Shard = s.part
	}
	return h, nil
}

// PrintHistory writes the events of locks, the oldest first: each event is a line, or an object of JSON on a
// line. With follow it continues with new events until ctx ends. Events that happened before that are still
// written.
func (s *Server) PrintHistory(ctx context.Context, w io.Writer, e Events, asJSON, follow bool) error {
	var mu sync.Mutex // shards are followed side by side
	print := func(l *checkhistory.Line) error {
		mu.Lock()
		defer mu.Unlock()
		if asJSON {
			return json.NewEncoder(w).Encode(l)
		}
		_, err := fmt.Fprintln(w, eventText(l))
		return err
	}
	parts := s.readers(&e)
	var begun, lines []checkhistory.Line
	for _, p := range parts {
		if err := p.begin(); err != nil {
			return err
		}
		begin := p.h.Began()
		begin.Shard = p.s.part
		begun, lines = append(begun, begin), append(lines, p.h.Lines...)
	}
	if len(parts) > 1 {
		slices.SortStableFunc(lines, func(a, b checkhistory.Line) int { return cmp.Compare(a.TimeMS, b.TimeMS) })
	}
	lines = append(begun, lines[max(0, len(lines)-e.Count):]...)
	for i := range lines {
		if err := print(&lines[i]); err != nil {
			return err
		}
	}
	if !follow {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, len(parts))
	for _, p := range parts {
		go func() {
			ended <- p.s.follow(ctx, p.e, p.process, &p.h, print)
			if p.s != s { // it may have connected again
				p.s.Close()
			}
		}()
	}
	var first error
	for range parts {
		if err := <-ended; err != nil {
			first = cmp.Or(first, err)
			cancel() // the events of the other shards alone are no history
		}
	}
	return first
}

// reader reads the events of a server, or of one shard.
type reader struct {
	s       *Server
	e       *Events
	process string // the server's process
	h       checkhistory.History
}

// readers are the readers of all shards, or that of the shard with the key.
func (s *Server) readers(e *Events) (list []*reader) {
	parts := s.conn.Parts()
	for i := range parts {
		n := 0
		if len(parts) > 1 {
			n = i + 1
		}
		if of := *e; e.Key == "" || s.conn.ShardOf(e.Key) == n {
			list = append(list, &reader{s: s.shard(n), e: &of})
		}
	}
	return list
}

// begin reads the first events.
func (p *reader) begin() (err error) {
	p.process = p.s.process() // asked first, because the connection may be lost after the events
	if p.h, err = p.s.history(p.e, -1); err == nil && p.h.Reason == "off" {
		err = errors.New("the server keeps no history: lock-history-bytes is 0")
	}
	return err
}

// follow prints the events after those of h, which are printed already. process is the server process that
// sent h.
func (s *Server) follow(ctx context.Context, e *Events, process string, h *checkhistory.History, print func(*checkhistory.Line) error) error {
	e.Count = eventsPiece
	f := follower{s: s, e: e, print: print, all: e.Key == "" && e.Owner == "",
		process: process, sinceMS: h.SinceMS, last: h.LastID, lastMS: lastTime(h, h.SinceMS)}
	more, end := false, int64(-1) // more: the server has more events already. end: the number of the last event to print
	for end < 0 || more && f.last < end {
		if !more {
			pause(ctx, followEvery)
		}
		ended := ctx.Err() != nil
		next, err := f.read(ctx)
		if err != nil || next == nil {
			return err
		}
		for i := range next.Lines {
			if err := print(&next.Lines[i]); err != nil {
				return err
			}
		}
		f.last, f.lastMS = next.LastID, lastTime(next, f.lastMS)
		if more = len(next.Lines) == e.Count; more {
			f.last = next.Lines[e.Count-1].ID
		}
		if ended && end < 0 {
			end = next.LastID
		}
	}
	return nil
}

// follower is the state of history --follow.
type follower struct {
	s       *Server
	e       *Events
	print   func(*checkhistory.Line) error
	all     bool   // events of all keys and owners are requested
	process string // the server's process
	sinceMS int64  // the server knows the events since this time
	last    int64  // the number of the last event read
	lastMS  int64  // the time of that event; without an event, sinceMS
}

// read returns the events after the last event read. It first writes a line if events are missing before
// them. If the connection is lost it reconnects until ctx ends; then the result is nil.
func (f *follower) read(ctx context.Context) (*checkhistory.History, error) {
	next, err := f.s.history(f.e, f.last)
	another := false
	for err != nil {
		if refused(err) {
			return nil, err
		}
		if f.e.Lost != nil {
			f.e.Lost(err)
		}
		if err := f.connect(ctx); err != nil || ctx.Err() != nil {
			return nil, err
		}
		process := f.s.process()
		if another = another || process != f.process; another { // a new process numbers its events from 1 again
			f.process, f.last = process, 0
		}
		next, err = f.s.history(f.e, f.last)
	}
	if !another && next.LastID < f.last { // for a server that does not tell its process: the number fell, so the process is new
		another, f.last = true, 0
		if next, err = f.s.history(f.e, 0); err != nil {
			return f.read(ctx)
		}
	}
	return &next, f.gap(&next, another)
}

// gap writes a line if events before those of next may be missing. Events of all keys are numbered without
// gaps. If events were dropped before they were read, the holds are no longer known.
func (f *follower) gap(next *checkhistory.History, another bool) error {
	dropped := next.Reason == "full" && f.all && len(next.Lines) > 0 && next.Lines[0].ID > f.last+1 && next.SinceMS >= f.lastMS
	if !another && (next.SinceMS <= f.sinceMS || next.Reason == "full" && !dropped) {
		return nil
	}
	f.sinceMS = next.SinceMS
	line := next.Began()
	line.Shard, line.MissingFromMS = f.s.part, f.lastMS
	return f.print(&line)
}

// connect reconnects, with as many attempts as necessary.
func (f *follower) connect(ctx context.Context) error {
	for wait := followEvery; ctx.Err() == nil; wait = min(2*wait, mostPause) {
		err := f.s.reconnect(ctx)
		if err == nil || refused(err) {
			return err
		}
		pause(ctx, wait)
	}
	return nil
}

// refused reports whether an error is a final answer. A server that loads its data, or does not lead yet,
// answers with an error that is temporary.
func refused(err error) bool {
	var reply call.Error
	if !errors.As(err, &reply) {
		return false
	}
	word, _, _ := strings.Cut(string(reply), " ")
	return !slices.Contains([]string{"LOADING", "MASTERDOWN", "READONLY", "MOVED", "CLUSTERDOWN", "TRYAGAIN", "BUSY", "UNAVAILABLE"}, word)
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// lastTime returns the time of the last event of h, or before if h has no event.
func lastTime(h *checkhistory.History, before int64) int64 {
	if len(h.Lines) == 0 {
		return before
	}
	return h.Lines[len(h.Lines)-1].TimeMS
}

// followEvery is the pause before asking for new events when all events were read.
const followEvery = 250 * time.Millisecond

// mostPause is the longest time between two attempts to connect.
const mostPause = 2 * time.Second

// eventText formats an event for a person.
func eventText(l *checkhistory.Line) string {
	at := time.UnixMilli(l.TimeMS).Format("2006-01-02 15:04:05.000")
	if l.Shard > 0 {
		at += fmt.Sprintf("  shard %d", l.Shard)
	}
	if l.Event == checkhistory.Began {
		text := fmt.Sprintf("%s  events are known from here on (%s)", at, l.Reason)
		if l.MissingFromMS > 0 {
			text += "; some since " + time.UnixMilli(l.MissingFromMS).Format("2006-01-02 15:04:05.000") + " may be missing"
		}
		return text
	}
	var b strings.Builder
	key, owner := printable(l.Key), printable(l.Owner)
	if l.Key == "" {
		key = "all locks"
	}
	fmt.Fprintf(&b, "%s  %-15s %s", at, l.Event, key)
	if owner != "" {
		fmt.Fprintf(&b, "  %s", owner)
	}
	if l.Reason != "" {
		fmt.Fprintf(&b, "  (%s)", l.Reason)
	}
	if l.Mode != "" && l.Mode != "exclusive" {
		fmt.Fprintf(&b, "  %s", l.Mode)
	}
	if l.Permits > 0 {
		fmt.Fprintf(&b, " %d", l.Permits)
	}
	if l.Token > 0 {
		fmt.Fprintf(&b, "  token %d", l.Token)
	}
	if l.HeldMS != nil {
		fmt.Fprintf(&b, "  held %s", fineMillis(*l.HeldMS))
	}
	if l.WaitedMS != nil && *l.WaitedMS > 0 {
		fmt.Fprintf(&b, "  waited %s", fineMillis(*l.WaitedMS))
	}
	if l.ClientID > 0 {
		fmt.Fprintf(&b, "  client %d at %s", l.ClientID, printable(l.ClientAddress))
	}
	if l.Trace != "" {
		fmt.Fprintf(&b, "  trace %s", l.Trace)
	}
	return b.String()
}

// fineMillis formats milliseconds as span does, including fractions.
func fineMillis(ms float64) string {
	if ms < 10 {
		return strconv.FormatFloat(ms, 'f', 3, 64) + "ms"
	}
	return millis(int64(ms + 0.5))
}

// ParseMoment reads a time as people write it: 14:03:22 (of today), 2026-11-27 14:03:22, RFC 3339,
// milliseconds since 1970, or a span before now, such as 10m. Times without a zone are local.
func ParseMoment(text string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil {
		return now.Add(-d.Abs()), nil
	}
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil && ms > 1e10 {
		return time.UnixMilli(ms), nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	for _, layout := range []string{"2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return t, nil
		}
	}
	for _, layout := range []string{"15:04:05", "15:04"} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			y, m, d := now.Date()
			return time.Date(y, m, d, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), now.Location()), nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no time: try 14:03:22, 2026-11-27 14:03:22, or 10m for ten minutes ago", text)
}
