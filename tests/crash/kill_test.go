package crash

import (
	"cmp"
	"flag"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

var kills = flag.Int("kills", 4, "how many servers are killed")

const (
	// workersOfAServer is the number of clients of a server. They record their replies.
	workersOfAServer = 6
	// longestLife is the longest time before a server is killed.
	longestLife = 400 * time.Millisecond
)

func TestMain(m *testing.M) { os.Exit(testkit.Main(m.Run)) }

// TestKill kills a server under load, while its log is rewritten all the time, and restarts it in the same
// directory, many times. With any appendfsync nothing acknowledged is missing, and locks are held by the
// clients that got them.
func TestKill(t *testing.T) {
	seed := seedOf(t)
	policies := []string{"always", "everysec", "no"}
	for i, fsync := range policies {
		t.Run(fsync+strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			killAgain(t, fsync, (*kills+len(policies)-1)/len(policies), rand.New(rand.NewPCG(seed, uint64(i))))
		})
	}
}

func killAgain(t *testing.T, fsync string, times int, chance *rand.Rand) {
	s := testkit.Prepare(t, testkit.Command{Program: testkit.Lockserver(t),
		Args: []string{"--port", "0", "--save", "", "--appendonly", "yes", "--appendfsync", fsync}})
	workers := make([]*worker, workersOfAServer)
	for i := range workers {
		workers[i] = &worker{name: "w" + strconv.Itoa(i), unsure: map[int64]bool{}, gone: map[int64]bool{}, dueMS: map[int64]int64{}}
	}
	for i, w := range workers {
		w.next = workers[(i+1)%len(workers)]
	}
	var rewrites atomic.Int64
	var highest int64
	for life := range times {
		require.NoError(t, s.Start())
		if life == 0 {
			beginRecurring(t, s.Client(t))
			beginCarts(t, s.Client(t))
		}
		duration := longestLife/8 + time.Duration(chance.Int64N(int64(longestLife)))
		s.Client(t).Do("SET", "seckill:stock:sale", strconv.Itoa(stockOfTheSale), "NX")
		load(t, s, workers, duration, chance, &rewrites)

		require.NoError(t, s.Start())
		c := s.Client(t)
		checkSale(t, c)
		checkCarts(t, c, workers)
		checkRecurring(t, c, slices.MaxFunc(workers, func(a, b *worker) int { return cmp.Compare(a.recurred, b.recurred) }).recurred)
		for _, w := range workers {
			w.check(t, c)
		}
		for _, w := range workers {
			c.Do("LOCK.FORCE", "token")
			require.Greater(t, c.Do("LOCK", "token", "t"+w.name).Int, highest, "tokens rise over a kill")
			for _, key := range []string{"own:" + w.name, "shared", "token"} {
				if token, err := strconv.ParseInt(c.Do("HGET", key, "$token").Str, 10, 64); err == nil {
					highest = max(highest, token)
				}
				c.Do("LOCK.FORCE", key)
			}
			c.Do("LOCK.FORCE", "permits")
			w.lock, w.shared, w.permit, w.seen = lockState{}, lockState{}, lockState{}, promise{}
		}
		s.Kill()
	}
	require.Positive(t, rewrites.Load(), "the log was never rewritten")
	t.Logf("%s: %d kills, %d rewrites, %d INCRs, %d transactions, %d delayed entries", fsync, times, rewrites.Load(),
		workers[0].counter.begun, workers[0].list.begun, workers[0].delayed.sent)
}
