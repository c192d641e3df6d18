package timed

import (
	"context"
	"os"
	"testing"
	"time"

	"lockserver/internal/plant"
)

var hunt = plant.Hunt{FindWithin: 60 * time.Second, CleanFor: 2 * time.Second,
	Search: func(ctx context.Context) (string, error) {
		began := time.Now()
		found, err := searchLimiters(ctx)
		if found != nil {
			plant.Found(time.Since(began), found)
		}
		return "no limiter allowed too much", err
	}}

// faults are all that are tried.
var faults = []plant.Fault{
	plant.New("above the rate after a clock step", plant.Insert("gcra-now", `if r.add(now, r.span).less(tat) {
		tat = now
	}`)),
	plant.New("a limiter dies before it is full", plant.Insert("limit-write", `endMS = max(endMS-5, c.NowMS()+1)`)),
	plant.New("a limiter does not die", plant.Insert("limit-write", `endMS += 1 << 40`)),
	plant.New("a call passes the waiters", plant.And("limit-queue", "false")),
}

func TestMain(m *testing.M) { os.Exit(hunt.Main(m)) }

// TestPlantedFaultsAreFound shows that a limiter that allows too much is found out.
func TestPlantedFaultsAreFound(t *testing.T) { hunt.Test(t, "../..", faults) }
