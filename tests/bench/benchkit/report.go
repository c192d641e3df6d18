package benchkit

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// Report writes markdown at once, and keeps it with the figures for a Record. It also keeps the missed
// targets and the failures.
type Report struct {
	W io.Writer
	// Failures lists the parts that could not run. With a failure the exit code is 1.
	Failures []string
	checks   []check
	figures  map[string]float64
	kept     strings.Builder // the text for the record
}

// check is a figure with its target.
type check struct {
	what   string
	got    float64
	target float64
	show   func(float64) string
	least  bool // the figure must be at least the target; otherwise at most
}

// passed returns false for a figure that could not be computed.
func (c check) passed() bool {
	if c.least {
		return c.got >= c.target
	}
	return c.got <= c.target
}

// bound returns the target in words.
func (c check) bound() string {
	if c.least {
		return "at least " + c.show(c.target)
	}
	return "at most " + c.show(c.target)
}

// mark returns the cell of a table with the target and whether it is met.
func (c check) mark() string {
	word := "pass"
	if !c.passed() {
		word = "**MISS**"
	}
	sign := "≤ "
	if c.least {
		sign = "≥ "
	}
	return sign + c.show(c.target) + " " + word
}

// AtMost records that got must be at most target, and returns the cell of a table for that.
func (r *Report) AtMost(what string, got, target float64, show func(float64) string) string {
	return r.hold(check{what: what, got: got, target: target, show: show})
}

// AtLeast records that got must be at least target, and returns the cell of a table for that.
func (r *Report) AtLeast(what string, got, target float64, show func(float64) string) string {
	return r.hold(check{what: what, got: got, target: target, show: show, least: true})
}

func (r *Report) hold(c check) string {
	r.checks = append(r.checks, c)
	return c.mark()
}

// Failed records that a part could not run, in the report and for the exit code.
func (r *Report) Failed(what string, err error) {
	line := OneLine(what + ": " + err.Error())
	r.Failures = append(r.Failures, line)
	r.Text("Could not run: " + line)
}

// OneLine makes a text one line, so that the log of a server does not break a table or a list.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Preface writes a paragraph about this run alone, which is not part of the record.
func (r *Report) Preface(s string) { fmt.Fprintf(r.W, "%s\n\n", strings.TrimSpace(s)) }

// Text writes a paragraph.
func (r *Report) Text(s string) {
	r.Preface(s)
	fmt.Fprintf(&r.kept, "%s\n\n", strings.TrimSpace(s))
}

// Table writes a table with text in the first column and figures in the others. A bar in a cell is escaped.
func (r *Report) Table(head []string, rows [][]string) {
	var b strings.Builder
	line := func(cells []string) {
		for _, c := range cells {
			b.WriteString("| " + strings.ReplaceAll(c, "|", `\|`) + " ")
		}
		b.WriteString("|\n")
	}
	line(head)
	b.WriteString("|---|" + strings.Repeat("---:|", len(head)-1) + "\n")
	for _, row := range rows {
		line(row)
	}
	r.Text(b.String())
}

// Summary writes which targets were met and which were not.
func (r *Report) Summary() {
	r.Preface(Targets(r.Record().Checks))
	if len(r.Failures) > 0 {
		r.Preface("Could not run:\n- " + strings.Join(r.Failures, "\n- "))
	}
}

// ExitCode returns 1 if a part could not run, or, with strict, if a target was missed.
func (r *Report) ExitCode(strict bool) int {
	if len(r.Failures) > 0 {
		return 1
	}
	for _, c := range r.checks {
		if strict && !c.passed() {
			return 1
		}
	}
	return 0
}

// Times formats a ratio.
func Times(x float64) string { return withUnit(x, 2, "x") }

// withUnit formats a number with its unit.
func withUnit(x float64, decimals int, unit string) string {
	s := Fixed(x, decimals)
	if s == "?" {
		return s
	}
	return s + unit
}

// Fixed formats a number with the given decimals, and NaN or infinity as "?".
func Fixed(x float64, decimals int) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return "?"
	}
	return strconv.FormatFloat(x, 'f', decimals, 64)
}

// Grouped formats a whole number with a comma after every three digits.
func Grouped(x float64) string {
	s := Fixed(x, 0)
	if s == "?" {
		return s
	}
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// Mebibytes formats a size in bytes.
func Mebibytes(n float64) string { return withUnit(n/(1<<20), 1, " MiB") }

// Kibibytes formats a size in bytes.
func Kibibytes(n float64) string { return withUnit(n/(1<<10), 1, " KiB") }

// Milliseconds formats a time in milliseconds.
func Milliseconds(ms float64) string { return withUnit(ms, 2, " ms") }

// InMS returns a duration in milliseconds.
func InMS(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
