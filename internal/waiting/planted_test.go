package waiting

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/plant"
)

// rankFaults are mistakes in the order of queues with priorities.
var rankFaults = []plant.Fault{
	plant.New("aging is ignored", plant.Insert("rank-level", "return qs.timeUS - int64(level)*noAging")),
	plant.New("the level is forgotten", plant.Insert("rank-level", "return qs.timeUS")),
	plant.New("within one level the last come is served first", plant.Insert("rank-ties", `if w.level > 0 && w.level == other.level {
		return w.number > other.number
	}`)),
	plant.New("a waiter that passes others has no turn", plant.And("enter-before", "false")),
	plant.New("the search for deadlocks knows nothing of those behind", plant.And("deadlock-behind", "false")),
	plant.New("a change of the aging leaves the queues as they are", plant.Insert("rank-change", "return")),
}

// TestHistories notices each mistake, and nothing else.
func TestPlantedFaultsOfRanks(t *testing.T) {
	if !plant.Wanted(t, "../..", rankFaults) {
		return
	}
	program := plant.Build(t, "../..", rankFaults)
	run := func(fault string) ([]byte, error) {
		return plant.Command(program, fault, "-test.run", "TestHistories", "-test.failfast", "-test.timeout", "300s").CombinedOutput()
	}
	out, err := run(plant.None)
	require.NoError(t, err, "%s", out)
	for _, f := range rankFaults {
		t.Run(f.Name, func(t *testing.T) {
			out, err := run(f.Name)
			require.Error(t, err, "no test noticed: %s", out)
		})
	}
}
