package recur

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// cronRule returns a rule that must be valid.
func cronRule(t *testing.T, expression, zone string) Rule {
	t.Helper()
	var zones Zones
	rule, err := zones.Cron(expression, zone)
	require.NoError(t, err, expression)
	return rule
}

// timesOf returns the first n times of a rule after a time, as its zone's clock shows them.
func timesOf(t *testing.T, rule Rule, after string, n int) (list []string) {
	t.Helper()
	from, err := time.Parse(time.RFC3339, after)
	require.NoError(t, err)
	for ms := from.UnixMilli(); len(list) < n; {
		next, ok := rule.After(ms)
		if !ok {
			return append(list, "none")
		}
		require.Greater(t, next, ms)
		ms = next
		list = append(list, time.UnixMilli(ms).In(rule.zone).Format("2006-01-02 15:04:05 MST"))
	}
	return list
}

func TestCronTimes(t *testing.T) {
	for _, c := range []struct {
		expression, zone, after string
		times                   []string
	}{
		{"0 9 * * 1-5", "UTC", "2026-11-27T09:00:00Z", []string{"2026-11-30 09:00:00 UTC", "2026-12-01 09:00:00 UTC"}},
		{"*/20 * * * * *", "UTC", "2026-11-27T09:00:00Z", []string{"2026-11-27 09:00:20 UTC", "2026-11-27 09:00:40 UTC", "2026-11-27 09:01:00 UTC"}},
		{"0 0 1 * 1", "UTC", "2026-11-28T00:00:00Z", []string{"2026-11-30 00:00:00 UTC", "2026-12-01 00:00:00 UTC", "2026-12-07 00:00:00 UTC"}},
		{"0 9 * JAN SUN", "UTC", "2026-11-28T00:00:00Z", []string{"2027-01-03 09:00:00 UTC", "2027-01-10 09:00:00 UTC"}},
		// months without a 31st, a 30th, a 29th
		{"0 0 31 * *", "UTC", "2026-01-31T00:00:00Z", []string{"2026-03-31 00:00:00 UTC", "2026-05-31 00:00:00 UTC", "2026-07-31 00:00:00 UTC", "2026-08-31 00:00:00 UTC"}},
		{"0 0 30 1-3 *", "UTC", "2026-01-01T00:00:00Z", []string{"2026-01-30 00:00:00 UTC", "2026-03-30 00:00:00 UTC", "2027-01-30 00:00:00 UTC"}},
		{"0 0 29 2 *", "UTC", "2026-01-01T00:00:00Z", []string{"2028-02-29 00:00:00 UTC", "2032-02-29 00:00:00 UTC"}},
		{"0 0 29 2 *", "UTC", "2096-03-01T00:00:00Z", []string{"2104-02-29 00:00:00 UTC"}},
		{"0 0 L * *", "UTC", "2027-01-31T00:00:00Z", []string{"2027-02-28 00:00:00 UTC", "2027-03-31 00:00:00 UTC", "2027-04-30 00:00:00 UTC"}},
		// clocks go forward from 02:00 to 03:00: once at the moment of the change
		{"30 2 * * *", "Europe/Berlin", "2027-03-27T12:00:00Z", []string{"2027-03-28 03:00:00 CEST", "2027-03-29 02:30:00 CEST"}},
		{"*/20 2 * * *", "Europe/Berlin", "2027-03-27T12:00:00Z", []string{"2027-03-28 03:00:00 CEST", "2027-03-29 02:00:00 CEST", "2027-03-29 02:20:00 CEST"}},
		{"0 2,3 * * *", "Europe/Berlin", "2027-03-27T12:00:00Z", []string{"2027-03-28 03:00:00 CEST", "2027-03-29 02:00:00 CEST"}},
		{"0 */1 * * *", "Europe/Berlin", "2027-03-28T00:00:00Z", []string{"2027-03-28 03:00:00 CEST", "2027-03-28 04:00:00 CEST"}},
		// clocks go back from 03:00 to 02:00: once, the first time
		{"30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", []string{"2026-10-25 02:30:00 CEST", "2026-10-26 02:30:00 CET"}},
		{"0 2,3 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", []string{"2026-10-25 02:00:00 CEST", "2026-10-25 03:00:00 CET"}},
		{"30 * * * *", "Europe/Berlin", "2026-10-25T00:00:00Z", []string{"2026-10-25 02:30:00 CEST", "2026-10-25 02:30:00 CET", "2026-10-25 03:30:00 CET"}},
		{"0 0-23 * * *", "America/New_York", "2026-11-01T04:30:00Z", []string{"2026-11-01 01:00:00 EDT", "2026-11-01 01:00:00 EST", "2026-11-01 02:00:00 EST"}},
		{"30 1 * * *", "America/New_York", "2026-11-01T05:29:59Z", []string{"2026-11-01 01:30:00 EDT", "2026-11-02 01:30:00 EST"}},
		// half an hour, and midnight
		{"15 2 * * *", "Australia/Lord_Howe", "2026-10-02T20:00:00Z", []string{"2026-10-04 02:30:00 +11", "2026-10-05 02:15:00 +11"}},
		{"0 0 * * *", "America/Sao_Paulo", "2018-11-03T12:00:00Z", []string{"2018-11-04 01:00:00 -02", "2018-11-05 00:00:00 -02"}},
		// the last day of a leap year
		{"59 * L * *", "Australia/Lord_Howe", "2040-12-31T12:30:00Z", []string{"2040-12-31 23:59:00 +11", "2041-01-31 00:59:00 +11"}},
		{"0 0 1 1 *", "Europe/Berlin", "2040-12-31T12:30:00Z", []string{"2041-01-01 00:00:00 CET", "2042-01-01 00:00:00 CET"}},
		{"0 0 30 2 *", "UTC", "2026-01-01T00:00:00Z", []string{"none"}},
		{"0 * 30 2 *", "Europe/Berlin", "2026-01-01T00:00:00Z", []string{"none"}},
	} {
		require.Equal(t, c.times, timesOf(t, cronRule(t, c.expression, c.zone), c.after, len(c.times)), "%s in %s", c.expression, c.zone)
	}
}

