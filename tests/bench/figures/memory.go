package figures

import (
	"fmt"
	"strconv"
	"strings"

	"lockserver/tests/bench/benchkit"
)

// memoryCount is the number of things in the measurements that the pages quote.
const memoryCount = 1_000_000

// bytesOf returns the name of the figure for the memory of one thing in a server: redis or lockserver.
func bytesOf(thing, server string) string {
	return fmt.Sprintf("bytes.%s.%d.%s", thing, memoryCount, server)
}

// memorySuite is the suite with the figures of the page about memory.
const memorySuite = "membench"

// thingsTable returns the table of docs/MEMORY.md about single things: the rows of the suite's own table.
func thingsTable(d Data) (string, error) {
	r := d.find(memorySuite)
	if r == nil {
		return "(Nothing is measured yet: `make bench` does that.)", nil
	}
	head := "## Memory: " + benchkit.Grouped(memoryCount) + " of each"
	var lines []string
	inside := false
	for _, line := range r.Text {
		if strings.HasPrefix(line, "## ") {
			inside = line == head
		}
		if inside && strings.HasPrefix(line, "|") {
			lines = append(lines, line)
		}
	}
	if len(lines) < 3 {
		if about(d, r).Quick {
			return quickRemark, nil
		}
		return "", fmt.Errorf("the data of %s has no table %q: run 'make bench'", memorySuite, head)
	}
	return madeRemark(d, r) + "\n\n" + strings.Join(lines, "\n"), nil
}

// about says when the figures of a run were made.
func about(d Data, r *Run) About {
	if r.Apart != nil {
		return *r.Apart
	}
	return d.About
}

// madeRemark returns a sentence about that.
func madeRemark(d Data, r *Run) string {
	a := about(d, r)
	redis := Data{About: a}.redisVersion()
	if redis == "" {
		redis = d.redisVersion()
	}
	return fmt.Sprintf("Measured %s on %s, beside Redis %s (`make bench`; the same data as in [BENCHMARKS.md](BENCHMARKS.md)).", a.Made[:10], a.Machine, redis)
}

// restTable returns the table of docs/MEMORY.md about servers under load and at rest, in megabytes.
func restTable(d Data) (string, error) {
	r := d.find(memorySuite)
	if r == nil {
		return "(Nothing is measured yet: `make bench` does that.)", nil
	}
	if about(d, r).Quick {
		return quickRemark, nil
	}
	l := lookup{runs: []Run{*r}}
	lines := []string{madeRemark(d, r), "", "| strings | Redis: used, under load, rested (MB) | lockserver: used, under load, rested (MB) |", "|---:|---:|---:|"}
	for _, n := range []int{0, memoryCount} {
		row := "| " + benchkit.Grouped(float64(n)) + " |"
		for _, server := range []string{"redis", "lockserver"} {
			var cells []string
			for _, what := range []string{"used", "loaded", "rested"} {
				cells = append(cells, l.megabytes("rest."+strconv.Itoa(n)+"."+what+"."+server))
			}
			row += " " + strings.Join(cells, ", ") + " |"
		}
		lines = append(lines, row)
	}
	return strings.Join(lines, "\n"), l.err()
}
