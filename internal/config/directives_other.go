package config

// Directives that Redis 7.4 has and that are refused with the reason, because whoever wrote them relies on
// something that is not there.

// absentRows are the directives without whose effect the server would not be what the file says. Each may be
// given with a value that turns it off.
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
