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

	"lockserver/internal/plant"
)

// hunt finds any of the faults in a second or two. The first violation ends it: what else such a server does
// to the other worlds is of no interest.
var hunt = plant.Hunt{FindWithin: 120 * time.Second, CleanFor: 5 * time.Second, Parallel: true, Check: isSmall,
	Search: func(ctx context.Context) (string, error) {
		s := &search{found: func(v *violation, after time.Duration) { plant.Found(after, v) }}
		s.run(ctx, uint64(time.Now().UnixNano()))
		return s.summary(), s.err
	}}

// mostShown is how many operations of some 300 a report may have. Half of them have two or three, one in ten
// more than ten: a long hold is shown whole. Of a lock that many shared there were once 28 that it took.
const mostShown = 50

// isSmall looks whether a report shows what is wrong by a few operations.
func isSmall(t *testing.T, report string) {
	said := regexp.MustCompile(`Shrunk to (\d+) of \d+ operations`).FindStringSubmatch(report)
	require.NotNil(t, said, "%s", report)
	left, err := strconv.Atoi(said[1])
	require.NoError(t, err)
	require.LessOrEqual(t, left, mostShown, "%s", report)
	require.Less(t, strings.Count(report, "\n"), mostShown+10, "%s", report)
}

func TestMain(m *testing.M) { os.Exit(hunt.Main(m)) }

// TestPlantedFaultsAreFound shows that a server that is no lock is found out: each fault of faults, in the
// real sources, by the very check that TestHistories makes.
func TestPlantedFaultsAreFound(t *testing.T) {
	hunt.Test(t, "../..", slices.Concat(faults, shareFaults))
}