func TestCronRefuses(t *testing.T) {
	var zones Zones
	for _, text := range []string{"", "* * * *", "* * * * * * *", "60 * * * *", "* 24 * * *", "0 0 0 1 *", "0 0 1 13 *", "a b c d e", "TZ=UTC 0 0 * * *",
		"CRON_TZ=UTC 0 0 * * *", "@daily", "@every 1s", "*/0 * * * *", "* * * * 8", "H * * * *", fmt.Sprintf("%0600d * * * *", 1)} {
		_, err := zones.Cron(text, "UTC")
		require.ErrorIs(t, err, ErrExpression, text)
	}
	for _, zone := range []string{"", "Local", "Europe/Nowhere", "../etc/passwd", "/etc/localtime", "europe/berlin\x00", fmt.Sprintf("%0100d", 1)} {
		_, err := zones.Cron("* * * * *", zone)
		require.ErrorIs(t, err, ErrZone, zone)
	}
	require.Empty(t, zones.of)
	_, err := zones.Cron("* * * * *", "Asia/Kathmandu")
	require.NoError(t, err)
	require.Len(t, zones.of, 1)
}

func TestEvery(t *testing.T) {
	for _, c := range []struct{ every, anchor, after, next int64 }{
		{10, 3, 3, 13}, {10, 3, 2, 3}, {10, 3, 12, 13}, {10, 3, 13, 23}, {10, 100, 79, 80}, {10, 100, 80, 90}, {10, 100, 81, 90}, {1, 0, 41, 42},
	} {
		rule := Every(c.every, c.anchor)
		next, ok := rule.After(c.after)
		require.True(t, ok)
		require.Equal(t, c.next, next, "%+v", c)
	}
}

// pattern is an expression that the test understands by itself: nil means any value.
type pattern struct{ minutes, hours, days, weekdays []int }

func (p *pattern) text() string {
	field := func(values []int) string {
		if values == nil {
			return "*"
		}
		text := ""
		for i, v := range values {
			if i > 0 {
				text += ","
			}
			text += fmt.Sprint(v)
		}
		return text
	}
	return fmt.Sprintf("%s %s %s * %s", field(p.minutes), field(p.hours), field(p.days), field(p.weekdays))
}

