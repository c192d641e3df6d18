package crash

import (
	"math"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/plant"
)

// logFaults are faults in the log. Each loses acknowledged units, or adds wrong ones.
var logFaults = []plant.Fault{
	plant.New("the log is not synced", plant.Omit("log-sync")),
	plant.New("a failed sync is forgotten", plant.And("log-sync", "false")),
	plant.New("a failed write is tried again", plant.Insert("log-written", `if err != nil {
		_, err = l.file.Write(b)
	}`)),
	plant.New("replies leave before the sync", plant.And("report-policy", "false"), plant.Insert("log-counted", `l.report()`)),
	plant.New("the last effect of a unit is forgotten", plant.Insert("unit-effect", `if i == 3 {
		continue
	}`)),
	plant.New("a unit is no transaction", plant.Insert("unit-begin", `for i := range effects {
		dst = e.effect(dst, &effects[i])
	}
	return dst`)),
	plant.New("a torn transaction is executed", plant.Insert("load-unit", `l.unit.begin = r.offset()
	return l.execute(args)`)),
	plant.New("a torn end is left", plant.Omit("torn-end")),
	plant.New("a new file does not select its database", plant.Omit("rewrite-database")),
	plant.New("the directory is not synced for a new file", plant.Omit("new-file")),
	plant.New("a left file is used again", plant.Omit("left-file")),
	plant.New("the directory is not synced for the manifest", plant.Instead("manifest-name", `return true, nil`)),
	plant.New("the manifest is replaced before it is synced", plant.And("write-sync", `!strings.HasSuffix(path, "manifest")`)),
	plant.New("the base gets its name before it is synced", plant.Insert("base-sync", `f, err := d.place.FS.Create(d.temporaryBase())
	if err == nil {
		err = base(f)
	}
	return err`)),
	plant.New("the base is listed before its name is synced", plant.Insert("base-name", `seen, err := d.publish(rw.replaced(d.manifest, e))
	if err != nil && !seen {
		_ = d.place.FS.Remove(base)
	}
	return err`)),
	plant.New("the old files go before the manifest", plant.Insert("base-name", `if d.manifest.Base != nil {
		_ = d.place.FS.Remove(d.path(d.manifest.Base.Name))
	}`)),
	plant.New("a file is listed before the one before is synced", plant.And("rewrite-sync", "l.file == nil")),
	plant.New("what comes after the cut goes into the old file", plant.Insert("put-before-cut", `w.at = len(rest)`)),
	plant.New("what comes before the cut goes into the new file", plant.Omit("put-after-cut")),
	plant.New("a failed log is listed before it is whole again",
		plant.Insert("rewrite-begins", `rw.listed = true`), plant.And("rewrite-sync", "l.file != nil")),
	plant.New("a failed write is passed over", plant.And("log-written", "false")),
	plant.New("a new directory is not synced", plant.Omit("new-directory")),
}

// TestPlantedLogFaultsAreFound plants each drawn fault of logFaults in the real sources, and shows that the
// tests above find it.
func TestPlantedLogFaultsAreFound(t *testing.T) {
	if !plant.Wanted(t, "../..", logFaults) {
		return
	}
	program := plant.Build(t, "../..", logFaults)
	hunt := func(fault string, args ...string) (string, error) {
		args = append(args, "-test.run", "^TestLog", "-test.failfast", "-test.timeout", "200s", "-log-rounds", "3", "-seed", "0")
		out, err := plant.Command(program, fault, args...).CombinedOutput()
		return string(out), err
	}
	t.Run(plant.None, func(t *testing.T) {
		t.Parallel()
		out, err := hunt(plant.None)
		require.NoError(t, err, "the patches alone break something:\n%s", out)
	})
	for _, f := range logFaults {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			out, err := hunt(f.Name, "-shrink-time", "0")
			require.Error(t, err, "not found")
			require.Contains(t, out, "--- FAIL: TestLog", "it ended in another way")
			require.NotContains(t, out, "panic:", "it ended in another way")
		})
	}
	t.Run("shrunk", func(t *testing.T) {
		t.Parallel()
		var out string
		left := math.MaxInt
		for range shrinkHunts {
			var err error
			out, err = hunt("a new file does not select its database")
			require.Error(t, err)
			if said := regexp.MustCompile(`(\d+) of \d+ steps`).FindStringSubmatch(out); said != nil {
				left, err = strconv.Atoi(said[1])
				require.NoError(t, err)
			}
			if left <= mostShown {
				break
			}
		}
		require.LessOrEqual(t, left, mostShown, "%s", out)
		t.Log(out)
	})
}

// shrinkHunts is how often the test searches for a fault until the failing workload fails reliably enough to
// be shrunk. A failure may depend on an order of goroutines that is rare.
const shrinkHunts = 5

// mostShown is the largest number of actions in a report, of the hundred in a workload.
const mostShown = 10
