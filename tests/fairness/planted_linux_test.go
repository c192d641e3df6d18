package fairness

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/plant"
)

// faults are faults that make a server unfair, and the tests that must fail with each.
var faults = []struct {
	fault plant.Fault
	tests []string
}{
	{plant.New("the newest waiter is first",
		plant.Insert("serve-queue", `if q.first != nil && q.first != q.last {
		if done, _ := qs.try(q.last.waiter); done {
			return
		}
	}`), plant.And("first-in-line", "false")),
		[]string{"TestHundredWaitersGetItInOrder", "TestOrderOfThoseWhoStay"}},
	{plant.New("all are woken and asked to try again", plant.Insert("waiter-served", `for next != nil {
		other := next.waiter
		next = next.next
		other.call.Refuse(Cycle{{Waiter: other}})
	}`)), []string{"TestReleaseWakesOneOfAThousand"}},
	{plant.New("the next holder is told in a later turn", plant.And("same-loop", "false")),
		[]string{"TestNextHolderIsAnsweredInTheSameTurn"}},
}

// TestPlantedFaultsAreFound: the tests of this package fail with an unfair server.
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
				only := "^" + test + "$/^an_event_loop$" // a test that has only one transport has no such part, and runs anyway
				out, err := plant.Command(program, plant.None, "-test.run", only).CombinedOutput()
				require.NoError(t, err, "the patches alone break something: %s", out)
				out, err = plant.Command(program, f.fault.Name, "-test.run", only, "-patience", "2s").CombinedOutput()
				require.Error(t, err)
				require.Contains(t, string(out), "--- FAIL: "+test)
			})
		}
	}
}
