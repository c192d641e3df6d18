package info

import (
	"fmt"
	"strings"
)

// Text collects lines of the form "name:value".
type Text struct{ b strings.Builder }

// Line writes a field. A float is written with two decimals, as Redis writes most.
func (t *Text) Line(name string, value any) {
	switch v := value.(type) {
	case float64:
		fmt.Fprintf(&t.b, "%s:%.2f\r\n", name, v)
	default:
		fmt.Fprintf(&t.b, "%s:%v\r\n", name, v)
	}
}

// Flag writes a field that is 1 or 0.
func (t *Text) Flag(name string, on bool) {
	n := 0
	if on {
		n = 1
	}
	t.Line(name, n)
}

// Status writes a field that is "ok" or "err".
func (t *Text) Status(name string, err error) {
	word := "ok"
	if err != nil {
		word = "err"
	}
	t.Line(name, word)
}

// Zeros writes fields that are always 0 here.
func (t *Text) Zeros(names ...string) {
	for _, name := range names {
		t.Line(name, 0)
	}
}

// String returns the text so far.
func (t *Text) String() string { return t.b.String() }

// Human writes bytes with one unit, as Redis does: "1.50M".
func Human(n uint64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%dB", n)
	}
	const units = "KMGTP"
	f, unit := float64(n)/(1<<10), 0
	for ; f >= 1<<10 && unit < len(units)-1; unit++ {
		f /= 1 << 10
	}
	return fmt.Sprintf("%.2f%c", f, units[unit])
}
