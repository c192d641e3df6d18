package queued

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/plant"
	"lockserver/tests/testkit"
)

var seedFlag = flag.Uint64("seed", 1, "the seed of the first world; 0: a random one")

// The orders of two events that race. All histories together must have each of them.
const (
	confirmBeforeTimeout = "race: confirmed before the time was over"
	timeoutBeforeConfirm = "race: the time was over before the confirmation"
	reconnectBeforeGrant = "race: asked again before the grant"
	grantBeforeReconnect = "race: granted before it was asked again"
	cancelBeforeGrant    = "race: cancelled before the grant"
	grantBeforeCancel    = "race: granted before the cancellation"
	askerHeardFirst      = "race: the connection that asked heard before the attached one"
	attachedHeardFirst   = "race: the attached connection heard before the one that asked"
)

// wanted returns the counts that all histories together must have.
func wanted() []string {
	list := []string{"take", "back", "used", "unknown", "confirmed", "granted at once", "confirmed by two connections",
		confirmBeforeTimeout, timeoutBeforeConfirm, reconnectBeforeGrant, grantBeforeReconnect, cancelBeforeGrant, grantBeforeCancel,
		askerHeardFirst, attachedHeardFirst}
	for _, form := range []string{"LOCK", "LOCK SHARED", "MLOCK", "SEM.ACQUIRE"} {
		list = append(list, "confirmed: "+form)
	}
	return list
}

// search plays worlds and checks them.
type search struct {
	mu        sync.Mutex
	worlds    int
	undecided int
	counts    map[string]int
	err       error
	found     func(err error)
	// wants lists counts that must be positive: the search goes on until they are.
	wants []string
}

// run plays worlds with seeds from the given one on, four at a time, until ctx ends or a world is wrong.
// After ctx it goes on for a while if one of the wants is missing.
func (s *search) run(ctx context.Context, seed uint64) {
	s.counts = make(map[string]int)
	next := make(chan uint64)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for seed := range next {
				s.look(seed)
			}
		})
	}
	end := time.Now().Add(patience)
	for ; (ctx.Err() == nil || s.misses() && time.Now().Before(end)) && !s.failed(); seed++ {
		next <- seed
	}
	close(next)
	group.Wait()
}

// misses reports whether one of the wants is missing.
func (s *search) misses() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.wants, func(what string) bool { return s.counts[what] == 0 })
}

func (s *search) failed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err != nil
}

func (s *search) look(seed uint64) {
	w := newWorld(seed)
	w.live()
	err := w.check()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.worlds++
	for what, n := range w.counts {
		s.counts[what] += n
	}
	switch {
	case errors.Is(err, errUndecided):
		s.undecided++
	case err != nil:
		if s.found != nil {
			s.found(err)
		}
		s.err = err
	}
}

func (s *search) String() string {
	return fmt.Sprintf("%d histories, %d undecided; %v", s.worlds, s.undecided, s.counts)
}

// TestQueuedHistories: whatever clients do and whatever breaks, the model of a semaphore or a lock allows the
// history.
func TestQueuedHistories(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(testkit.Steps(1, 120))*time.Second)
	defer cancel()
	s := &search{wants: wanted()}
	s.run(ctx, testkit.SeedOr(*seedFlag))
	t.Log(s)
	require.NoError(t, s.err)
	require.LessOrEqual(t, s.undecided, 2+s.worlds/3)
	for _, what := range s.wants {
		require.Positive(t, s.counts[what], what)
	}
}

var hunt = plant.Hunt{FindWithin: 120 * time.Second, CleanFor: 5 * time.Second, Parallel: true,
	Search: func(ctx context.Context) (string, error) {
		began := time.Now()
		s := &search{found: func(err error) { plant.Found(time.Since(began), err) }}
		s.run(ctx, uint64(time.Now().UnixNano()))
		return s.String(), s.err
	}}

func TestMain(m *testing.M) {
	if addr := os.Getenv(stoppedVariable); addr != "" {
		os.Exit(stoppedClient(addr))
	}
	os.Exit(testkit.Main(func() int { return hunt.Main(m) }))
}

var faults = []plant.Fault{
	plant.New("more permits than the limit", plant.Or("sem-free", "used < s.limit")),
	plant.New("an unconfirmed grant is not passed on", plant.Insert("pass-on", "return")),
	plant.New("permits that are released stay in use", plant.Omit("sem-release")),
	plant.New("a release is of the whole semaphore", plant.Insert("sem-release", "v.owners = 1")),
	plant.New("ONCE counts twice with SEM.ACQUIRE", plant.And("sem-once", "false")),
	plant.New("a writer comes in beside a reader", plant.Insert("share-free", `if v.owners == 1 && !v.exclusive {
		return true, nil
	}`)),
	plant.New("pushes go to the wrong owner", plant.Insert("audience", `for o := ws.Queues.Oldest(); o != nil; o = o.Later() {
		others, _ := ws.Watchdog.Attached.All([]byte(o.Owner()))
		for _, p := range others {
			if !slices.Contains(to, p) {
				to = append(slices.Clone(to), p)
			}
		}
	}`)),
	plant.New("a prefix matches too much", plant.Insert("prefixes-of", `for text, p := range ps.byText {
		if len(owner) >= 8 && text[:8] == string(owner[:8]) && !visit(p) {
			return
		}
	}
	return`)),
}

// TestPlantedFaults: the search of TestQueuedHistories finds each fault.
func TestPlantedFaults(t *testing.T) { hunt.Test(t, "../..", faults) }
