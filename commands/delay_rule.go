package commands

import (
	"errors"
	"strconv"

	"lockserver/internal/ascii"
	"lockserver/internal/decimal"
	"lockserver/internal/recur"
)

// A recurring entry has a rule. The rule is stored in the value of the entry's field, between the place and
// the fields, as words in netstrings: the words of DELAY.ADD, and then two words of state. See appendEntry.

// delayRule says when an entry is due again, and how often.
type delayRule struct {
	everyMS    int64 // 0: by cron
	cron, zone []byte
	times      int64      // the number of entries that are still to be added; 0: no bound
	untilMS    int64      // the last time at which an entry may be due; 0: no bound
	missed     string     // ONCE, SKIP or ALL
	atMS       int64      // the time of the rule at which the entry is due: DELAY.MOVE does not change it
	madeUp     int64      // with ALL, the number of entries that were added in a row while the next time was past, too
	compiled   recur.Rule // after compile
}

const (
	missedOnce = "ONCE"
	missedSkip = "SKIP"
	missedAll  = "ALL"
	// mostMadeUp is how many entries of one rule are added for missed times (MISSED ALL).
	mostMadeUp = 1000
	// dueField is the field of a recurring entry in the stream that has the time at which it was due.
	dueField = "delay.due"
)

// readRule reads EVERY or CRON with the options behind it, and reports whether there is a rule.
func (r *delayRule) readRule(a *Scanner) bool {
	switch {
	case a.IsNext("EVERY"):
		if r.everyMS = a.IntOr(ErrDelayEvery); r.everyMS < 1 || r.everyMS > maxDueMS {
			a.Fail(ErrDelayEvery)
		}
	case a.IsNext("CRON"):
		if r.cron, r.zone = a.Bytes(), []byte(recur.UTC); a.IsNext("TZ") {
			r.zone = a.Bytes()
		}
	default:
		return false
	}
	for r.readOption(a) {
	}
	if r.missed == "" {
		r.missed = missedOnce
	}
	return true
}

// readOption reads an option of a rule, and reports whether there is one.
func (r *delayRule) readOption(a *Scanner) bool {
	switch {
	case a.IsNext("TIMES"):
		if r.times = a.IntOr(ErrDelayTimes); r.times < 1 {
			a.Fail(ErrDelayTimes)
		}
	case a.IsNext("UNTIL"):
		if r.untilMS = a.IntOr(ErrDelayTime); r.untilMS < 1 {
			a.Fail(ErrDelayTime)
		}
	case a.IsNext("MISSED"):
		word := a.Bytes()
		for _, known := range []string{missedOnce, missedSkip, missedAll} {
			if ascii.EqualFold(word, known) {
				r.missed = known
				return true
			}
		}
		a.Syntax()
	default:
		return false
	}
	return true
}

// compile makes the rule ready for after.
func (r *delayRule) compile(zones *recur.Zones) (err error) {
	if r.everyMS > 0 {
		r.compiled = recur.Every(r.everyMS, r.atMS)
		return nil
	}
	switch r.compiled, err = zones.Cron(string(r.cron), string(r.zone)); {
	case errors.Is(err, recur.ErrZone):
		return ErrDelayZone(r.zone)
	case err != nil:
		return ErrDelayCron
	}
	return nil
}

// after returns the first time of a compiled rule that is later than ms, within the bounds of the rule.
func (r *delayRule) after(ms int64) (int64, bool) {
	next, ok := r.compiled.After(ms)
	return next, ok && next <= maxDueMS && (r.untilMS == 0 || next <= r.untilMS)
}

// begin sets the first time of a new rule. startMS is the time of PX or AT, or -1. It returns the time.
func (r *delayRule) begin(c *Ctx, startMS int64) (dueMS int64, err error) {
	if may := c.Settings.MayRecur; may != nil {
		if err := may(); err != nil {
			return 0, err
		}
	}
	nowMS := c.CeilNowMS()
	switch {
	case startMS >= 0:
	case r.everyMS > 0:
		startMS = nowMS + r.everyMS
	default:
		startMS = nowMS
	}
	r.atMS = startMS
	if err := r.compile(&recur.Zones{}); err != nil {
		return 0, err
	}
	if r.missed == missedSkip {
		startMS = max(startMS, nowMS)
	}
	var ok bool
	if r.atMS, ok = r.after(startMS - 1); !ok {
		return 0, ErrDelayNever
	}
	return r.atMS, nil
}

// step moves a compiled rule on from an entry that is due at dueMS, where nowMS is the time and sinceMS the
// time since which the server can add entries. It reports whether the entry is added, and whether it is due
// again, at r.atMS.
func (r *delayRule) step(dueMS, nowMS, sinceMS int64) (added, again bool) {
	// plant:delay-skip
	added = r.missed != missedSkip || dueMS >= sinceMS
	// plant:delay-times
	if added && r.times > 0 {
		if r.times--; r.times == 0 {
			return true, false
		}
	}
	fromMS := max(r.atMS, dueMS)
	if r.missed != missedAll {
		fromMS = max(fromMS, nowMS)
	}
	next, again := r.after(fromMS)
	if again && next <= nowMS {
		if r.madeUp++; r.madeUp >= mostMadeUp {
			next, again = r.after(nowMS)
		}
	}
	if next > nowMS {
		r.madeUp = 0
	}
	r.atMS = next
	return added, again
}

// words returns the words of the rule as in DELAY.ADD. TIMES has the number that is left.
func (r *delayRule) words() (list [][]byte) {
	number := func(word string, n int64) {
		if n > 0 {
			list = append(list, []byte(word), strconv.AppendInt(nil, n, 10))
		}
	}
	number("EVERY", r.everyMS)
	if r.everyMS == 0 {
		list = append(list, []byte("CRON"), r.cron, []byte("TZ"), r.zone)
	}
	number("TIMES", r.times)
	number("UNTIL", r.untilMS)
	return append(list, []byte("MISSED"), []byte(r.missed))
}

// appendRule appends the words of the rule and of its state as netstrings. Format, do not change.
func (r *delayRule) appendRule(dst []byte) []byte {
	for _, word := range r.words() {
		dst = appendNetstring(dst, word)
	}
	dst = appendNetstring(dst, strconv.AppendInt(nil, r.atMS, 10))
	return appendNetstring(dst, strconv.AppendInt(nil, r.madeUp, 10))
}

// parseRule reads what appendRule has written.
func parseRule(text []byte) (r *delayRule, ok bool) {
	words, ok := parseNetstrings(nil, text)
	const state = 2
	if !ok || len(words) < state {
		return nil, false
	}
	r = &delayRule{}
	a := Scanner{args: words[:len(words)-state]}
	if !r.readRule(&a) || a.More() || a.Err() != nil {
		return nil, false
	}
	var has [state]bool
	r.atMS, has[0] = decimal.ParseInt(words[len(words)-2])
	r.madeUp, has[1] = decimal.ParseInt(words[len(words)-1])
	return r, has[0] && has[1] && r.atMS >= 0 && r.madeUp >= 0
}
