//go:build oracle

package metrics

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// scrapeLimit is what a scrape may take with a million locks and a thousand sales.
const scrapeLimit = 20 * time.Millisecond

// cpuTime is what the threads of a process have run for.
func cpuTime(t *testing.T, p *os.Process) time.Duration {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p.Pid))
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

// TestTimeOfAScrape: where others use the machine, the clock tells of them as well, and what the server ran
// for tells more of the scrape. On an idle one it is the other way round. So the lesser counts.
func TestTimeOfAScrape(t *testing.T) {
	const locks, sales, perBatch, scrapes = 1_000_000, 1_000, 10_000, 15
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
	var text string
	took, byClock := make([]time.Duration, scrapes), make([]time.Duration, scrapes)
	for i := range took {
		ran, begun := cpuTime(t, s.process), time.Now()
		text = s.scrape(t)
		byClock[i] = time.Since(begun)
		took[i] = min(byClock[i], cpuTime(t, s.process)-ran)
	}
	require.Contains(t, text, "\nlockserver_locks_held{db=\"db0\"} 1e+06\n")
	require.Equal(t, sales, strings.Count(text, "\nlockserver_sale_lag{"))
	slices.Sort(took)
	slices.Sort(byClock)
	median := took[scrapes/2]
	t.Logf("a scrape with %d locks and %d sales: median %v, %v to %v; by the clock alone median %v; %d lines, %d bytes", locks, sales,
		median, took[0], took[scrapes-1], byClock[scrapes/2], strings.Count(text, "\n"), len(text))
	if os.Getenv("CI") == "" { // there, steps run together
		require.LessOrEqual(t, median, scrapeLimit)
	}
}
