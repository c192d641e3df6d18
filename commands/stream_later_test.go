package commands

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/store/stream"
)

// TestStreamLaterScript plays what later versions of Redis document about streams.
func TestStreamLaterScript(t *testing.T) {
	playDocumented(t, "testdata/stream_later.script", StreamRows, StringRows, KeyRows)
}

// TestClaimOrder is from redis.io/commands/xreadgroup: "Idle pending entries are reported first, then
// incoming entries. Idle pending entries are ordered by idle time (longer first)". COUNT limits the sum of
// both.
func TestClaimOrder(t *testing.T) {
	f := newFixture(t, StreamRows)
	for id := range 5 {
		f.do("XADD", "s", strconv.Itoa(id+1), "f", "v")
	}
	f.do("XGROUP", "CREATE", "s", "g", "0")
	f.do("XREADGROUP", "GROUP", "g", "a", "COUNT", "3", "STREAMS", "s", ">")
	f.advance(100)
	f.do("XCLAIM", "s", "g", "b", "0", "1-0")
	f.advance(50)
	f.want(`[["s" [["4-0" ["f" "v"]]]]]`,
		"XREADGROUP", "GROUP", "g", "a", "COUNT", "1", "CLAIM", "151", "NOACK", "STREAMS", "s", ">")
	f.want(`[["s" [["2-0" ["f" "v"] 150 1] ["3-0" ["f" "v"] 150 1]]]]`,
		"XREADGROUP", "GROUP", "g", "c", "COUNT", "2", "CLAIM", "50", "STREAMS", "s", ">")
	f.advance(1)
	f.want(`[["s" [["1-0" ["f" "v"] 51 2] ["5-0" ["f" "v"]]]]]`,
		"XREADGROUP", "GROUP", "g", "d", "COUNT", "2", "CLAIM", "50", "STREAMS", "s", ">")
	f.want(`[["1-0" "d" 0 3] ["2-0" "c" 1 2] ["3-0" "c" 1 2] ["5-0" "d" 0 1]]`, "XPENDING", "s", "g", "-", "+", "9")
	// "When used together with CLAIM, NOACK does not apply for retrieved pending entries."
	f.want(`[["s" [["2-0" ["f" "v"] 1 2]]]]`,
		"XREADGROUP", "GROUP", "g", "e", "COUNT", "1", "CLAIM", "1", "NOACK", "STREAMS", "s", ">")
	require.Contains(t, f.do("XPENDING", "s", "g", "-", "+", "9").String(), `["2-0" "e" 0 3]`)
	// Entries without a consumer come before all others, and deleted entries are no longer pending.
	f.want("1", "XNACK", "s", "g", "FAIL", "IDS", "1", "5-0")
	f.do("XDEL", "s", "3")
	f.advance(9)
	f.want(`[["s" [["5-0" ["f" "v"] -1 1] ["1-0" ["f" "v"] 9 3] ["2-0" ["f" "v"] 9 3]]]]`,
		"XREADGROUP", "GROUP", "g", "e", "CLAIM", "1", "STREAMS", "s", ">")
	require.Equal(t, "1-0 2-0 5-0", idsOf(f, "XPENDING", "s", "g", "-", "+", "9"))
}

// TestClaimWaits: "The CLAIM min-idle-time condition may become true for some pending entries during the
// BLOCK milliseconds". So a waiter tries again at that time, and an XNACK serves it at once.
func TestClaimWaits(t *testing.T) {
	f := newFixture(t, StreamRows)
	f.do("XADD", "s", "1", "f", "v")
	f.do("XGROUP", "CREATE", "s", "g", "0")
	f.do("XREADGROUP", "GROUP", "g", "a", "STREAMS", "s", ">")
	f.advance(30)
	require.Zero(t, f.client(2).do("XREADGROUP", "GROUP", "g", "b", "BLOCK", "0", "CLAIM", "100", "STREAMS", "s", ">"))
	require.Equal(t, []string{"s " + strconv.Itoa(startMS+100)}, f.retries)
	f.do("XCLAIM", "s", "g", "a", "0", "1-0") // 100 milliseconds more
	f.advance(70)
	f.ready = append(f.ready, changedKey{db: 0, key: "s"})
	f.want("1", "XLEN", "s")
	require.Equal(t, "s "+strconv.Itoa(startMS+130), f.retries[len(f.retries)-1])
	f.want("1", "XNACK", "s", "g", "SILENT", "IDS", "1", "1-0")
	require.Equal(t, `[["s" [["1-0" ["f" "v"] -1 1]]]]`, f.client(2).answer().String())

	// Without pending entries it tries again at the earliest time at which there can be idle ones.
	f.do("XACK", "s", "g", "1-0")
	f.retries = nil
	require.Zero(t, f.client(2).do("XREADGROUP", "GROUP", "g", "b", "BLOCK", "0", "CLAIM", "100", "STREAMS", "s", ">"))
	require.Equal(t, []string{"s " + strconv.Itoa(startMS+200)}, f.retries)
	f.do("XADD", "s", "2", "f", "v")
	require.Equal(t, `[["s" [["2-0" ["f" "v"]]]]]`, f.client(2).answer().String())
	f.retries = nil
	require.Zero(t, f.client(2).do("XREADGROUP", "GROUP", "g", "b", "BLOCK", "0", "STREAMS", "s", ">"))
	require.Empty(t, f.retries, "it was not asked for")
}

