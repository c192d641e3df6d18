package demo

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// Result holds the measurements and findings of a run.
type Result struct {
	Checks  []Check
	selling *selling
	orders  int
	repeats int   // orders that were delivered again after they had been written
	taken   int64 // orders that were delivered again
}

// Holds reports whether every check was kept.
func (r *Result) Holds() bool { return r.failed() == 0 }

func (r *Result) failed() int {
	n := 0
	for _, c := range r.Checks {
		if !c.Holds {
			n++
		}
	}
	return n
}

// Print writes the summary. It ignores write errors, because the result does not depend on them.
func (r *Result) Print(w io.Writer) {
	s := r.selling
	requests := len(s.latencies)
	fmt.Fprintf(w, "\n%s requests in %.2f s: %s a second\n", commas(requests), s.elapsed.Seconds(),
		commas(int(float64(requests)/max(s.elapsed.Seconds(), 1e-9))))
	for kind, text := range [...]string{
		answerSold: "sold, also said to who asks again", answerNoStock: "refused: no stock left", answerHasBought: "refused: has bought already",
		answerNotStarted: "refused: not started", answerOver: "refused: over",
		answerTakenBack: "refused: the order was taken back",
	} {
		if n := s.answers[kind]; n > 0 || kind <= answerHasBought {
			fmt.Fprintf(w, "  %d  %-40s %9s\n", kind, text, commas(n))
		}
	}
	fmt.Fprintf(w, "  asked again for the same order: %s after an answer, %s after the connection broke before one\n\n", commas(s.resent),
		commas(len(s.lost)))

	at := func(q float64) string { return shortly(percentile(s.latencies, q)) }
	fmt.Fprintf(w, "latency, as a client sees it: p50 %s, p90 %s, p99 %s, p99.9 %s, max %s\n", at(0.5), at(0.9), at(0.99), at(0.999), at(1))
	for _, line := range histogram(s.latencies) {
		fmt.Fprintln(w, "  "+line)
	}

	fmt.Fprintf(w, "\n%s orders drained; %s were delivered again, and %s of them had been written already\n\n", commas(r.orders),
		commas(int(r.taken)), commas(r.repeats))
	for _, c := range r.Checks {
		word := "ok    "
		if !c.Holds {
			word = "FAILED"
		}
		fmt.Fprintf(w, "  %s  %s\n", word, c.Text)
	}
	if n := r.failed(); n > 0 {
		fmt.Fprintf(w, "\n%d of %d checks FAILED\n", n, len(r.Checks))
		return
	}
	fmt.Fprintf(w, "\nall %d checks hold\n", len(r.Checks))
}

// percentile returns the smallest of the sorted values that at least the fraction q of them does not exceed
// (nearest rank). It returns 0 for an empty list.
func percentile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	rank := int(math.Ceil(q * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// chartWidth is the length of the longest bar of the histogram.
const chartWidth = 40

// histogram is a chart of sorted durations: a line for each step of 1, 2, 5, 10, ...
// from the shortest to the longest.
func histogram(sorted []time.Duration) []string {
	type row struct {
		limit time.Duration
		count int
	}
	var rows []row
	most := 0
	for limit, step := 10*time.Microsecond, 0; len(sorted) > 0; step++ {
		n := 0
		for n < len(sorted) && sorted[n] <= limit {
			n++
		}
		sorted = sorted[n:]
		if n > 0 || len(rows) > 0 {
			rows = append(rows, row{limit, n})
			most = max(most, n)
		}
		if limit *= 2; step%3 == 1 {
			limit = limit / 4 * 5 // 2 -> 5
		}
	}
	lines := make([]string, len(rows))
	for i, r := range rows {
		length := (r.count*chartWidth + most - 1) / most // every count above 0 is visible
		lines[i] = strings.TrimRight(fmt.Sprintf("<= %-7s %9s  %s", shortly(r.limit), commas(r.count), strings.Repeat("█", length)), " ")
	}
	return lines
}

// shortly formats a duration with at most three significant digits.
func shortly(d time.Duration) string {
	n, unit := float64(d)/float64(time.Microsecond), "µs"
	switch {
	case d >= time.Second:
		n, unit = d.Seconds(), "s"
	case d >= time.Millisecond:
		n, unit = n/1000, "ms"
	}
	digits := 2
	switch {
	case n >= 100:
		digits = 0
	case n >= 10:
		digits = 1
	}
	text := strconv.FormatFloat(n, 'f', digits, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text + " " + unit
}

// commas formats a number with a comma between thousands.
func commas(n int) string {
	text := strconv.Itoa(n)
	digits := strings.TrimPrefix(text, "-")
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return text[:len(text)-len(strings.TrimPrefix(text, "-"))] + digits
}
