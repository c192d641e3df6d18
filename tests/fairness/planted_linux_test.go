package fairness

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/plant"
)

// faults are unfair servers, and the tests that must fail on each.
var faults = []struct {
	fault plant.Fault
	tests []string
}{
	{plant.New("the newest waiter is first",
		plant.Before("server/parked.go", "\tvar head *waiter // the one that could not go\n", `
	if q.first != nil && q.first != q.last && planted("the newest waiter is first") && ex.try(q.last.waiter) {
		return
	}
`),
		plant.Instead("server/parked.go", "\t\t\treturn pl.waiter != ex.parking.serving\n",
			"\t\t\treturn pl.waiter != ex.parking.serving && !planted(\"the newest waiter is first\")\n")),
		[]string{"TestHundredWaitersGetItInOrder", "TestOrderOfThoseWhoStay"}},
	{plant.New("all are woken and asked to try again", plant.After("server/parked.go", "\t\t\tif ex.try(w) {\n", `
				for next != nil && planted("all are woken and asked to try again") {
					other := next.waiter
					next = next.next
					ex.timeOut(other)
				}
`)), []string{"TestReleaseWakesOneOfAThousand"}},
	{plant.New("the next holder is told in a later turn", plant.Instead("server/transport/loop.go", "\tif from == t.loop {\n\t\tfrom.queue",
		"\tif from == t.loop && !planted(\"the next holder is told in a later turn\") {\n\t\tfrom.queue")),
		[]string{"TestNextHolderIsToldInTheSameTurn"}},
}

// TestPlantedFaultsAreFound shows that the tests of this package notice an unfair server.
func TestPlantedFaultsAreFound(t *testing.T) {
	var all []plant.Fault
	for _, f := range faults {
		all = append(all, f.fault)
	}
	if !plant.Wanted(t, "../..", all) {
		return
	}
	program := plant.Build(t, "../..", all)
	for _, f := range faults {
		for _, test := range f.tests {
			t.Run(f.fault.Name+"/"+test, func(t *testing.T) {
				only := "^" + test + "$/^an_event_loop$" // a test that knows one transport has no such part, and runs
				out, err := plant.Command(program, plant.None, "-test.run", only).CombinedOutput()
				require.NoError(t, err, "the patches alone break something: %s", out)
				out, err = plant.Command(program, f.fault.Name, "-test.run", only, "-patience", "2s").CombinedOutput()
				require.Error(t, err)
				require.Contains(t, string(out), "--- FAIL: "+test)
			})
		}
	}
}
