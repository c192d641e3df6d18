package linearizability

import (
	"context"
	"os"
	"testing"
	"time"

	"lockserver/internal/plant"
)

// hunt finds any of the faults in a second or two. The first violation ends it: what else such a server does to the other
// worlds is of no interest.
var hunt = plant.Hunt{FindWithin: 30 * time.Second, CleanFor: 5 * time.Second, Parallel: true, Search: func(ctx context.Context) (string, error) {
	s := &search{found: func(v *violation, after time.Duration) { plant.Found(after, v) }}
	s.run(ctx, uint64(time.Now().UnixNano()))
	return s.summary(), s.err
}}

func TestMain(m *testing.M) { os.Exit(hunt.Main(m)) }

// TestPlantedFaultsAreFound shows that a server that is no lock is found out: each fault of faults, in the real sources,
// by the very check that TestHistories makes.
func TestPlantedFaultsAreFound(t *testing.T) { hunt.Test(t, "../..", faults) }
