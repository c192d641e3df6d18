//go:build raft && linux

package moves

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/plant"
)

// memberFaults are faults of members that TestMoves must find without any move.
var memberFaults = []plant.Fault{
	plant.New("a reply before the commit", plant.Or("raft-due", "true")),
	plant.New("a lease ends 200 ms early", plant.Insert("lease-end", `if l.ms > 200 {
		return LeaseEndMS(c, l.ms-200), nil
	}`)),
	plant.New("a retry is a new order", plant.Insert("sale-again", `p.was = ""`)),
	plant.New("an entry is added 50 ms early", plant.And("delay-due", "e.dueMS > nowMS+50")),
}

// TestPlantedFaults: TestMoves finds each fault, and nothing without one.
func TestPlantedFaults(t *testing.T) {
	root := filepath.Join("..", "..")
	if !plant.Wanted(t, root, memberFaults) {
		return
	}
	program := plant.Program(t, root, memberFaults)
	run := func(fault, kills string) ([]byte, error) {
		cmd := plant.Command(os.Args[0], fault, "-test.v", "-test.run", "^TestMoves$", "-test.timeout", "20m", "-still", "-kills", kills)
		cmd.Env = append(cmd.Environ(), "LOCKSERVER="+program)
		return cmd.CombinedOutput()
	}
	out, err := run(plant.None, "4")
	require.NoError(t, err, "%s", out)
	for _, f := range memberFaults {
		t.Run(f.Name, func(t *testing.T) {
			out, err := run(f.Name, "12")
			require.Error(t, err, "not noticed: %s", out)
			t.Logf("%s", out)
		})
	}
}
