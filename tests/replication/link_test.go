//go:build oracle

package replication

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCutInEachWay is TestCutAtEveryByte for each other way of sending and loading a snapshot. With a Redis
// as master it cuts only at some of the bytes, because Redis is slow for each attempt.
func TestCutInEachWay(t *testing.T) {
	for _, kind := range kinds {
		for _, diskless := range []string{"yes", "no"} {
			for _, load := range []string{"disabled", "on-empty-db", "swapdb"} {
				if kind == "lockserver" && diskless == "yes" && load == "disabled" {
					continue // TestCutAtEveryByte has this one
				}
				t.Run(fmt.Sprintf("%s/diskless=%s,load=%s", kind, diskless, load), func(t *testing.T) {
					t.Parallel()
					step := map[string]int64{"lockserver": 1, "redis": 7}[kind]
					master := startOf(t, kind, t.TempDir(), map[string]string{"save": "", "repl-diskless-sync": diskless, "hz": "100"})
					replica := startOf(t, "lockserver", t.TempDir(), map[string]string{"save": "", "repl-diskless-load": load})
					cutEverywhere(t, master, replica, step)
				})
			}
		}
	}
}

// TestLinkThatDelays: data between two servers comes late and in pieces of any size, different in each
// direction, and the link breaks anywhere. One full synchronization is enough, and WAIT gets its replies.
func TestLinkThatDelays(t *testing.T) {
	seed := seedOf(t)
	for _, of := range [][2]string{{"lockserver", "lockserver"}, {"lockserver", "redis"}, {"redis", "lockserver"}} {
		for _, diskless := range []string{"yes", "no"} {
			t.Run(fmt.Sprintf("%s behind %s/diskless=%s/SEED=%d", of[1], of[0], diskless, seed), func(t *testing.T) {
				t.Parallel()
				chance := rand.New(rand.NewPCG(seed, 1)) // the proxy has its own
				master := startOf(t, of[0], t.TempDir(), map[string]string{"save": "", "repl-diskless-sync": diskless})
				replica := startOf(t, of[1], t.TempDir(), map[string]string{"save": ""})
				plain(master)
				master.do("DEL long")
				link := delaying(t, master.addr, rand.New(rand.NewPCG(seed, 2)))
				link.piece.Store(300)
				replica.follow(link.addr())
				for i := range 200 { // during the synchronization
					require.Equal(t, strconv.Itoa(i+1), master.do(fmt.Sprintf("RPUSH early %d", i)))
				}
				inStep(t, master, replica)
				for round := range 12 {
					link.cutAfter(chance.Int64N(3000))
					for i := range 1 + chance.IntN(40) {
						for _, line := range []string{"MULTI", fmt.Sprintf("RPUSH list %d:%d", round, i), "INCR counter", "EXEC", "SELECT " + strconv.Itoa(i%2)} {
							require.NotContains(t, master.do(line)[:1], "-", line)
						}
					}
					if round%3 == 0 {
						require.Equal(t, "1", master.do("WAIT 1 50000"))
					}
				}
				inStep(t, master, replica)
				require.Equal(t, int64(1), master.number("sync_full"), "the rest were partial")
				require.Positive(t, master.number("sync_partial_ok"))
			})
		}
	}
}
