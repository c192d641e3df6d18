package inspect

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// printable returns a name as a terminal may show it: control characters and bytes that are no text are
// escaped.
func printable(s string) string {
	plain := true
	for _, r := range s {
		plain = plain && r != utf8.RuneError && unicode.IsPrint(r)
	}
	if plain {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 || !unicode.IsPrint(r) {
			for _, c := range []byte(s[i : i+size]) {
				fmt.Fprintf(&b, `\x%02x`, c)
			}
		} else {
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

// span formats a duration with few letters: 850ms, 12.3s, 4m05s, 3h12m, 5d02h.
func span(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Truncate(100*time.Millisecond).Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd%02dh", int(d.Hours())/24, int(d.Hours())%24)
}

// millis formats a span in milliseconds.
func millis(ms int64) string { return span(time.Duration(ms) * time.Millisecond) }

// micros formats a time in microseconds as milliseconds.
func micros(us int64) string { return fmt.Sprintf("%.2fms", float64(us)/1000) }

// count formats an integer with a mark between thousands.
func count(n int64) string {
	if n < 0 {
		return "-" + count(-n)
	}
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", count(n/1000), n%1000)
}

// rate formats a number of events in a second.
func rate(f float64) string {
	if f > 0 && f < 10 {
		return fmt.Sprintf("%.1f", f)
	}
	return count(int64(f + 0.5))
}

// size formats an amount of memory.
func size(bytes int64) string {
	for _, unit := range []struct {
		of   int64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if bytes >= unit.of {
			return fmt.Sprintf("%.1f %s", float64(bytes)/float64(unit.of), unit.name)
		}
	}
	return fmt.Sprintf("%d B", bytes)
}
