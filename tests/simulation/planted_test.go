//go:build simulation

package simulation

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/plant"
)

// faults are mistakes in a member of a group: each tells somebody what is not so, or has other data than the
// group. Two more are for tests/raft to find, which stops processes: that an entry counts wherever it stands,
// and a read without proof. A leader that is cut off gives up before another can be elected, if it is never
// stopped.
var faults = []plant.Fault{
	plant.New("a reply before the commit", plant.Or("raft-due", "true")),
	plant.New("a deposed leader keeps its data", plant.And("raft-ahead", "false")),
	plant.New("a lease ends by the new leader's clock", plant.Omit("raft-extend-leases")),
	plant.New("a hold ends by the new leader's clock", plant.Omit("raft-extend-holds")),
	plant.New("followers answer", plant.Or("raft-serves", "m.state == following")),
	plant.New("a lease ends by a follower's clock", plant.Instead("raft-followed", `replicationHost(h).Followed(false)`)),
	plant.New("a member acknowledges what it could not write", plant.Insert("raft-store", `err = nil`)),
	plant.New("neither time nor the limit of tokens is logged", plant.Insert("raft-entry", `e.clockMS, e.token = 0, 0`)),
}

// plantedRuns is within how many runs a fault must be found.
const plantedRuns = "1000"

// TestPlantedFaults: runs find each mistake, and nothing where there is none.
func TestPlantedFaults(t *testing.T) {
	t.Setenv("GOFLAGS", "-tags=simulation")
	if !plant.Wanted(t, filepath.Join("..", ".."), faults) {
		return
	}
	program := plant.Build(t, filepath.Join("..", ".."), faults)
	run := func(fault, runs string) ([]byte, error) {
		return plant.Command(program, fault, "-test.run", "Simulation", "-test.failfast", "-runs", runs, "-test.timeout", "20m").CombinedOutput()
	}
	out, err := run(plant.None, "100")
	require.NoError(t, err, "%s", out)
	for _, f := range faults {
		t.Run(f.Name, func(t *testing.T) {
			out, err := run(f.Name, plantedRuns)
			require.Error(t, err, "nobody noticed: %s", out)
		})
	}
}
