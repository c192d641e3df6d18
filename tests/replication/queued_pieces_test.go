package replication

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/server"
)

const (
	// pieceWaits is more than one unit grants.
	pieceWaits = 600
	pieceLease = "36000000"
)

// piecesCase is a way to free many waits at once.
type piecesCase struct {
	shared bool
	key    func(i int) string
	free   []string
}

// piecesCases returns the cases: many different locks, and many readers of one lock.
func piecesCases() map[string]piecesCase {
	each := func(i int) string { return fmt.Sprint("k", i) }
	free := []string{"MUNLOCK", strconv.Itoa(pieceWaits)}
	for i := range pieceWaits {
		free = append(free, each(i))
	}
	return map[string]piecesCase{
		"locks":   {false, each, append(free, "holder")},
		"readers": {true, func(int) string { return "k0" }, []string{"UNLOCK", "k0", "holder"}},
	}
}

// lock returns the command with which owner i asks for its lock.
func (c piecesCase) lock(i int, more ...string) []string {
	words := []string{"LOCK", c.key(i), fmt.Sprint("o", i), "PX", pieceLease}
	if c.shared {
		words = append(words, "SHARED")
	}
	return append(words, more...)
}

// pushesOf returns the pushes that a client has got.
func pushesOf(c *node) (pushes []resp.Value) {
	c.Send("PING")
	for v := c.Receive(); v.Kind == '>'; v = c.Receive() {
		pushes = append(pushes, v)
	}
	return pushes
}

// outcomesOf adds the grants in pushes to tokens by owner, and returns the number of refusals. No owner may
// have two outcomes.
func outcomesOf(t *testing.T, pushes []resp.Value, tokens map[string]int64) (refused int) {
	t.Helper()
	for _, p := range pushes {
		if p.Elems[0].Str == "lock-refused" {
			require.Equal(t, "failover", p.Elems[2].Str)
			require.NotContains(t, tokens, p.Elems[3].Str, "it was granted before")
			refused++
			continue
		}
		require.Equal(t, "lock-granted", p.Elems[0].Str)
		require.NotContains(t, tokens, p.Elems[3].Str, "it is granted twice")
		tokens[p.Elems[3].Str] = p.Elems[2].Int
	}
	return refused
}

// TestGrantsInPiecesOverPromotion: a replica is promoted while its master makes very many grants, which it
// does in pieces. The replica has the completed grants with their tokens, and no others. The other owners ask
// again there, and get higher tokens. The master becomes a replica in the middle, or first completes the
// grants. Each wait has one outcome.
func TestGrantsInPiecesOverPromotion(t *testing.T) {
	t.Parallel()
	for name, c := range piecesCases() {
		for _, goesOn := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/goes-on=%v", name, goesOn), func(t *testing.T) {
				t.Parallel()
				promoteInPieces(t, c, goesOn)
			})
		}
	}
}

func promoteInPieces(t *testing.T, c piecesCase, goesOn bool) {
	options := func() server.Options { // every grant is confirmed in time, even on a slow machine
		return server.Options{EventLoops: true, Directives: map[string]string{"lock-watchdog-timeout": "3600000"}}
	}
	master, replica := start(t, options()), start(t, options())
	replica.follow(master.addr)
	for i := range pieceWaits {
		require.Positive(t, master.Do("LOCK", c.key(i), "holder", "PX", pieceLease, "ONCE").Int)
	}
	waits := reach(t, master.addr)
	waits.Hello(3)
	for i := range pieceWaits {
		require.Equal(t, "+QUEUED", waits.Do(c.lock(i, "WAIT", "0", "NOTIFY")...).String())
	}
	// The first piece belongs to the unit of EXEC. The pause delays the others.
	for _, words := range [][]string{{"MULTI"}, c.free, {"CLIENT", "PAUSE", "3600000", "WRITE"}} {
		require.Equal(t, byte('+'), byte(master.Do(words...).Kind))
	}
	require.Len(t, master.Do("EXEC").Elems, 2)

	tokens := map[string]int64{}
	require.Zero(t, outcomesOf(t, pushesOf(waits), tokens))
	first := len(tokens)
	require.Positive(t, first)
	require.Less(t, first, pieceWaits, "it is in the middle")
	inStep(t, master, replica)
	require.Equal(t, "+OK", replica.do("REPLICAOF NO ONE"))
	highest := int64(0)
	for _, token := range tokens {
		highest = max(highest, token)
	}
	if goesOn {
		require.Equal(t, "+OK", master.do("CLIENT UNPAUSE"))
		noneWait(t, master)
		require.Zero(t, outcomesOf(t, pushesOf(waits), tokens))
		require.Len(t, tokens, pieceWaits)
	}

	again := map[int64]int{}
	for i := range pieceWaits {
		token := replica.Do(c.lock(i, "ONCE")...).Int
		require.Positive(t, token)
		if i < first { // the oldest come first
			require.Equal(t, tokens[fmt.Sprint("o", i)], token, "owner %d has lost its lock", i)
		} else {
			require.Greater(t, token, highest, "owner %d", i)
		}
		again[token]++
	}
	require.Len(t, again, pieceWaits, "no token is given twice")

	master.follow(replica.addr)
	require.Equal(t, "+OK", master.do("CLIENT UNPAUSE"))
	noneWait(t, master)
	refused := outcomesOf(t, pushesOf(waits), tokens)
	if goesOn {
		require.Zero(t, refused)
	} else {
		require.Equal(t, pieceWaits-first, refused)
		require.Len(t, tokens, first)
	}
	inStep(t, replica, master)
}

// noneWait waits until all waits have an outcome.
func noneWait(t *testing.T, n *node) {
	eventually(t, "no wait is left", func() bool { return n.number("lock_waiters_notify") == 0 })
}
