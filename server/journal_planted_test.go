package server

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/plant"
)

// journalFaults are mistakes in how the server uses its log: each acknowledges, or
// brings back, what it must not.
var journalFaults = []plant.Fault{
	plant.New("replies leave before the disk has them", plant.Or("due-safe", "true")),
	plant.New("grants leave before the disk has them", plant.Insert("due-position", `if l.wait == 0 {
		return 0
	}`)),
	plant.New("what is lost is acknowledged", plant.Instead("lost-writes", `s.gate.Open(max(l.last, l.wait))`)),
	plant.New("replies leave before the system has them", plant.Or("may-leave", "true")),
	plant.New("what could not be written is acknowledged", plant.Or("gate-write", "true")),
	plant.New("waiters are served by a broken log", plant.Or("may-serve", "true")),
	plant.New("time goes on while the log is read", plant.Instead("load-time", `s.store.SetFrozenTime(false)`)),
	plant.New("an effect is forgotten before a cut", plant.And("hand-on", "len(effects) <= 2")),
}

// The tests of the journal notice each mistake, and nothing else.
func TestPlantedFaultsOfTheJournal(t *testing.T) {
	if !plant.Wanted(t, "..", journalFaults) {
		return
	}
	program := plant.Build(t, "..", journalFaults)
	run := func(fault string) ([]byte, error) {
		return plant.Command(program, fault, "-test.run", "RepliesWait|GrantsWait|TheDiskFails|AWriteFails|Leases|LogSurvives/pipe|always.*true",
			"-test.failfast", "-test.timeout", "120s").CombinedOutput()
	}
	out, err := run(plant.None)
	require.NoError(t, err, "%s", out)
	for _, f := range journalFaults {
		t.Run(f.Name, func(t *testing.T) {
			out, err := run(f.Name)
			require.Error(t, err, "not noticed: %s", out)
		})
	}
}
