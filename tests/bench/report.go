package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// report writes markdown as it comes, and remembers what missed its target and what could not run.
type report struct {
	w        io.Writer
	checks   []check
	failures []string
}

// check is a figure held against its target: it must not exceed it.
type check struct {
	what   string
	got    float64
	target float64
	show   func(float64) string
}

// passed is false for a figure that could not be computed.
func (c check) passed() bool { return c.got <= c.target }

// mark is the cell of a table: the target and whether it is met.
func (c check) mark() string {
	word := "pass"
	if !c.passed() {
		word = "**MISS**"
	}
	return "≤ " + c.show(c.target) + " " + word
}

// hold notes a check and returns its mark.
func (r *report) hold(what string, got, target float64, show func(float64) string) string {
	c := check{what, got, target, show}
	r.checks = append(r.checks, c)
	return c.mark()
}

// failed notes that something could not run, in the report and for the exit code.
func (r *report) failed(what string, err error) {
	line := oneLine(what + ": " + err.Error())
	r.failures = append(r.failures, line)
	r.text("Could not run: " + line)
}

// oneLine keeps the logs of a server from breaking a table or a list.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// text writes a paragraph.
func (r *report) text(s string) { fmt.Fprintf(r.w, "%s\n\n", strings.TrimSpace(s)) }

// table writes a table whose first column is text and whose others are figures. A bar in a cell does not end it.
func (r *report) table(head []string, rows [][]string) {
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
	r.text(b.String())
}

// summary writes what was held and what was not.
func (r *report) summary() {
	var missed []string
	for _, c := range r.checks {
		if !c.passed() {
			missed = append(missed, fmt.Sprintf("- %s: %s, the target is at most %s", c.what, c.show(c.got), c.show(c.target)))
		}
	}
	r.text(fmt.Sprintf("## Targets\n\n%d of %d met.", len(r.checks)-len(missed), len(r.checks)))
	if len(missed) > 0 {
		r.text("Missed:\n" + strings.Join(missed, "\n"))
	}
	if len(r.failures) > 0 {
		r.text("Could not run:\n- " + strings.Join(r.failures, "\n- "))
	}
}

// exitCode is 1 if something could not run, or, when strict, missed its target.
func (r *report) exitCode(strict bool) int {
	if len(r.failures) > 0 {
		return 1
	}
	for _, c := range r.checks {
		if strict && !c.passed() {
			return 1
		}
	}
	return 0
}

// times shows a ratio.
func times(x float64) string { return withUnit(x, 2, "x") }

func withUnit(x float64, decimals int, unit string) string {
	s := fixed(x, decimals)
	if s == "?" {
		return s
	}
	return s + unit
}

// fixed shows a number with so many decimals, and "?" for one that is none.
func fixed(x float64, decimals int) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return "?"
	}
	return strconv.FormatFloat(x, 'f', decimals, 64)
}

// grouped shows a whole number with a comma for every three digits.
func grouped(x float64) string {
	s := fixed(x, 0)
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

// mebibytes and kibibytes show a size given in bytes.
func mebibytes(n float64) string { return withUnit(n/(1<<20), 1, " MiB") }
func kibibytes(n float64) string { return withUnit(n/(1<<10), 1, " KiB") }

// milliseconds shows a time given in milliseconds.
func milliseconds(ms float64) string { return withUnit(ms, 2, " ms") }

// inMS is a duration in milliseconds.
func inMS(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