// matches reports whether the pattern has a time on the wall, written as if it were in UTC.
func (p *pattern) matches(wall time.Time) bool {
	in := func(values []int, v int) bool { return values == nil || slices.Contains(values, v) }
	day, weekday := in(p.days, wall.Day()), in(p.weekdays, int(wall.Weekday()))
	if p.days != nil && p.weekdays != nil {
		day = day || weekday
	} else {
		day = day && weekday
	}
	return day && in(p.hours, wall.Hour()) && in(p.minutes, wall.Minute())
}

// expected returns the times of the pattern from a moment until another, in milliseconds: it looks at each
// minute, and at what the clock of the zone shows.
func (p *pattern) expected(zone *time.Location, from, to time.Time) (list []int64) {
	seen, before := map[time.Time]bool{}, time.Time{}
	for t := from.Add(-3 * time.Hour); t.Before(to); t = t.Add(time.Minute) {
		local := t.In(zone)
		wall := local.UTC().Add(offset(local))
		due := p.matches(wall)
		if p.hours != nil {
			due = due && !seen[wall]
			for w := before.Add(time.Minute); !before.IsZero() && w.Before(wall); w = w.Add(time.Minute) {
				due = due || p.matches(w) && !seen[w]
				seen[w] = true
			}
			seen[wall] = true
		}
		if due && t.After(from) {
			list = append(list, t.UnixMilli())
		}
		before = wall
	}
	return list
}

// TestCronAgainstEachMinute compares rules with a search through all minutes, around changes of the clock.
func TestCronAgainstEachMinute(t *testing.T) {
	random := rand.New(rand.NewPCG(testkit.Seed(t), 0))
	some := func(least, most int) []int {
		if random.IntN(2) == 0 {
			return nil
		}
		var list []int
		for range 1 + random.IntN(3) {
			list = append(list, least+random.IntN(most-least+1))
		}
		return list
	}
	changes := 0
	for range 150 {
		zone := []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo", "Africa/Casablanca", "Asia/Kolkata", "UTC", "Pacific/Apia"}[random.IntN(8)]
		p := pattern{some(0, 59), some(0, 4), some(1, 31), some(0, 6)}
		rule := cronRule(t, p.text(), zone)
		from := time.Date(2006+random.IntN(60), time.Month(1+random.IntN(12)), 1+random.IntN(28), 0, 0, 0, 0, time.UTC)
		if _, change := from.In(rule.zone).ZoneBounds(); !change.IsZero() {
			from = change.Add(-time.Duration(random.IntN(40)) * time.Hour).Truncate(time.Minute)
			changes++
		}
		to := from.Add(72 * time.Hour)
		var got []int64
		for ms, ok := rule.After(from.UnixMilli()); ok && ms < to.UnixMilli(); ms, ok = rule.After(ms) {
			got = append(got, ms)
		}
		require.Equal(t, p.expected(rule.zone, from, to), got, "%s in %s from %s", p.text(), zone, from)
	}
	require.Positive(t, changes)
}

// FuzzCron gives arbitrary expressions to the parser. A rule's times rise, and none is skipped: the time
// after a moment just before a time is that time.
func FuzzCron(f *testing.F) {
	f.Add("*/5 0-3,22-2 L 2/3 MON#2", "Europe/Berlin", int64(1_774_000_000_000))
	f.Fuzz(func(t *testing.T, text, zone string, ms int64) {
		var zones Zones
		rule, err := zones.Cron(text, zone)
		if err != nil {
			require.True(t, errors.Is(err, ErrExpression) || errors.Is(err, ErrZone))
			return
		}
		ms = min(max(ms, 0), 1<<50)
		for range 3 {
			next, ok := rule.After(ms)
			if !ok {
				return
			}
			require.Greater(t, next, ms)
			again, ok := rule.After(next - 1)
			require.True(t, ok && again == next, "%q %q %d", text, zone, next)
			ms = next
		}
	})
}
