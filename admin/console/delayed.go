package console

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockserver/internal/call"
	"lockserver/internal/resp"
)

// The limits of the pages about delayed entries.
const (
	streamsShown = 100
	entriesAPage = 50
	streamsAsked = 200 // streams in which an id is searched
	timesShown   = 5   // next times of an entry that recurs
)

// delayedPage has the streams with delayed entries, or the entries of one stream, or one entry.
type delayedPage struct {
	Query         string
	Streams       []streamView
	More          bool  // there are more streams
	Pending       int64 // entries of all streams that were looked at
	LateMS        int64 // the time at which the entry that is late by most was due; 0: none is late
	DB            int
	Stream        string // the stream that is shown; empty: the list of streams
	Entries       []delayedView
	LaterLink     string
	Entry         *delayedView // the entry that is shown
	ID            string
	MayCancel     bool
	Problem, Done string
}

// streamView is a stream with delayed entries.
type streamView struct {
	DB, Shard int
	Key       string
	Pending   int64
	NextMS    int64
	Late      bool
}

// delayedView is a delayed entry.
type delayedView struct {
	DB         int
	Stream, ID string
	DueMS      int64
	Late       bool
	Due        string // DueMS in UTC
	Text       string // the fields on one line
	Fields     [][2]string
	Rule       string   // empty: the entry does not recur
	Times      []string // the next times of the rule
}

// delayedLink is the address of the page of a stream or, with an id, of an entry.
func delayedLink(db int, stream, id string) string {
	q := url.Values{"db": {strconv.Itoa(db)}, "stream": {stream}}
	if id != "" {
		q.Set("id", id)
	}
	return "/delayed?" + q.Encode()
}

// Link is the address of the page of the stream.
func (s *streamView) Link() string { return delayedLink(s.DB, s.Key, "") }

// Link is the address of the page of the entry.
func (e *delayedView) Link() string { return delayedLink(e.DB, e.Stream, e.ID) }

// StreamLink is the address of the page of the entry's stream.
func (p *delayedPage) StreamLink() string { return delayedLink(p.DB, p.Stream, "") }

// CancelLink is the address of the form that cancels the entry.
func (p *delayedPage) CancelLink() string {
	return "/delayed/cancel" + strings.TrimPrefix(delayedLink(p.DB, p.Stream, p.ID), "/delayed")
}

// loadDelayed loads the page of delayed entries.
func loadDelayed(who *viewer, r *http.Request) (any, error) {
	q := r.URL.Query()
	p := &delayedPage{Query: strings.TrimSpace(q.Get("q")), DB: database(r), Stream: q.Get("stream"), ID: q.Get("id"), Problem: cancelProblems(q.Get("problem")),
		Done: q.Get("cancelled")}
	switch {
	case p.Stream != "" && p.ID != "":
		p.MayCancel = who.may("DELAY.CANCEL", p.Stream, p.ID)
		found, err := readEntries(who, [][3]string{{strconv.Itoa(p.DB), p.Stream, p.ID}})
		if err == nil && len(found) > 0 {
			p.Entry = &found[0]
			for _, at := range who.home(p.Stream).DelayedTimes(who.name, p.DB, p.Stream, p.ID, timesShown) {
				p.Entry.Times = append(p.Entry.Times, dueText(at))
			}
		}
		return p, err
	case p.Stream != "":
		return p, p.readStream(who, max(0, number(q.Get("from"))))
	}
	return p, p.readStreams(who)
}

// readStreams reads the streams, or those with the query in their name, and the entries that have it as id.
func (p *delayedPage) readStreams(who *viewer) (err error) {
	nowMS := who.backend.NowMS()
	for shard, backend := range who.shards {
		list, more := backend.DelayedStreams(who.name)
		p.More = p.More || more
		for _, s := range list {
			v := streamView{DB: s.DB, Key: s.Key, Pending: s.Pending, NextMS: s.NextMS, Late: s.NextMS < nowMS}
			if p.Pending += s.Pending; v.Late && (p.LateMS == 0 || s.NextMS < p.LateMS) {
				p.LateMS = s.NextMS
			}
			if len(who.shards) > 1 {
				v.Shard = shard + 1
			}
			p.Streams = append(p.Streams, v)
		}
	}
	slices.SortStableFunc(p.Streams, func(a, b streamView) int {
		return cmp.Or(cmp.Compare(a.NextMS, b.NextMS), cmp.Compare(a.DB, b.DB), strings.Compare(a.Key, b.Key))
	})
	if len(p.Streams) > 0 { // a server that does not lead answers with an error
		first := p.Streams[0]
		replies, err := who.conn.All([]string{"SELECT", strconv.Itoa(first.DB)}, []string{"DELAY.COUNT", first.Key})
		if err == nil && !replies[0].IsError() && notLeading(replies[1].Str) != (problem{}) {
			err = call.Failure(replies[1])
		}
		if err != nil {
			return err
		}
	}
	if p.Query != "" {
		var asked [][3]string
		for _, s := range p.Streams[:min(len(p.Streams), streamsAsked)] {
			asked = append(asked, [3]string{strconv.Itoa(s.DB), s.Key, p.Query})
		}
		if p.Entries, err = readEntries(who, asked); err != nil {
			return err
		}
		p.Streams = slices.DeleteFunc(p.Streams, func(s streamView) bool { return !strings.Contains(s.Key, p.Query) })
	}
	p.More = p.More || len(p.Streams) > streamsShown
	p.Streams = p.Streams[:min(len(p.Streams), streamsShown)]
	return nil
}

