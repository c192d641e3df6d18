package crash

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// recurringStream is the stream of the recurring entries. recurring has their rules, each an interval in
// milliseconds, which is the id, too.
const recurringStream = "recurring"

var recurring = []int64{20, 50}

// mostMadeUp is the number of missed times of one rule for which entries are added.
const mostMadeUp = 1000

// beginRecurring adds the entries. The first time of each is now.
func beginRecurring(t *testing.T, c *testkit.Client) {
	t.Helper()
	for _, everyMS := range recurring {
		text := strconv.FormatInt(everyMS, 10)
		v := c.Do("DELAY.ADD", recurringStream, "PX", "0", "EVERY", text, "MISSED", "ALL", "ID", text, "rule", text)
		require.False(t, v.IsError(), v)
	}
}

// lookAtRecurring records how many recurring entries the stream has.
func (w *worker) lookAtRecurring(c *testkit.Client) error {
	v, err := c.Call("XLEN", recurringStream)
	if err == nil {
		w.recurred = max(w.recurred, v.Int)
	}
	return err
}

// checkRecurring fails unless the stream has exactly one entry for each time of each rule before the next
// time, in order. The stream must also have at least as many entries as a client has seen.
func checkRecurring(t *testing.T, c *testkit.Client, seen int64) {
	t.Helper()
	commands := [][]string{{"MULTI"}, {"XRANGE", recurringStream, "-", "+"}}
	for _, everyMS := range recurring {
		commands = append(commands, []string{"DELAY.GET", recurringStream, strconv.FormatInt(everyMS, 10)})
	}
	replies, err := c.CallPipeline(append(commands, []string{"EXEC"}))
	require.NoError(t, err)
	reply := replies[len(replies)-1].Elems
	require.GreaterOrEqual(t, int64(len(reply[0].Elems)), seen, "recurring entries that a client has seen are lost")
	for i, everyMS := range recurring {
		var dueMS, addedMS []int64
		for _, e := range reply[0].Elems {
			// The fields are rule and delay.due.
			if fields := e.Elems[1].Elems; fields[1].Str == strconv.FormatInt(everyMS, 10) {
				require.Equal(t, "delay.due", fields[2].Str)
				due, err := strconv.ParseInt(fields[3].Str, 10, 64)
				require.NoError(t, err)
				ms, _, _ := strings.Cut(e.Elems[0].Str, "-")
				added, err := strconv.ParseInt(ms, 10, 64)
				require.NoError(t, err)
				dueMS, addedMS = append(dueMS, due), append(addedMS, added)
			}
		}
		require.NotEmpty(t, reply[1+i].Elems, "the rule of every %d ms is lost", everyMS)
		dueMS = append(dueMS, reply[1+i].Elems[0].Int)
		for n := 1; n < len(dueMS); n++ {
			require.GreaterOrEqual(t, addedMS[n-1], dueMS[n-1], "an entry of every %d ms is early", everyMS)
			// A long pause leaves times out, behind many entries that were all added after it.
			if n >= mostMadeUp && addedMS[n-mostMadeUp] > dueMS[n-1] && dueMS[n] > dueMS[n-1] {
				continue
			}
			require.Equal(t, dueMS[n-1]+everyMS, dueMS[n], "entry %d of every %d ms is lost, or comes twice", n, everyMS)
		}
	}
}
