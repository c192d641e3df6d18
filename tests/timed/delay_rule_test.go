package timed

import (
	"fmt"
	"strings"
)

// rule says when an entry recurs. Its times are found one by one.
type rule struct {
	every   int64 // in milliseconds; 0: each second that seconds divides
	seconds int64
	times   int64 // 0: no bound
	untilMS int64 // 0: no bound
	missed  string
	atMS    int64 // the time of the rule at which the entry is due
}

// words returns the options of DELAY.ADD. They are also what DELAY.GET shows.
func (r *rule) words() (list []string) {
	if r.every > 0 {
		list = append(list, "EVERY", fmt.Sprint(r.every))
	} else {
		list = append(list, "CRON", fmt.Sprintf("*/%d * * * * *", r.seconds), "TZ", "Asia/Kolkata")
	}
	if r.times > 0 {
		list = append(list, "TIMES", fmt.Sprint(r.times))
	}
	if r.untilMS > 0 {
		list = append(list, "UNTIL", fmt.Sprint(r.untilMS))
	}
	return append(list, "MISSED", r.missed)
}

// text returns the end of the replies of DELAY.GET and DELAY.LIST, behind the fields.
func (r *rule) text() string {
	if r == nil {
		return ""
	}
	return ` ["` + strings.Join(r.words(), `" "`) + `"]`
}

// next returns the first time of the rule from fromMS on; false if that is beyond its end. fromMS is not
// before a time of the rule.
func (r *rule) next(fromMS int64) (int64, bool) {
	ms := r.atMS
	for ms < fromMS || r.every == 0 && ms%(r.seconds*1000) != 0 {
		if ms += r.every; r.every == 0 {
			ms = (ms/1000 + 1) * 1000
		}
	}
	return ms, r.untilMS == 0 || ms <= r.untilMS
}

// step moves the rule on when an entry falls due. It returns the next time and the rule, whether an entry is
// added now, and whether there is a next time. The server adds entries since sinceMS; it looks at nowMS.
func (r *rule) step(dueMS, nowMS, sinceMS int64) (nextMS int64, after *rule, add, again bool) {
	if add = r.missed != "SKIP" || dueMS >= sinceMS; add && r.times == 1 {
		return 0, nil, true, false
	}
	left := *r
	if add && left.times > 0 {
		left.times--
	}
	fromMS := max(dueMS, r.atMS)
	if r.missed != "ALL" {
		fromMS = max(fromMS, nowMS)
	}
	left.atMS, again = r.next(fromMS + 1)
	return left.atMS, &left, add, again
}

// rule makes up a rule and a first time, or none. The first time is given as words, or nil.
func (w *delayWorld) rule() (r *rule, words []string, dueMS int64, ends bool) {
	now := (w.clock.NowUS() + 999) / 1000
	r = &rule{missed: []string{"ONCE", "SKIP", "ALL"}[w.random.IntN(3)]}
	startMS := now
	if w.random.IntN(3) > 0 {
		r.every = []int64{40, 75, 120}[w.random.IntN(3)]
		startMS = now + r.every
	} else {
		r.seconds = 1 + w.random.Int64N(3)
	}
	if w.random.IntN(3) == 0 {
		r.times = 1 + w.random.Int64N(5)
	}
	if w.random.IntN(4) == 0 {
		r.untilMS = now + w.random.Int64N(2000)
	}
	if w.random.IntN(2) == 0 {
		words, startMS = w.due()
	}
	r.atMS = startMS
	if r.missed == "SKIP" {
		startMS = max(startMS, now)
	}
	r.atMS, ends = r.next(startMS)
	return r, append(words, r.words()...), r.atMS, !ends
}

// recur adds a recurring entry.
func (w *delayWorld) recur() error {
	stream, id := w.where()
	r, words, dueMS, ends := w.rule()
	w.value++
	value := fmt.Sprint("value ", w.value)
	args := append(append([]string{"DELAY.ADD", stream}, words...), "ID", id, "v", value)
	if ends {
		return w.expect("-ERR the entry would never be due", args...)
	}
	if _, waits := w.model.waiting[stream][id]; waits {
		return w.expect("$nil", args...)
	}
	w.model.put(stream, id, value, dueMS, r)
	w.counts["recurring "+r.missed]++
	return w.expect(fmt.Sprintf("%q", id), args...)
}

// endRules cancels all entries that recur.
func (w *delayWorld) endRules() error {
	w.model.fire(w.nowMS())
	for stream, entries := range w.model.waiting {
		for id, p := range entries {
			if p.rule != nil {
				delete(entries, id)
				if err := w.expect("1", "DELAY.CANCEL", stream, id); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
