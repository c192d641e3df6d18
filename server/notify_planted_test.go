package server

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/plant"
)

// notifyFaults are mistakes in how owners wait, and are kept alive, without a connection of their own.
var notifyFaults = []plant.Fault{
	plant.New("a prefix matches too much", plant.Insert("prefixes-of", `for text, p := range ps.byText {
		if len(owner) >= 8 && text[:8] == string(owner[:8]) && !visit(p) {
			return
		}
	}
	return`)),
}

// The tests of NOTIFY and of LOCK.ATTACH PREFIX notice each mistake, and nothing else.
func TestPlantedFaultsOfNotify(t *testing.T) {
	if !plant.Wanted(t, "..", notifyFaults) {
		return
	}
	program := plant.Build(t, "..", notifyFaults)
	run := func(fault string) ([]byte, error) {
		return plant.Command(program, fault, "-test.run", "TestAttachModel|TestNotify", "-test.failfast", "-test.timeout", "120s").CombinedOutput()
	}
	out, err := run(plant.None)
	require.NoError(t, err, "%s", out)
	for _, f := range notifyFaults {
		t.Run(f.Name, func(t *testing.T) {
			out, err := run(f.Name)
			require.Error(t, err, "no test noticed: %s", out)
		})
	}
}
