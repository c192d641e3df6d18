package figures

import (
	"fmt"
	"strconv"
	"strings"

	"lockserver/tests/bench/benchkit"
)

// memoryCount is how many of each thing the pages quote.
const memoryCount = 1_000_000

// bytesOf is the name of what one thing takes in a server: redis or lockserver.
func bytesOf(thing, server string) string {
	return fmt.Sprintf("bytes.%s.%d.%s", thing, memoryCount, server)
}

// memorySuite is the suite that measures what the page about memory quotes.
const memorySuite = "membench"

// thingsTable is what docs/MEMORY.md says of single things: the rows of the suite's own table.
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

// madeRemark is a sentence about that.
func madeRemark(d Data, r *Run) string {
	a := about(d, r)
	redis := Data{About: a}.redisVersion()
	if redis == "" {
		redis = d.redisVersion()
	}
	return fmt.Sprintf("Measured %s on %s, beside Redis %s (`make bench`; the same data as in [BENCHMARKS.md](BENCHMARKS.md)).", a.Made[:10], a.Machine, redis)
}

// restTable is what docs/MEMORY.md says of servers under load and in a rest, in megabytes.
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
