package linearizability

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/plant"
)

// hunt finds each of the faults in a second or two. The first violation ends the search, because later ones
// of such a server show nothing new.
var hunt = plant.Hunt{FindWithin: 120 * time.Second, CleanFor: 5 * time.Second, Parallel: true, Check: isSmall,
	Search: func(ctx context.Context) (string, error) {
		s := &search{found: func(v *violation, after time.Duration) { plant.Found(after, v) }}
		s.run(ctx, uint64(time.Now().UnixNano()))
		return s.summary(), s.err
	}}

// mostShown is the largest number of operations in a report, of some 300. Half of the reports have two or
// three, and one in ten has more than ten, because a long hold is shown whole. A report about a lock with
// many shared holders once needed 28.
const mostShown = 50

// isSmall checks that a report has only a few operations.
func isSmall(t *testing.T, report string) {
	said := regexp.MustCompile(`Shrunk to (\d+) of \d+ operations`).FindStringSubmatch(report)
	require.NotNil(t, said, "%s", report)
	left, err := strconv.Atoi(said[1])
	require.NoError(t, err)
	require.LessOrEqual(t, left, mostShown, "%s", report)
	require.Less(t, strings.Count(report, "\n"), mostShown+10, "%s", report)
}

func TestMain(m *testing.M) { os.Exit(hunt.Main(m)) }

// TestPlantedFaultsAreFound: the check of TestHistories finds each of faults in the real sources.
func TestPlantedFaultsAreFound(t *testing.T) {
	hunt.Test(t, "../..", slices.Concat(faults, shareFaults))
}
