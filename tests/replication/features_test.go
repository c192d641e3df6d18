//go:build oracle

package replication

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/testkit"
)

// What a server writes when it ends a link for what its replica does not know.
const notKnown = "closing a replica that does not know"

// features are effects that not every Redis knows, each with a command that makes it, and one behind which
// the data has nothing of the kind any more.
var features = []struct {
	name, by, away string
	since          string // the version of Redis that has it without a module; empty: none that is tested
}{
	{"deadline of a field", "HPEXPIRE fields 5000000 FIELDS 1 a", "DEL fields", "7.4"},
	{"shared lock", "LOCK shared me SHARED EX 5000", "DEL shared", "7.4"},
	{"bloom filter", "BF.ADD filter a", "DEL filter", ""},
}

// TestReplicaThatDoesNotKnow: the link of a replica ends that does not know what it is sent, the log says so,
// and it stays down until the data has nothing of the kind. A replica that knows it stays, whatever that is
// (D160).
func TestReplicaThatDoesNotKnow(t *testing.T) {
	testkit.EachProgram(t, func(t *testing.T, p testkit.Program) {
		for _, f := range features {
			for _, far := range []bool{false, true} {
				t.Run(f.name+map[bool]string{true: ", behind another"}[far], func(t *testing.T) {
					master, log := startLogged(t)
					from := master
					if far {
						from, log = startLogged(t)
						from.follow(master.addr)
						inStep(t, master, from)
					}
					plain(master)
					require.Equal(t, "2", master.do("HSET fields a 1 b 2"))
					replica := startRedis(t, p)
					replica.follow(from.addr)
					inStep(t, from, replica)

					require.NotContains(t, master.do(f.by)[:1], "-")
					plain(master)
					if f.since != "" && replica.info("redis_version") >= f.since {
						inStep(t, from, replica)
						eventually(t, "all is acknowledged", func() bool { return strings.Contains(from.info("slave0"), "offset="+from.info("master_repl_offset")) })
						require.Zero(t, log.times(notKnown))
						require.Equal(t, int64(1), from.number("sync_full"))
						require.Zero(t, from.number("sync_partial_ok"))
						return
					}
					eventually(t, "the link ends", func() bool { return log.times(notKnown) > 0 })
					eventually(t, "and again", func() bool { return log.times(notKnown) > 1 })
					require.NotContains(t, master.do(f.away)[:1], "-")
					inStep(t, from, replica)
				})
			}
		}
	})
}

// TestReplicaThatDoesNotKnowComesBack: who was away while it would have been sent what it does not know, and
// goes on behind it, is asked then.
func TestReplicaThatDoesNotKnowComesBack(t *testing.T) {
	testkit.EachProgram(t, func(t *testing.T, p testkit.Program) {
		master, log := startLogged(t)
		plain(master)
		replica := startRedis(t, p)
		link := between(t, master.addr)
		replica.follow(link.addr())
		inStep(t, master, replica)
		_ = link.listener.Close()
		link.cut()
		eventually(t, "it is away", func() bool { return master.info("connected_slaves") == "0" })
		require.Equal(t, "[1]", master.do("HPEXPIRE hash 5000000 FIELDS 1 a"))
		replica.follow(master.addr)
		if replica.info("redis_version") >= "7.4" {
			inStep(t, master, replica)
			require.Equal(t, "1", master.do("WAIT 1 50000"))
			require.Zero(t, log.times(notKnown))
		} else {
			eventually(t, "the link ends", func() bool { return log.times(notKnown) > 0 })
		}
		require.Equal(t, int64(1), master.number("sync_full"))
		require.Positive(t, master.number("sync_partial_ok"))
	})
}

// TestAcknowledgedByOneThatDoesNotKnow: what a replica leaves out it does not acknowledge.
func TestAcknowledgedByOneThatDoesNotKnow(t *testing.T) {
	master, log := startLogged(t)
	require.Equal(t, "1", master.do("HSET hash a 1"))
	replica := startRedis(t, testkit.Installed(t))
	replica.follow(master.addr)
	inStep(t, master, replica)
	require.Equal(t, "[1]", master.do("HPEXPIRE hash 5000000 FIELDS 1 a"))
	require.Equal(t, "0", master.do("WAIT 1 500"))
	require.Positive(t, log.times(notKnown))
}

// TestWhoAnswersNothingStays: a program that reads the history, and says now and then how far it is.
func TestWhoAnswersNothingStays(t *testing.T) {
	master, log := startLogged(t)
	values(master)
	reader := reach(t, master.addr)
	reader.Do("REPLCONF", "capa", "eof", "capa", "psync2")
	reader.Send("PSYNC", "?", "-1")
	eventually(t, "it is taken", func() bool { return master.info("connected_slaves") == "1" })
	for range 10 {
		require.Equal(t, "[1]", master.do("HPEXPIRE hash 5000000 FIELDS 1 a"))
		reader.Send("REPLCONF", "ACK", master.info("master_repl_offset"))
	}
	require.Equal(t, "+PONG", master.do("PING"))
	require.Zero(t, log.times(notKnown))
	require.Equal(t, "1", master.info("connected_slaves"))
}
