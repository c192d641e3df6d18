package queued

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/testkit"
)

// TestKilledServer: the server is killed under its clients, and started again on its log. What it has
// acknowledged stays, what it has not is there or not, and queues are gone. The histories are right.
func TestKilledServer(t *testing.T) {
	seed := testkit.SeedOr(*seedFlag)
	for i := range testkit.Steps(2, 20) {
		w := newWorld(seed + uint64(i))
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
		require.Positive(t, kills)
		require.NoError(t, w.check())
		p.Kill()
	}
}
