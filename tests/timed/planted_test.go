package timed

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"lockserver/tests/plant"
)

var hunt = plant.Hunt{FindWithin: 60 * time.Second, CleanFor: 3 * time.Second,
	Search: func(ctx context.Context) (string, error) {
		began := time.Now()
		for seed := uint64(began.UnixNano()); ctx.Err() == nil; seed++ {
			for _, try := range []func(uint64, map[string]int) error{tryLimiters, tryDelays} {
				var bad *violation
				if err := try(seed, map[string]int{}); errors.As(err, &bad) {
					plant.Found(time.Since(began), err)
				} else if err != nil {
					return "", err
				}
			}
		}
		return "everything kept to its time", nil
	}}

// faults are all planted faults.
var faults = []plant.Fault{
	plant.New("above the rate after a clock step", plant.Insert("gcra-now", `if r.add(now, r.span).less(tat) {
		tat = now
	}`)),
	plant.New("a limiter dies before it is full", plant.Insert("limit-write", `endMS = max(endMS-5, c.NowMS()+1)`)),
	plant.New("a limiter does not die", plant.Insert("limit-write", `endMS += 1 << 40`)),
	plant.New("a sale for each of its users above the rate", plant.Insert("sale-rate", `if !p.sale.rate.all && state.EndMS()-c.NowMS() < 5 {
		state = gcra.State{}
	}`)),
	plant.New("a call passes the waiters", plant.And("limit-queue", "false")),
	plant.New("a call for two limiters passes the waiters", plant.And("mtake-queue", "false")),
	plant.New("two limiters, and one of them refuses", plant.And("mtake-all", "i > 0")),
	plant.New("a unit that is given back fills the limiter", plant.Insert("gcra-give", "tat = full")),
	plant.New("an entry is added twice after a restart", plant.Omit("zset-record-removal"), plant.Omit("hash-record-removal")),
	plant.New("an entry is lost by MOVE", plant.Omit("delay-move")),
	plant.New("an entry is added early", plant.And("delay-due", "e.dueMS > nowMS+1")),
	plant.New("entries of one time lose their order", plant.Insert("delay-add", `place = 0`)),
	plant.New("an entry stays where it was", plant.Instead("delay-take-out", `if len(b.done) < 3 {
		entries.Delete(e.id)
	}`)),
	plant.New("a recurring entry is added twice after a restart or a failover", plant.Instead("zset-record-score", `if added || e.key[0] != '{' {
		e.db.recordScore(e.key, member, score)
	}`)),
	plant.New("a missed time is made up for, although the rule says SKIP", plant.Or("delay-skip", "true")),
	plant.New("a recurring entry does not end", plant.And("delay-times", "false")),
	plant.New("a restart forgets when entries are due", plant.Omit("load-holds")),
}

func TestMain(m *testing.M) { os.Exit(hunt.Main(m)) }

// TestPlantedFaultsAreFound: the tests find limiters and entries that do not keep to their times.
func TestPlantedFaultsAreFound(t *testing.T) { hunt.Test(t, "../..", faults) }
