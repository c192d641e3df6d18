package recur

import (
	"errors"
	"strings"
	"time"
	_ "time/tzdata" // for machines and containers without time zones

	"github.com/netresearch/go-cron"
)

// The errors of Zones.Cron.
var (
	// ErrExpression: the text is no cron expression of five or six fields, or no date ever matches it.
	ErrExpression = errors.New("not a cron expression")
	// ErrZone: there is no time zone of this name.
	ErrZone = errors.New("unknown time zone")
)

// UTC is the name of the zone of expressions without one.
const UTC = "UTC"

const (
	mostText  = 512 // bytes of an expression
	mostZone  = 64  // bytes of a zone's name
	everyHour = 1<<24 - 1
	// mostYears is how far ahead a match is searched. Two leap days are at most 8 years apart.
	mostYears = 9
)

// Rule is a sequence of times.
type Rule struct {
	everyMS, anchorMS int64 // everyMS 0: by expression
	fields            *cron.SpecSchedule
	zone              *time.Location
}

// Every returns the rule of the time anchorMS, and of each everyMS before and after it. everyMS is at least
// 1.
func Every(everyMS, anchorMS int64) Rule { return Rule{everyMS: everyMS, anchorMS: anchorMS} }

// Zones loads time zones, and remembers them. The zero value is ready.
type Zones struct {
	of map[string]*time.Location
}

// load returns the zone of a name such as "Europe/Berlin".
func (z *Zones) load(name string) (*time.Location, error) {
	if loc := z.of[name]; loc != nil {
		return loc, nil
	}
	if name == "" || name == "Local" || len(name) > mostZone {
		return nil, ErrZone
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, ErrZone
	}
	if z.of == nil {
		z.of = map[string]*time.Location{}
	}
	z.of[name] = loc
	return loc, nil
}

// parser accepts five fields, or six with seconds first. If both the day of the month and the day of the week
// are restricted, one of them has to match, as in crontab.
func parser() cron.Parser {
	return cron.MustNewParser(cron.SecondOptional | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow |
		cron.Extended | cron.DowOrDom).WithMaxSearchYears(mostYears)
}

// Cron returns the rule of an expression and a zone. The error is ErrExpression or ErrZone.
func (z *Zones) Cron(expression, zone string) (Rule, error) {
	// An equals sign would name a zone inside of the expression.
	if n := len(strings.Fields(expression)); n < 5 || n > 6 || len(expression) > mostText || strings.Contains(expression, "=") {
		return Rule{}, ErrExpression
	}
	schedule, err := parser().Parse(expression)
	if err != nil {
		return Rule{}, ErrExpression
	}
	fields, ok := schedule.(*cron.SpecSchedule)
	if !ok {
		return Rule{}, ErrExpression
	}
	fields.Location = time.UTC // the calendar: see nextOnWall
	loc, err := z.load(zone)
	if err != nil {
		return Rule{}, err
	}
	return Rule{fields: fields, zone: loc}, nil
}

// After returns the first time of the rule that is later than afterMS; ok is false if there is no such time.
func (r *Rule) After(afterMS int64) (ms int64, ok bool) {
	switch {
	case r.everyMS > 0:
		n := afterMS - r.anchorMS
		if n < 0 {
			return r.anchorMS - (-n-1)/r.everyMS*r.everyMS, true
		}
		ms = r.anchorMS + (n/r.everyMS+1)*r.everyMS
		return ms, ms > afterMS // false: it is beyond the range of integers
	case r.fields.Hour&everyHour == everyHour:
		return r.afterInRealTime(afterMS)
	}
	return r.afterOnWall(afterMS)
}

// nextOnWall returns the next match of the fields after a time on the clock on the wall. Such a time is
// written as if it were in UTC.
func (r *Rule) nextOnWall(wall time.Time) (time.Time, bool) {
	next := r.fields.Next(wall)
	return next, !next.IsZero()
}

// offset returns what a zone's clock shows minus UTC.
func offset(t time.Time) time.Duration {
	_, seconds := t.Zone()
	return time.Duration(seconds) * time.Second
}

// afterInRealTime looks for matches between one change of the clock and the next.
func (r *Rule) afterInRealTime(afterMS int64) (ms int64, ok bool) {
	t := time.UnixMilli(afterMS).In(r.zone)
	last := t.AddDate(mostYears, 0, 0)
	for t.Before(last) {
		wall, ok := r.nextOnWall(t.UTC().Add(offset(t)))
		if !ok {
			return 0, false
		}
		next := wall.Add(-offset(t)).In(r.zone)
		end := changeAfter(t)
		if end.IsZero() || next.Before(end) {
			return next.UnixMilli(), true
		}
		// The clock changes first. Its new time may match at the moment of the change.
		if wall, ok = r.nextOnWall(end.UTC().Add(offset(end) - time.Millisecond)); ok && wall.Add(-offset(end)).Equal(end) {
			return end.UnixMilli(), true
		}
		t = end
	}
	return 0, false
}

// changeAfter returns a time after t up to which a zone's clock does not change, or the zero time if it never
// changes again.
func changeAfter(t time.Time) time.Time {
	_, end := t.ZoneBounds()
	if !end.IsZero() && !end.After(t) { // Go 1.26 takes a leap year for a day shorter: on the last day end is past
		return t.Add(24 * time.Hour)
	}
	return end
}

// afterOnWall looks for the next match on the wall, and for the moment when the clock shows it.
func (r *Rule) afterOnWall(afterMS int64) (ms int64, ok bool) {
	t := time.UnixMilli(afterMS).In(r.zone)
	wall := t.UTC().Add(offset(t))
	for {
		if wall, ok = r.nextOnWall(wall); !ok {
			return 0, false
		}
		// A time that is shown twice may have been before afterMS.
		if ms = shownFirst(wall, r.zone).UnixMilli(); ms > afterMS {
			return ms, true
		}
	}
}

// shownFirst returns the first moment at which a zone's clock shows a time, or the moment of the change that
// skips the time.
func shownFirst(wall time.Time, zone *time.Location) time.Time {
	year, month, day := wall.Date()
	t := time.Date(year, month, day, wall.Hour(), wall.Minute(), wall.Second(), 0, zone)
	start, end := t.ZoneBounds()
	if !start.IsZero() {
		before := start.Add(-time.Second)
		if early := wall.Add(-offset(before)); early.Before(start) {
			return early // the clock went back at start, and shows the time again
		}
	}
	if t.UTC().Add(offset(t)).Equal(wall) {
		return t
	}
	// The time is skipped, at the start or at the end of the period that t is in.
	if !end.IsZero() && !wall.Add(-offset(t)).Before(end) {
		return end
	}
	return start
}
