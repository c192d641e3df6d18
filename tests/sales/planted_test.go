package sales

import (
	"context"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/plant"
)

// hunt finds each of the faults in a second or two.
var hunt = plant.Hunt{FindWithin: 60 * time.Second, CleanFor: 2 * time.Second, Check: isSmall,
	Search: func(ctx context.Context) (string, error) {
		began := time.Now()
		var s search
		s.run(ctx, uint64(began.UnixNano()))
		if s.violation != nil {
			plant.Found(time.Since(began), s.violation)
		}
		return s.summary(), s.err
	}}

// The largest numbers of operations in a report, of some 120. Most reports have two or three. If the stock
// matters there are more, because every order changes it.
const (
	mostShown          = 10
	mostShownWithStock = 60
)

// isSmall checks that a report of a history has only a few operations.
func isSmall(t *testing.T, report string) {
	said := regexp.MustCompile(`Shrunk to (\d+) of \d+ operations`).FindStringSubmatch(report)
	if !strings.Contains(report, "not a sale's history") {
		return
	}
	require.NotNil(t, said, "%s", report)
	left, err := strconv.Atoi(said[1])
	require.NoError(t, err)
	most := mostShownWithStock
	if strings.Contains(report, "The stock does not matter") {
		most = mostShown
	}
	require.LessOrEqual(t, left, most, "%s", report)
}

func TestMain(m *testing.M) { os.Exit(hunt.Main(m)) }

// TestPlantedFaultsAreFound: the check of TestHistories finds each of faults in the real sources.
func TestPlantedFaultsAreFound(t *testing.T) { hunt.Test(t, "../..", faults) }
