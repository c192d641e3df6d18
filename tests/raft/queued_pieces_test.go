//go:build raft

package raft

import (
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/server"
	"lockserver/server/raft/engine"
	"lockserver/server/topology"
	"lockserver/tests/testkit"
)

// pieceWaits is the number of waits. One unit of work grants fewer.
const pieceWaits = 600

// TestGrantsInPiecesWhenTheLeaderChanges: the leader grants very many waits in pieces, and loses its lead
// between two pieces. It hands the lead on, or it is cut off. Each wait has at most one outcome. The new
// leader has each grant that a client heard of, with its token. A wait that was refused, or has no outcome,
// gets the lock from the new leader, and no token is given twice.
func TestGrantsInPiecesWhenTheLeaderChanges(t *testing.T) {
	t.Parallel()
	for _, cut := range []bool{false, true} {
		t.Run(fmt.Sprintf("cut-off=%v", cut), func(t *testing.T) {
			t.Parallel()
			changeInPieces(t, cut)
		})
	}
}

func pieceLock(i int, more ...string) []string {
	return append([]string{"LOCK", fmt.Sprint("{k}", i), fmt.Sprint("o", i), "PX", "36000000"}, more...)
}

func changeInPieces(t *testing.T, cut bool) {
	start := newSteady
	if cut { // which is an election
		start = newGroup
	}
	g := start(t, 3, func(eo *engine.Options, o *server.Options) {
		seenAs(topology.Cluster)(eo, o)                   // its clients keep their connections
		o.Directives["lock-watchdog-timeout"] = "3600000" // however slow the machine is, each grant is confirmed in time
	})
	leader := g.leader()
	var hold, wait [][]string
	free := []string{"MUNLOCK", strconv.Itoa(pieceWaits)}
	for i := range pieceWaits {
		hold = append(hold, []string{"LOCK", fmt.Sprint("{k}", i), "holder", "PX", "36000000", "ONCE"})
		wait = append(wait, pieceLock(i, "WAIT", "0", "NOTIFY"))
		free = append(free, fmt.Sprint("{k}", i))
	}
	free = append(free, "holder")
	eventually(t, "the leader knows that it leads", func() bool { return leader.ask(hold[0]...).Kind == ':' })
	gives, waits := leader.dial(), leader.dial()
	defer gives.Close()
	defer waits.Close()
	waits.Hello(3)
	const atOnce = 20
	for i := 0; i < pieceWaits; i += atOnce {
		for _, v := range gives.Pipeline(hold[i : i+atOnce]) {
			require.Positive(t, v.Int, v.String())
		}
		for _, v := range waits.Pipeline(wait[i : i+atOnce]) {
			require.Equal(t, "+QUEUED", v.String())
		}
	}
	heard, first := listen(waits)
	if cut { // when the first grants have arrived
		gives.Send(free...)
		<-first
		g.isolate(leader, true)
	} else { // the request to lead stands right behind
		_, _ = gives.CallPipeline([][]string{free, {"RAFT", "TRANSFER"}})
	}
	next := g.leader(g.others(leader)...)
	again := askAgain(t, next)
	if cut {
		g.isolate(leader, false)
	}
	g.same()
	checkPieces(t, again, <-heard)
}

// listen calls first at the first push. It returns all pushes when each wait has an outcome, or when the
// connection has ended or is silent.
func listen(waits *testkit.Client) (heard chan []resp.Value, first chan struct{}) {
	heard, first = make(chan []resp.Value, 1), make(chan struct{})
	waits.Timeout = 15 * time.Second
	go func() {
		var all []resp.Value
		for len(all) < pieceWaits {
			v, err := waits.Next()
			if err != nil {
				break
			}
			if all = append(all, v); len(all) == 1 {
				close(first)
			}
		}
		heard <- all
	}()
	return heard, first
}

// askAgain requests all locks from the new leader, and returns the tokens by owner.
func askAgain(t *testing.T, next *member) map[string]int64 {
	again, used := map[string]int64{}, map[int64]string{}
	for i := range pieceWaits {
		owner := fmt.Sprint("o", i)
		var v resp.Value
		eventually(t, "the new leader answers", func() bool {
			v = next.ask(pieceLock(i, "ONCE")...)
			if v.Kind != '-' && v.Kind != ':' { // the command that frees it was lost
				next.ask("UNLOCK", fmt.Sprint("{k}", i), "holder")
			}
			return v.Kind == ':'
		})
		require.Empty(t, used[v.Int], "token %d was given twice", v.Int)
		used[v.Int], again[owner] = owner, v.Int
	}
	return again
}

// checkPieces compares the outcomes of the waits with the locks of the new leader.
func checkPieces(t *testing.T, again map[string]int64, heard []resp.Value) {
	ended := map[string]bool{}
	highest, least := int64(0), int64(math.MaxInt64)
	for _, push := range heard {
		owner := push.Elems[3].Str
		require.False(t, ended[owner], "%s has two outcomes", owner)
		ended[owner] = true
		if push.Elems[0].Str == "lock-granted" {
			require.Equal(t, push.Elems[2].Int, again[owner], "%s has lost its lock", owner)
			highest = max(highest, push.Elems[2].Int)
			continue
		}
		require.Equal(t, `>["lock-refused" "{k}`+owner[1:]+`" "failover" "`+owner+`"]`, push.String())
		least = min(least, again[owner])
	}
	require.Less(t, highest, least, "a lock that was granted anew has a higher token")
	t.Logf("%d of %d waits have their outcome", len(ended), pieceWaits)
}
