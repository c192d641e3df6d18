package queued

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// TestKilledServer: the server is killed under its clients, and started again with its log. Acknowledged
// changes stay, other changes may stay, and queues are lost. The model allows the histories.
func TestKilledServer(t *testing.T) {
	t.Parallel()
	seed := testkit.SeedOr(*seedFlag)
	decided, all := 0, 0
	steps := testkit.Steps(2, 30)
	for i := 0; i < steps || decided == 0 && i < steps+20; i++ {
		w := newWorld(seed + uint64(i))
		w.requests = 8 // operations with unknown outcome make a history hard to check
		if i >= steps {
			w.requests = 3 // there are more of them on a busy machine
		}
		p := testkit.StartLockserver(t, "", "--save", "", "--appendonly", "yes", "--appendfsync", "always",
			"--lock-watchdog-timeout", strconv.Itoa(3*confirmMS))
		w.dial = p.Dial
		random := rand.New(rand.NewPCG(w.seed, 1))
		over := make(chan struct{})
		go func() {
			defer close(over)
			w.play()
		}()
		kills := 0
		for playing := true; playing; {
			select {
			case <-over:
				playing = false
			case <-time.After(time.Duration(5+random.IntN(60)) * time.Millisecond):
				w.mu.Lock()
				p.Kill()
				err := p.Start()
				w.mu.Unlock()
				require.NoError(t, err)
				kills++
			}
		}
		w.lastWord()
		t.Logf("%d kills, %d operations: %v", kills, len(w.history), w.counts)
		all += kills
		if err := w.check(); !errors.Is(err, errUndecided) {
			require.NoError(t, err)
			decided++
		}
		p.Kill()
	}
	require.Positive(t, decided)
	require.Positive(t, all, "kills")
}
