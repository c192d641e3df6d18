package standalone

import "lockserver/server/info"

// InfoCluster writes the fields of INFO's section about clusters.
func InfoCluster(t *info.Text) { t.Line("cluster_enabled", 0) }
