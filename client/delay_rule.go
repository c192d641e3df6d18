package client

import (
	"context"
	"slices"
	"strconv"
	"time"
)

// DueField is the field of a recurring entry in its stream that has the time at which the entry was due, in
// milliseconds since 1970. The server adds it behind the entry's own fields. See also [Entry.Due].
const DueField = "delay.due"

// Rule says when a recurring entry is due. It has either Every or Cron.
type Rule struct {
	// First is the earliest time of the first entry. The zero Due stands for one interval from now with
	// Every, and for now with Cron.
	First Due
	// Every is the interval between two entries, in whole milliseconds.
	Every time.Duration
	// Cron is a cron expression of five fields, or of six with seconds first.
	Cron string
	// Zone is the time zone of Cron, such as "Asia/Shanghai"; empty: UTC.
	Zone string
	// Times is the number of entries after which the rule ends; 0: no bound. In a [Pending] it is the
	// number of remaining entries.
	Times int
	// Until is the last time at which an entry may be due; the zero time: no bound.
	Until time.Time
	// Missed says for which of the missed times the server adds an entry later. A time is missed while the
	// server cannot add entries.
	Missed Missed
}

// Missed says what becomes of the times that passed while the server could not add entries.
type Missed int

const (
	MissedOnce Missed = iota // an entry is added late for the first of these times
	MissedSkip               // no entry is added for the times at which the server was down, or did not lead
	MissedAll                // an entry is added late for each of these times, for 1,000 in a row at most
)

var missedWords = []string{"ONCE", "SKIP", "ALL"}

// words returns the words of a command; the error is that of a value that is not allowed.
func (r Rule) words() (words []string, err error) {
	if r.First.option != "" || r.First.bad != nil {
		if words, err = r.First.words(); err != nil {
			return nil, err
		}
	}
	switch {
	case (r.Every == 0) == (r.Cron == ""):
		return nil, bad("a rule has either Every or Cron")
	case r.Zone != "" && r.Cron == "":
		return nil, bad("a rule with Every has no Zone")
	case r.Missed < 0 || int(r.Missed) >= len(missedWords):
		return nil, bad("Missed of %d is not MissedOnce, MissedSkip or MissedAll", r.Missed)
	case r.Cron != "":
		words = append(words, "CRON", r.Cron)
		if r.Zone != "" {
			words = append(words, "TZ", r.Zone)
		}
	default:
		ms, err := wholeMS("an interval", r.Every)
		if err != nil {
			return nil, err
		}
		words = append(words, "EVERY", decimal(ms))
	}
	if err := atLeast(0, "a number of times", r.Times); err != nil {
		return nil, err
	}
	if r.Times > 0 {
		words = append(words, "TIMES", strconv.Itoa(r.Times))
	}
	if !r.Until.IsZero() {
		ms, err := unixMS("an end", r.Until)
		if err != nil {
			return nil, err
		}
		words = append(words, "UNTIL", decimal(max(1, ms)))
	}
	return append(words, "MISSED", missedWords[r.Missed]), nil
}

// AddRecurring stores an entry that the server adds at each time of a rule. id is the name for Cancel, which
// ends the rule, and for Move, which moves the next entry alone. Each entry in the stream has the field
// [DueField] at its end. An expression or a zone that the server does not know, and a rule without a time
// before its end, are refused with a [ReplyError]. Otherwise AddRecurring is [Delay.Add].
func (d Delay) AddRecurring(ctx context.Context, id string, rule Rule, fields ...string) (entry string, added bool, err error) {
	when, err := rule.words()
	return d.add(ctx, id, when, err, fields)
}

// ruleOf reads the words of a rule in a reply. It returns nil if there are no words.
func ruleOf(reply any) *Rule {
	words, _ := textsOf(reply)
	if len(words) == 0 {
		return nil
	}
	r := &Rule{}
	for i := 0; i+1 < len(words); i += 2 {
		n, _ := strconv.ParseInt(words[i+1], 10, 64)
		switch words[i] {
		case "EVERY":
			r.Every = time.Duration(n) * time.Millisecond
		case "CRON":
			r.Cron = words[i+1]
		case "TZ":
			r.Zone = words[i+1]
		case "TIMES":
			r.Times = int(n)
		case "UNTIL":
			r.Until = time.UnixMilli(n)
		case "MISSED":
			r.Missed = Missed(max(0, slices.Index(missedWords, words[i+1])))
		}
	}
	return r
}

// Due returns the time at which a recurring entry was due, however late it was added. recurring is false if
// the entry is not of a rule. The id of the delayed entry and this time name one run of a job.
func (e Entry) Due() (at time.Time, recurring bool) {
	if n := len(e.Fields); n >= 2 && e.Fields[n-2] == DueField {
		ms, err := strconv.ParseInt(e.Fields[n-1], 10, 64)
		return time.UnixMilli(ms), err == nil
	}
	return time.Time{}, false
}
