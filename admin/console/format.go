package console

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// count writes a number with separators between thousands.
func count(n int64) string {
	text := strconv.FormatInt(n, 10)
	var b strings.Builder
	for i, digit := range text {
		if i > 0 && (len(text)-i)%3 == 0 && text[i-1] != '-' {
			b.WriteByte(',')
		}
		b.WriteRune(digit)
	}
	return b.String()
}

// micro writes a number of microseconds, which may be small.
func micro(us float64) string {
	if us >= 100 {
		return count(int64(us))
	}
	return strconv.FormatFloat(us, 'f', 1, 64)
}

// lasting writes a duration in milliseconds with about three digits.
func lasting(ms float64) string {
	switch {
	case ms < 10:
		return strconv.FormatFloat(ms, 'f', 1, 64) + " ms"
	case ms < 1000:
		return strconv.FormatFloat(ms, 'f', 0, 64) + " ms"
	case ms < 60_000:
		return strconv.FormatFloat(ms/1000, 'f', 1, 64) + " s"
	case ms < 3_600_000:
		return strconv.FormatFloat(ms/60_000, 'f', 1, 64) + " min"
	}
	return strconv.FormatFloat(ms/3_600_000, 'f', 1, 64) + " h"
}

// spanText writes a duration in seconds, as the clocks in the browser show it.
func spanText(s int64) string {
	switch {
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 3600:
		return fmt.Sprintf("%d:%02d min", s/60, s%60)
	case s < 86400:
		return fmt.Sprintf("%d:%02d h", s/3600, s/60%60)
	}
	return fmt.Sprintf("%d d", s/86400)
}

// bytesText writes a number of bytes.
func bytesText(n int64) string {
	size, unit := float64(n), 0
	units := []string{"B", "KB", "MB", "GB", "TB"}
	for size >= 1024 && unit < len(units)-1 {
		size /= 1024
		unit++
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", size, units[unit])
}

// shown returns a name in a readable form: names are bytes, and may be no text.
func shown(name string) string {
	if name == "" {
		return `""`
	}
	if utf8.ValidString(name) && strings.IndexFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return name
	}
	return strconv.Quote(name)
}

// wideFrom is the first letter that is drawn twice as wide as a Latin one, as those of Chinese, Japanese and
// Korean are.
const wideFrom = 0x1100

// shorten cuts the end of a text that is wider than the given number of Latin letters.
func shorten(text string, most int) string {
	text = shown(text)
	width, cut := 0, 0 // cut: where the end is cut, if necessary
	for i, r := range text {
		if width < most {
			cut = i
		}
		if width++; r >= wideFrom {
			width++
		}
	}
	if width <= most {
		return text
	}
	return text[:cut] + "…"
}

// percent returns a part of a whole in percent, from 0 to 100.
func percent(part, whole int64) int64 {
	if whole <= 0 {
		return 0
	}
	return min(100, max(0, part*100/whole))
}
