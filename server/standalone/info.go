package standalone

import (
	"strings"

	"lockserver/server/info"
)

// backlogBytes is the default of repl-backlog-size: nobody reads from it here.
const backlogBytes = 1 << 20

// InfoReplication writes the fields of INFO's section about replication. id names the history of the data.
func InfoReplication(t *info.Text, id string) {
	t.Line("role", "master")
	t.Line("connected_slaves", 0)
	t.Line("master_failover_state", "no-failover")
	t.Line("master_replid", id)
	t.Line("master_replid2", strings.Repeat("0", len(id)))
	t.Line("master_repl_offset", 0)
	t.Line("second_repl_offset", -1)
	t.Line("repl_backlog_active", 0)
	t.Line("repl_backlog_size", backlogBytes)
	t.Line("repl_backlog_first_byte_offset", 0)
	t.Line("repl_backlog_histlen", 0)
}

// InfoCluster writes the fields of INFO's section about clusters.
func InfoCluster(t *info.Text) { t.Line("cluster_enabled", 0) }
