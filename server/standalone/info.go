package standalone

import "lockserver/server/info"

// InfoReplication writes the fields of INFO's section about replication.
func InfoReplication(t *info.Text) {
	t.Line("role", "master")
	t.Line("connected_slaves", 0)
	t.Line("master_failover_state", "no-failover")
	t.Line("master_repl_offset", 0)
}

// InfoCluster writes the fields of INFO's section about clusters.
func InfoCluster(t *info.Text) { t.Line("cluster_enabled", 0) }
