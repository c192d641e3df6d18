//go:build netns

package vanish

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/plant"
)

// machineFaults are faults of members that TestMachines must find. Two faults that tests/raft finds are rare
// here. A member that was stopped mostly learns that it leads no more before it reads what clients have sent
// meanwhile. A deposed leader that keeps its data mostly has nothing that the others lack.
var machineFaults = []plant.Fault{
	plant.New("a reply before the commit", plant.Or("raft-due", "true")),
	plant.New("followers answer", plant.Or("raft-serves", "m.state == following")),
}

// TestPlantedMachines: TestMachines finds each fault, and nothing without one.
func TestPlantedMachines(t *testing.T) {
	root := filepath.Join("..", "..")
	if !plant.Wanted(t, root, machineFaults) {
		return
	}
	program := plant.Program(t, root, machineFaults)
	run := func(fault, minutes string) ([]byte, error) {
		cmd := plant.Command(os.Args[0], fault, "-test.v", "-test.run", "^TestMachines$", "-test.timeout", "20m")
		cmd.Env = append(cmd.Environ(), "LOCKSERVER="+program, "MINUTES="+minutes)
		return cmd.CombinedOutput()
	}
	out, err := run(plant.None, "")
	require.NoError(t, err, "%s", out)
	for _, f := range machineFaults {
		t.Run(f.Name, func(t *testing.T) {
			out, err := run(f.Name, "3") // it ends as soon as something is found
			require.Error(t, err, "not noticed: %s", out)
			t.Logf("%s", out)
		})
	}
}
