package server

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/plant"
)

// journalFaults are mistakes in how the server uses its log: each acknowledges, or
// brings back, what it must not.
var journalFaults = []plant.Fault{
	plant.New("replies leave before the disk has them", plant.Instead("server/durability/log.go",
		`	if position <= l.storage.gate.Safe() {`,
		`	if position <= l.storage.gate.Safe() || planted("replies leave before the disk has them") {`)),
	plant.New("grants leave before the disk has them", plant.Instead("server/durability/log.go",
		`	if p := l.log.Position(); p > 0 {`,
		`	if planted("grants leave before the disk has them") && l.wait == 0 {
		return 0
	}
	if p := l.log.Position(); p > 0 {`)),
	plant.New("what is lost is acknowledged", plant.Instead("server/durability/log.go",
		`	s.gate.Lose(max(`,
		`	if planted("what is lost is acknowledged") {
		s.gate.Open(max(l.last, l.wait))
		return
	}
	s.gate.Lose(max(`)),
	plant.New("replies leave before the system has them", plant.Instead("server/send.go",
		`return s.executor.gate.Written(s.mark.Needs()) }`,
		`return planted("replies leave before the system has them") || s.executor.gate.Written(s.mark.Needs()) }`)),
	plant.New("what could not be written is acknowledged", plant.Instead("server/gate/gate.go",
		`	return write == nil || `,
		`	return write == nil || planted("what could not be written is acknowledged") || `)),
	plant.New("waiters are served by a broken log", plant.Instead("server/parked.go",
		`	mayServe := ex.durable.Broken() == nil`,
		`	mayServe := ex.durable.Broken() == nil || planted("waiters are served by a broken log")`)),
	plant.New("time goes on while the log is read", plant.Instead("server/durability/load.go",
		`	s.store.SetFrozenTime(true)`,
		`	s.store.SetFrozenTime(!planted("time goes on while the log is read"))`)),
	plant.New("an effect is forgotten before a cut", plant.Instead("server/executor.go",
		`effects != nil && ex.durable.Records() && ex.failed == nil {`,
		`effects != nil && ex.durable.Records() && ex.failed == nil && !(len(effects) > 2 && planted("an effect is forgotten before a cut")) {`)),
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
			require.Error(t, err, "nobody noticed: %s", out)
		})
	}
}
