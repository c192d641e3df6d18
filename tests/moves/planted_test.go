//go:build raft && linux

package moves

import (
	"os"
	"path/filepath"
	"slices"
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

// moveFaults are faults of moves that TestMoves must find.
var moveFaults = []plant.Fault{
	plant.New("a key is lost on its way", plant.Insert("slots-stage", `if key, ok := s.DB().Keys().Random(func(n int) int { return int(index) % n }); ok && index%7 == 0 {
		s.DB().Delete([]byte(key))
	}`)),
	plant.New("leases end 300 ms early behind a move", plant.Instead("slots-shift", "cursor = s.ShiftLeases(cursor, shiftedPerSlice, -300)")),
	plant.New("tokens begin anew behind a move", plant.Omit("slots-take-token")),
	plant.New("the former owner keeps keys", plant.Instead("slots-clean", "done = true")),
}

// TestPlantedFaults: TestMoves finds each fault, and nothing without one.
func TestPlantedFaults(t *testing.T) {
	root := filepath.Join("..", "..")
	all := slices.Concat(memberFaults, moveFaults)
	if !plant.Wanted(t, root, all) {
		return
	}
	program := plant.Program(t, root, all)
	run := func(fault string, words ...string) ([]byte, error) {
		cmd := plant.Command(os.Args[0], fault, append([]string{"-test.v", "-test.run", "^TestMoves$", "-test.timeout", "20m"}, words...)...)
		cmd.Env = append(cmd.Environ(), "LOCKSERVER="+program)
		return cmd.CombinedOutput()
	}
	out, err := run(plant.None, "-kills", "4")
	require.NoError(t, err, "%s", out)
	found := func(faults []plant.Fault, words ...string) {
		for _, f := range faults {
			t.Run(f.Name, func(t *testing.T) {
				out, err := run(f.Name, words...)
				require.Error(t, err, "not noticed: %s", out)
				t.Logf("%s", out)
			})
		}
	}
	found(memberFaults, "-still", "-kills", "12")
	found(moveFaults, "-kills", "12")
}