// readStream reads the entries of a stream that are due from a time on.
func (p *delayedPage) readStream(who *viewer, fromMS int64) error {
	replies, err := who.conn.All([]string{"SELECT", strconv.Itoa(p.DB)}, []string{"DELAY.COUNT", p.Stream},
		[]string{"DELAY.LIST", p.Stream, "FROM", strconv.FormatInt(fromMS, 10), "COUNT", strconv.Itoa(entriesAPage)})
	if err == nil {
		err = call.Failure(replies...)
	}
	if err != nil {
		return err
	}
	p.Pending = replies[1].Int
	for _, e := range replies[2].Elems {
		p.Entries = append(p.Entries, newDelayedView(who, p.DB, p.Stream, e.Elems[0].Str, e.Elems[1:]))
	}
	if n := len(p.Entries); n == entriesAPage {
		next := p.Entries[n-1].DueMS
		if next == p.Entries[0].DueMS {
			next++ // all of this millisecond do not fit
		}
		p.LaterLink = p.StreamLink() + "&from=" + strconv.FormatInt(next, 10)
	}
	return nil
}

// readEntries reads entries by database, stream and id. It leaves out those that are not pending, and those
// that the user may not read.
func readEntries(who *viewer, asked [][3]string) (found []delayedView, err error) {
	var commands [][]string
	for _, a := range asked {
		commands = append(commands, []string{"SELECT", a[0]}, []string{"DELAY.GET", a[1], a[2]})
	}
	replies, err := who.conn.All(commands...)
	if err != nil {
		return nil, err
	}
	for i, a := range asked {
		switch v := replies[2*i+1]; {
		case replies[2*i].IsError():
		case v.IsError() && notLeading(v.Str) != (problem{}):
			return nil, call.Failure(v)
		case v.Kind == resp.Array && len(v.Elems) > 1:
			found = append(found, newDelayedView(who, int(number(a[0])), a[1], a[2], v.Elems))
		}
	}
	return found, nil
}

// newDelayedView reads the time, the fields and the rule of an entry.
func newDelayedView(who *viewer, db int, stream, id string, words []resp.Value) delayedView {
	e := delayedView{DB: db, Stream: stream, ID: id, DueMS: words[0].Int, Late: words[0].Int < who.backend.NowMS(), Due: dueText(words[0].Int), Text: line(words[1].Elems)}
	for i := 0; i+1 < len(words[1].Elems); i += 2 {
		e.Fields = append(e.Fields, [2]string{words[1].Elems[i].Str, words[1].Elems[i+1].Str})
	}
	if len(words) > 2 {
		e.Rule = ruleText(words[2].Elems)
	}
	return e
}

// dueText writes a time in milliseconds since 1970, in UTC.
func dueText(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05 UTC") }

// ruleText writes the words of a rule as a person reads them.
func ruleText(words []resp.Value) string {
	of := make(map[string]string)
	for i := 0; i+1 < len(words); i += 2 {
		of[words[i].Str] = words[i+1].Str
	}
	text := "cron " + of["CRON"]
	if every := number(of["EVERY"]); every > 0 {
		text = "every " + (time.Duration(every) * time.Millisecond).String()
	}
	if zone := of["TZ"]; zone != "" {
		text += ", " + zone
	}
	if times := of["TIMES"]; times != "" {
		text += fmt.Sprintf(", %s more", times)
	}
	if until := number(of["UNTIL"]); until > 0 {
		text += ", until " + dueText(until)
	}
	return text + map[string]string{"SKIP": ", missed times are left out", "ALL": ", missed times are made up for"}[of["MISSED"]]
}

// cancelProblems returns why an entry was not cancelled, by the word in the address.
func cancelProblems(word string) string {
	return map[string]string{"unsure": "Nothing was cancelled: the box was not checked.", "refused": "The server refused to cancel the entry.",
		"gone": "Nothing was cancelled: the entry was not pending any more."}[word]
}
