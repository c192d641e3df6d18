package server

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/plant"
)

// semaphoreFaults are mistakes in semaphores.
var semaphoreFaults = []plant.Fault{
	plant.New("there are more permits in use than the limit", plant.Or("sem-free", "used < s.limit")),
	plant.New("a small request overtakes a large one", plant.And("sem-queue", "s.permits > 1")),
	plant.New("with ONCE permits are counted twice", plant.And("sem-once", "false")),
	plant.New("the permits of a dead holder do not come back", plant.Insert("sem-lease", "endMS += 1_000_000")),
	plant.New("a release gives back too few", plant.Insert("sem-release", "permits = min(permits, 1)")),
	plant.New("a grant that no client reads is kept", plant.Omit("sem-undo")),
	plant.New("what has gone still counts among many holders", plant.Omit("tally")),
}

// The tests of semaphores notice each mistake, and nothing else.
func TestPlantedFaultsOfSemaphores(t *testing.T) {
	findPlanted(t, semaphoreFaults, "TestSemScripts/.*/pipe|TestSemaphore")
}

// findPlanted fails unless the tests with these names, here and in package conversations, notice each
// fault, and pass without one.
func findPlanted(t *testing.T, faults []plant.Fault, names string) {
	if !plant.Wanted(t, "..", faults) {
		return
	}
	programs := []string{plant.Build(t, "..", faults), plant.BuildOf(t, "..", "../commands/conversations", faults)}
	run := func(fault string) (all []byte, err error) {
		for _, program := range programs {
			out, err := plant.Command(program, fault, "-test.run", names, "-test.failfast", "-test.timeout", "120s").CombinedOutput()
			if all = append(all, out...); err != nil {
				return all, err
			}
		}
		return all, nil
	}
	out, err := run(plant.None)
	require.NoError(t, err, "%s", out)
	for _, f := range faults {
		t.Run(f.Name, func(t *testing.T) {
			out, err := run(f.Name)
			require.Error(t, err, "no test noticed: %s", out)
		})
	}
}
