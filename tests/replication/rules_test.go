package replication

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// tooOld is in the log when a server ends the link of a replica that does not know entries that recur.
const tooOld = "closing a replica of an older version"

// TestReplicaOfAnOlderVersion: a lockserver that does not say that it knows entries that recur is closed
// before it is sent one, also if it follows a replica. It is refused while the data has one. A replica that
// knows them stays, and so does a Redis, which adds no entries by itself.
func TestReplicaOfAnOlderVersion(t *testing.T) {
	for _, far := range []bool{false, true} {
		t.Run(map[bool]string{false: "of the master", true: "of a replica"}[far], func(t *testing.T) {
			master, log := startLogged(t)
			from := master
			if far {
				from, log = startLogged(t)
				from.follow(master.addr)
				inStep(t, master, from)
			}
			newer, _ := startLogged(t)
			newer.follow(from.addr)
			inStep(t, from, newer)
			redis, older := reach(t, from.addr), reach(t, from.addr)
			redis.Do("REPLCONF", "capa", "eof", "capa", "psync2")
			redis.Send("PSYNC", "?", "-1")
			older.Do("REPLCONF", "capa", "eof", "capa", "psync2", "capa", "lockserver")
			older.Send("PSYNC", "?", "-1")
			eventually(t, "they are taken", func() bool { return from.info("connected_slaves") == "3" })
			require.Equal(t, `"once"`, master.do("DELAY.ADD s PX 3600000 ID once f v*"))
			require.Equal(t, `"job"`, master.do("DELAY.ADD s EVERY 3600000 ID job f v"))
			eventually(t, "the older one is closed", func() bool { return from.info("connected_slaves") == "2" })
			require.Equal(t, 1, log.times(tooOld))
			inStep(t, from, newer)

			again := reach(t, from.addr)
			again.Do("REPLCONF", "capa", "eof", "capa", "psync2", "capa", "lockserver")
			require.Contains(t, again.do("PSYNC ? -1"), "-ERR this server has delayed entries that recur")
			require.Contains(t, again.do("SYNC"), "-ERR this server has delayed entries that recur")
			require.Equal(t, "1", master.do("COPY {s}:delayed:entries kept"))
			require.Equal(t, "1", master.do("DELAY.CANCEL s job"))
			inStep(t, from, newer)
			again.Send("PSYNC", "?", "-1")
			eventually(t, "it is taken", func() bool { return from.info("connected_slaves") == "3" })
			require.Equal(t, "1", master.do("COPY kept {u}:delayed:other"))
			inStep(t, from, newer)
			require.Equal(t, "3", from.info("connected_slaves"), "a hash of another name has no entries")
			require.Equal(t, "+OK", master.do("RENAME kept {u}:delayed:entries"))
			eventually(t, "the older one is closed again", func() bool { return from.info("connected_slaves") == "2" })
			require.Equal(t, 2, log.times(tooOld))
		})
	}
}
