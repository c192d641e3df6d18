//go:build oracle

package metrics

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// scrapeLimit is the longest time of a scrape with a million locks and a thousand sales.
const scrapeLimit = 20 * time.Millisecond

// waitLimit is the longest time that a command may wait because of a scrape. Other programs delay it, too, so
// the best scrape counts: if a scrape holds the executor, each scrape does.
const waitLimit = 2 * time.Millisecond

// cpuTime returns the processor time of a process.
func cpuTime(t *testing.T, p *testkit.Process) time.Duration {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p.Pid()))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var sum time.Duration
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		ns, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
		require.NoError(t, err)
		sum += time.Duration(ns)
	}
	return sum
}

// TestTimeOfAScrape: on a busy machine the wall time includes other programs, and the processor time is the
// better measure. On an idle machine it is the other way round. So the smaller one counts.
func TestTimeOfAScrape(t *testing.T) {
	const locks, sales, perBatch, scrapes = 1_000_000, 1_000, 10_000, 25
	s := lockserver(t)
	batch := make([][]string, 0, perBatch)
	for i := range locks {
		if batch = append(batch, []string{"LOCK", "lock:" + strconv.Itoa(i), "owner", "PX", "3600000"}); len(batch) == perBatch {
			s.Pipeline(batch)
			batch = batch[:0]
		}
	}
	for i := range sales {
		name := strconv.Itoa(i)
		batch = append(batch, []string{"SECKILL.CREATE", name, "STOCK", "100", "HOLD", "3600000", "STREAM", "orders:" + name},
			[]string{"XGROUP", "CREATE", "orders:" + name, "workers", "0", "MKSTREAM"})
	}
	s.Pipeline(batch)
	beside := startPings(t, s)
	var text string
	took, byClock, waited := make([]time.Duration, scrapes), make([]time.Duration, scrapes), make([]time.Duration, scrapes)
	for i := range took {
		beside.longest.Store(0)
		ran, begun := cpuTime(t, s.process), time.Now()
		text = s.scrape(t)
		byClock[i] = time.Since(begun)
		took[i] = min(byClock[i], cpuTime(t, s.process)-ran)
		for n := beside.sent.Load(); n == beside.sent.Load(); { // the last of them has started to wait, too
			time.Sleep(10 * time.Microsecond)
		}
		waited[i] = time.Duration(beside.longest.Load())
	}
	beside.end()
	require.Contains(t, text, "\nlockserver_locks_held{db=\"db0\"} 1e+06\n")
	require.Equal(t, sales, strings.Count(text, "\nlockserver_sale_lag{"))
	for _, times := range [][]time.Duration{took, byClock, waited} {
		slices.Sort(times)
	}
	median, wait := took[scrapes/2], waited[0]
	t.Logf("a scrape with %d locks and %d sales: median %v, %v to %v; by the clock alone median %v; "+
		"the longest PING meanwhile, of %d: %v at best, median %v; %d lines, %d bytes",
		locks, sales, median, took[0], took[scrapes-1], byClock[scrapes/2], beside.sent.Load(), wait, waited[scrapes/2], strings.Count(text, "\n"), len(text))
	if testkit.Long() { // the fast tier runs steps at the same time
		require.LessOrEqual(t, median, scrapeLimit)
		require.LessOrEqual(t, wait, waitLimit)
	}
}

// pings sends commands of another client, one after the other.
type pings struct {
	longest atomic.Int64 // in nanoseconds, since the last reset
	sent    atomic.Int64
	end     func()
}

// startPings sends commands until end is called.
func startPings(t *testing.T, s *server) *pings {
	c := testkit.Dial(t, func() (net.Conn, error) { return net.Dial("unix", s.socket) })
	p, stop, ended := &pings{}, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for ; ; p.sent.Add(1) {
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Microsecond): // a pause, so that it does not take the processor from the scrape
			}
			begun := time.Now()
			c.Do("PING")
			p.longest.Store(max(p.longest.Load(), int64(time.Since(begun))))
		}
	}()
	p.end = func() { close(stop); <-ended }
	return p
}