// TestNackEffects: the journal gets claims that a plain Redis understands.
func TestNackEffects(t *testing.T) {
	f := newFixture(t, StreamRows)
	f.do("XADD", "s", "1", "f", "v")
	f.do("XGROUP", "CREATE", "s", "g", "0")
	f.do("XREADGROUP", "GROUP", "g", "a", "STREAMS", "s", ">")
	f.effects()
	f.do("XNACK", "s", "g", "FATAL", "IDS", "1", "1-0")
	require.Equal(t, []string{"0 XGROUP CREATECONSUMER s g ",
		"0 XCLAIM s g  0 1-0 TIME 0 RETRYCOUNT 9223372036854775807 FORCE JUSTID"}, f.effects())
}

// TestOrderByTime: the order by time is the same as after sorting, whatever happens to the group and its
// copies.
func TestOrderByTime(t *testing.T) {
	f := newFixture(t, StreamRows, KeyRows)
	chance := rand.New(rand.NewPCG(3, 4))
	for id := range 40 {
		f.do("XADD", "s", strconv.Itoa(id+1), "f", "v")
	}
	f.do("XGROUP", "CREATE", "s", "g", "0")
	one := func() string { return strconv.Itoa(1 + chance.IntN(40)) }
	for range 2000 {
		consumer := string(rune('a' + chance.IntN(4)))
		switch chance.IntN(9) {
		case 0:
			f.do("XREADGROUP", "GROUP", "g", consumer, "COUNT", "3", "CLAIM", "20", "STREAMS", "s", ">")
		case 1:
			f.do("XACK", "s", "g", one(), one())
		case 2, 3:
			f.do("XCLAIM", "s", "g", consumer, "0", one(), "FORCE", "IDLE", one())
		case 4:
			f.do("XNACK", "s", "g", "FAIL", "IDS", "1", one(), "FORCE")
		case 5:
			f.do("XREADGROUP", "GROUP", "g", consumer, "STREAMS", "s", "0")
		case 6:
			f.do("XGROUP", "DELCONSUMER", "s", "g", consumer)
		case 7:
			f.do("COPY", "s", "t")
			f.do("RENAME", "t", "s")
		default:
			f.advance(3)
		}
		g := f.store.DB(0).Peek([]byte("s")).Stream().Group([]byte("g"))
		last, n := stream.Pending{}, 0
		g.OrderByTime()
		g.EachByTime(func(p stream.Pending) bool {
			if n++; n > 1 {
				require.True(t, last.DeliveredMS < p.DeliveredMS || last.DeliveredMS == p.DeliveredMS && last.ID.Less(p.ID))
			}
			held, ok := g.Pending(p.ID)
			require.True(t, ok)
			require.Equal(t, held, p)
			last = p
			return true
		})
		require.Equal(t, g.PendingLen(), n)
	}
}

// TestNackedAreCounted is from redis.io/commands/xinfo-stream: "nacked-count: the number of entries currently
// in the nacked zone. Added in Redis 8.8." A group without such entries shows the same fields as in 7.4.
func TestNackedAreCounted(t *testing.T) {
	f := newFixture(t, StreamRows)
	f.do("XADD", "s", "1", "f", "v")
	f.do("XADD", "s", "2", "f", "v")
	f.do("XGROUP", "CREATE", "s", "g", "0")
	f.do("XREADGROUP", "GROUP", "g", "", "COUNT", "1", "STREAMS", "s", ">") // a consumer with the empty name has it
	f.do("XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">")
	full := func() string { return f.do("XINFO", "STREAM", "s", "FULL").String() }
	require.NotContains(t, full(), "nacked-count")
	f.want("1", "XNACK", "s", "g", "FAIL", "IDS", "1", "2")
	require.Contains(t, full(), `"nacked-count" 1]`)
	f.do("XCLAIM", "s", "g", "c", "0", "2")
	require.NotContains(t, full(), "nacked-count")
}
