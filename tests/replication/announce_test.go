//go:build oracle

package replication

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWhatAReplicaSaysOfItself: a replica of either kind reports its address, port and priority, and whether
// Sentinels get it, to a master of either kind.
func TestWhatAReplicaSaysOfItself(t *testing.T) {
	for _, masterKind := range kinds {
		for _, kind := range kinds {
			t.Run(kind+" behind "+masterKind, func(t *testing.T) {
				master := startOf(t, masterKind, t.TempDir(), map[string]string{"save": ""})
				replica := startOf(t, kind, t.TempDir(), map[string]string{"save": "", "slave-announce-ip": "10.9.8.7", "slave-announce-port": "7777",
					"slave-priority": "7", "replica-announced": "no"})
				replica.follow(master.addr)
				inStep(t, master, replica)
				require.True(t, strings.HasPrefix(master.info("slave0"), "ip=10.9.8.7,port=7777,state=online,"), master.info("slave0"))
				require.Equal(t, `"10.9.8.7"`, master.Do("ROLE").Elems[2].Elems[0].Elems[0].String())
				require.Equal(t, []string{"7", "0"}, []string{replica.info("slave_priority"), replica.info("replica_announced")})
			})
		}
	}
}

// TestBacklogIsDropped: the history is dropped repl-backlog-ttl after the last replica has gone.
func TestBacklogIsDropped(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			master := startOf(t, kind, t.TempDir(), map[string]string{"save": "", "repl-backlog-ttl": "1"})
			replica := silentReplica(t, master)
			was := master.info("master_replid")
			require.Equal(t, "1", master.info("repl_backlog_active"))
			replica.Close()
			eventually(t, "it is let go", func() bool { return master.info("repl_backlog_active") == "0" })
			require.NotEqual(t, was, master.info("master_replid"))
			require.Equal(t, strings.Repeat("0", 40), master.info("master_replid2"))
		})
	}
}
