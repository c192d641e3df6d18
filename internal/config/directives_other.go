package config

import "strings"

// Directives that Redis 7.4 has and that have no effect here: those that may be given all the same, and those
// that are refused with the reason, because whoever wrote them relies on something that is not there.

// ignoredRows are the directives that tune something Redis has inside and this server does not,
// or that mean nothing in a Redis without replicas and without a cluster either, so that ignoring
// them changes no reply and no file.
func ignoredRows() []directive {
	const names = `
		active-defrag-cycle-max active-defrag-cycle-min active-defrag-ignore-bytes
		active-defrag-max-scan-fields active-defrag-threshold-lower active-defrag-threshold-upper activedefrag
		active-expire-effort activerehashing always-show-logo aof-disable-auto-gc aof-rewrite-cpulist aof_rewrite_cpulist
		aof-rewrite-incremental-fsync bgsave-cpulist bgsave_cpulist bind-source-addr bio-cpulist bio_cpulist
		cluster-allow-pubsubshard-when-down cluster-allow-reads-when-down cluster-allow-replica-migration
		cluster-announce-bus-port cluster-announce-hostname cluster-announce-human-nodename cluster-announce-ip
		cluster-announce-port cluster-announce-tls-port cluster-config-file cluster-link-sendbuf-limit
		cluster-migration-barrier cluster-node-timeout cluster-ping-interval cluster-port cluster-preferred-endpoint-type
		cluster-replica-no-failover cluster-replica-validity-factor cluster-require-full-coverage
		cluster-slave-no-failover cluster-slave-validity-factor crash-log-enabled
		crash-memcheck-enabled disable-thp dynamic-hz hide-user-data-from-log ignore-warnings io-threads-do-reads
		jemalloc-bg-thread
		lazyfree-lazy-eviction lazyfree-lazy-expire lazyfree-lazy-server-del lazyfree-lazy-user-del
		lazyfree-lazy-user-flush loading-process-events-interval-bytes masterauth masteruser
		max-new-connections-per-cycle max-new-tls-connections-per-cycle
		min-replicas-max-lag min-slaves-max-lag
		oom-score-adj oom-score-adj-values proc-title-template propagation-error-behavior rdb-del-sync-files
		rdb-save-incremental-fsync repl-backlog-size repl-backlog-ttl repl-disable-tcp-nodelay
		repl-diskless-load repl-diskless-sync repl-diskless-sync-delay repl-diskless-sync-max-replicas
		repl-ping-replica-period repl-ping-slave-period repl-timeout
		replica-announce-ip replica-announce-port replica-announced
		replica-ignore-disk-write-errors replica-ignore-maxmemory replica-lazy-flush replica-priority replica-read-only
		replica-serve-stale-data sanitize-dump-payload server-cpulist server_cpulist set-proc-title
		slave-announce-ip slave-announce-port slave-ignore-maxmemory slave-lazy-flush slave-priority slave-read-only
		slave-serve-stale-data syslog-facility syslog-ident use-exit-on-panic watchdog-period`
	var rows []directive
	for _, name := range strings.Fields(names) {
		rows = append(rows, directive{Name: name, When: ignored})
	}
	return rows
}

// absentRows are the directives without whose effect the server would not be what the file says. Each may be
// given with a value that turns it off.
func absentRows() []directive {
	const (
		replication = "replication; a server stands alone"
	)
	rows := []directive{
		{Name: "loadmodule", Kind: notThere("modules; what RedisBloom's Bloom filters do is built in")},
		{Name: "sentinel", Kind: notThere("Sentinel; a server stands alone")},
		{Name: "replicaof", Aliases: []string{"slaveof"}, Kind: notThere(replication, "no one", "")},
		{Name: "min-replicas-to-write", Aliases: []string{"min-slaves-to-write"}, Kind: notThere(replication, "0")},
		{Name: "locale-collate", Kind: notThere("collation by a locale; SORT ALPHA compares bytes", "", "C", "POSIX")},
		{Name: "socket-mark-id", Kind: notThere("marks on sockets", "0")},
		{Name: "tls-cluster", Kind: notThere("clusters", "no")},
		{Name: "tls-replication", Kind: notThere(replication, "no")},
	}
	for i := range rows {
		rows[i].When = absent
	}
	return rows
}
