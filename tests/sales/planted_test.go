package sales

import (
	"context"
	"os"
	"testing"
	"time"

	"lockserver/internal/plant"
)

// hunt finds any of the faults in a second or two.
var hunt = plant.Hunt{FindWithin: 60 * time.Second, CleanFor: 2 * time.Second, Search: func(ctx context.Context) (string, error) {
	began := time.Now()
	var s search
	s.run(ctx, uint64(began.UnixNano()))
	if s.violation != nil {
		plant.Found(time.Since(began), s.violation)
	}
	return s.summary(), s.err
}}

func TestMain(m *testing.M) { os.Exit(hunt.Main(m)) }

// TestPlantedFaultsAreFound shows that a server that sells what it must not is found out: each fault of faults, in the
// real sources, by the very check that TestHistories makes.
func TestPlantedFaultsAreFound(t *testing.T) { hunt.Test(t, "../..", faults) }
