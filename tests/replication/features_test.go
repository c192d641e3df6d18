//go:build oracle

package replication

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// notKnown is in the log when a server ends a link because its replica does not know an effect.
const notKnown = "closing a replica that does not know"

// features are effects that not every Redis knows. Each has a command that causes it, and a command that
// removes it from the data again.
var features = []struct {
	name, by, away string
	since          string // the version of Redis that has it without a module, or empty if no tested version has
}{
	{"deadline of a field", "HPEXPIRE fields 5000000 FIELDS 1 a", "DEL fields", "7.4"},
	{"shared lock", "LOCK shared me SHARED EX 5000", "DEL shared", "7.4"},
	{"bloom filter", "BF.ADD filter a", "DEL filter", ""},
}

// TestReplicaThatDoesNotKnow: if a replica is sent an effect that it does not know, its link ends and the log
// says so. The link stays down until the data has no such effect. A replica that knows it stays, whatever
// kind it is (D160).
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

// TestReplicaThatDoesNotKnowComesBack: a replica was away while the master had an effect that it does not
// know, and continues after it. Then it is asked whether it knows it.
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

// TestAcknowledgedByOneThatDoesNotKnow: a replica does not acknowledge an effect that it leaves out.
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

// TestWhoAnswersNothingStays: a program that only reads the history and reports its position now and then
// stays connected.
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
