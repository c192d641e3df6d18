package config

// Directives of Redis 7.4 that are refused with the reason, because a configuration with them relies on a
// missing feature.

// absentRows returns the directives for missing features that change what the server does. Each may be given
// with a value that turns the feature off.
func absentRows() []directive {
	rows := []directive{
		{Name: "loadmodule", Kind: notThere("modules; what RedisBloom's Bloom filters do is built in")},
		{Name: "sentinel", Kind: notThere("Sentinel; redis-sentinel looks after this server as after Redis")},
		{Name: "locale-collate", Kind: notThere("collation by a locale; SORT ALPHA compares bytes", "", "C", "POSIX")},
		{Name: "socket-mark-id", When: absentAtStart, Kind: notThere("marks on sockets", "0")},
		{Name: "tls-cluster", Kind: notThere("clusters; raft-tls encrypts what the members of a raft group send", "no")},
	}
	for i := range rows {
		if rows[i].When == live {
			rows[i].When = absent
		}
	}
	return rows
}
