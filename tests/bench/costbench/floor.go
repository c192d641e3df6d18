package costbench

import (
	"fmt"
	"math"
	"os"

	"lockserver/tests/bench/benchkit"
	"lockserver/tests/bench/floor"
)

// floorProduct returns this program as the floor. It gets the same requests as lockserver.
func floorProduct() (product, error) {
	self, err := os.Executable()
	return product{Product: benchkit.Product{Name: "floor", Path: self, Args: []string{floor.Role}, Pong: "OK"}, native: true, floor: true}, err
}

// aboveFloor reports whether a case is also measured on the floor: the first commands and the native ones, on
// servers without a special state.
func (b *bench) aboveFloor(c kase) bool {
	return b.floor.floor && !c.script && !c.wide
}

// answeredOK is the Want of traffic for the floor.
func answeredOK(int) string { return "+OK" }

// onFloor returns the case for the floor: the same requests, without data.
func (c kase) onFloor() kase {
	c.prepare, c.supply, c.before, c.verify, c.listeners = nil, nil, nil, nil, 0
	if traffic := c.traffic; traffic != nil {
		c.traffic = func(p product, n int) benchkit.Traffic {
			t := traffic(p, n)
			t.Want = answeredOK
			return t
		}
	}
	return c
}

// ownRow returns a row with the servers' CPU above the floor.
func (b *bench) ownRow(c comparison, pipeline int) []string {
	redis, ours := c.cpuUS.Medians()
	least := benchkit.Median(c.floorUS)
	name := fmt.Sprintf("cpu.%s.p%d", c.name, pipeline)
	b.Report.AddFigure(name+".floor.us", least)
	b.Report.AddPair(name+".own.us", redis-least, ours-least)
	return []string{c.name, benchkit.Fixed(least, 2), benchkit.Fixed(redis-least, 2), benchkit.Fixed(ours-least, 2),
		benchkit.Times(ownRatio(redis-least, ours-least))}
}

// ownRatio returns the quotient of two servers' own CPU, or NaN if the noise exceeds one of them.
func ownRatio(redis, ours float64) float64 {
	if redis <= 0 || ours <= 0 {
		return math.NaN()
	}
	return ours / redis
}

// ownTable writes the rows, if there are any.
func (b *bench) ownTable(rows [][]string, pipeline int) {
	if len(rows) == 0 {
		return
	}
	b.Report.Text(fmt.Sprintf("Own work above the floor at P=%d. The floor is a server of one thread that does nothing: an epoll loop that reads, counts "+
		"the requests and writes `+OK` for each. It has the same load in turn with the two servers, and takes what the system takes for "+
		"these reads and writes. A server's own work is its CPU less the floor; a ratio of \"?\" means that the noise is greater.", pipeline))
	b.Report.Table([]string{"command", "floor CPU µs", b.pair[0].Name + " above it", "lockserver above it", "ratio of own work"}, rows)
}
