package server

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestHistoryWaitsForReplicasAfterAStart: a planned restart keeps the history for repl-backlog-ttl, so that
// replicas that come late go on where they were.
func TestHistoryWaitsForReplicasAfterAStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, log := range []string{"no", "yes"} {
		t.Run("appendonly="+log, func(t *testing.T) {
			clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
			run := func() *instance {
				return start(t, Options{Clock: clock, Directives: map[string]string{
					"dir": dir, "save": "3600 1", "appendonly": log, "repl-backlog-ttl": "60"}})
			}
			srv := run()
			c := client(t, srv)
			require.Equal(t, "+OK", c.Do("SET", "k", "v").String())
			client(t, srv).Send("PSYNC", "?", "-1")
			eventually(t, func() bool { return infoField(t, c, "repl_backlog_active") == "1" }, "a replica has come")
			id := infoField(t, c, "master_replid")
			c.Send("SHUTDOWN", "NOW")
			<-srv.Done()

			srv = run()
			c = client(t, srv)
			for range 30 {
				clock.Advance(time.Second)
				require.Equal(t, id, infoField(t, c, "master_replid2"))
			}
			for range 60 {
				clock.Advance(time.Second)
			}
			eventually(t, func() bool { return infoField(t, c, "repl_backlog_active") == "0" }, "it is let go")
		})
	}
}
