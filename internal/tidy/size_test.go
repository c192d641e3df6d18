package tidy

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// mayHave lists how many lines of Go the program may have: its size when the list was made, and the lines
// that each piece of work may still add. A new row says what its lines are for.
var mayHave = []struct {
	of    string
	lines int
}{
	{"the program on 2026-11-29", 149_400},
	{"shards in one process, and clients for them", 1_900},
	{"CLUSTER LINKS, and the slots of a script's keys", 80},
	{"the console: semaphores, latches, limiters, entries, members, figures over time", 950},
	{"the console: the oldest wait of each class, permits in the past, a server that hangs", 70},
	{"moves of slots between groups: the protocol, which the simulation plays", 900},
	{"moves of slots between groups: the table in the log of a group", 120},
	{"moves of slots between groups: the cut, the stream of effects and the staging", 450},
	{"moves of slots between groups: the digest, the ends of leases, the deletion of dropped slots", 220},
	{"moves of slots between groups: the door to the mechanism", 60},
	{"moves of slots between groups: the commands of Valkey", 330},
	{"moves of slots between groups: stagings of members, the driver, holding and redirecting", 2_400},
	{"moves of slots between groups: lockserver cluster move, drain, moves and cancel", 900},
	{"moves of slots between groups: figures and alarms", 100},
	{"moves of slots between groups: waits go along with their places", 200},
	{"moves of slots between groups: a shard that begins without slots, and why a move fails", 40},
	{"moves of slots between groups: portions by their keys", 40},
	{"priorities, asking a holder, and what else users of locks, sales and delays ask for", 3_380},
	{"files with recurring entries that older versions refuse", 50},
	{"the client: a lock that is about to be asked for at another shard", 20},
	{"the client: calls that go on while no shard serves their slot", 40},
}

// TestSizeOfTheProgram: the Go files outside of tests/, without _test.go, have no more lines than they may.
func TestSizeOfTheProgram(t *testing.T) {
	may, has := 0, 0
	for _, row := range mayHave {
		may += row.lines
	}
	for _, s := range sources(t) {
		if !s.test && !isBelow(s.path, "tests") {
			has += bytes.Count(s.text, []byte("\n"))
		}
	}
	require.LessOrEqual(t, has, may, "delete, or add a row that says what the lines are for")
	t.Logf("%d lines of %d", has, may)
}
