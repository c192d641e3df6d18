package admin

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"

	"lockserver/server"
)

// The metrics of redis_exporter that are more than a field of INFO.
var (
	up           = gauge("redis_up", "1: the server tells of itself.")
	startTime    = gauge("redis_start_time_seconds", "When the server was started.")
	instance     = gauge("redis_instance_info", "What runs, in labels.", instanceLabels...)
	calls        = counter("redis_commands_total", "Calls of a command.", "cmd")
	callSeconds  = counter("redis_commands_duration_seconds_total", "How long the calls of a command took.", "cmd")
	callsRefused = counter("redis_commands_rejected_calls_total", "Calls that were refused before they ran.", "cmd")
	callsFailed  = counter("redis_commands_failed_calls_total", "Calls that were answered with an error.", "cmd")
	latencies    = metric{"redis_latency_percentiles_usec", dto.MetricType_SUMMARY, "How long the calls of a command took, in microseconds.",
		[]string{"cmd"}}
	errorsByCode  = counter("redis_errors_total", "Replies that were errors, by their first word.", "err")
	keys          = gauge("redis_db_keys", "Keys of a database.", "db")
	keysExpiring  = gauge("redis_db_keys_expiring", "Keys that have a deadline.", "db")
	keysCached    = gauge("redis_db_keys_cached", "Hashes with a field that has a deadline, as redis_exporter shows them.", "db")
	meanTTL       = gauge("redis_db_avg_ttl_seconds", "How long those that have a deadline still live, on average.", "db")
	slowLength    = gauge("redis_slowlog_length", "Entries of the slow log.")
	slowLastID    = gauge("redis_slowlog_last_id", "The number of its latest entry.")
	slowLast      = gauge("redis_last_slow_execution_duration_seconds", "How long that ran.")
	maxClients    = gauge("redis_config_maxclients", "The directive maxclients.")
	maxMemory     = gauge("redis_config_maxmemory", "The directive maxmemory.")
	ioThreads     = gauge("redis_config_io_threads", "The directive io-threads.")
	spikeAt       = gauge("redis_latency_spike_last", "When an event of LATENCY happened last, in seconds since 1970.", "event_name")
	masterLinkUp  = gauge("redis_master_link_up", "Of a replica: 1: it has a link to its master.", "master_host", "master_port")
	masterLastIO  = gauge("redis_master_last_io_seconds_ago", "Of a replica: how long ago its master has sent anything; below 0: there is no link.", "master_host", "master_port")
	masterSyncing = gauge("redis_master_sync_in_progress", "Of a replica: 1: it gets a snapshot of its master.", "master_host", "master_port")
	replicaOffset = gauge("redis_slave_repl_offset", "Of a replica: how much of the history it has, in bytes.", "master_host", "master_port")
	slaveOffset   = gauge("redis_connected_slave_offset_bytes", "Of a master: how much of the history a replica has acknowledged.", "slave_ip", "slave_port", "slave_state")
	slaveLag      = gauge("redis_connected_slave_lag_seconds", "Of a master: how long ago a replica was heard of.", "slave_ip", "slave_port", "slave_state")
	spikeDuration = gauge("redis_latency_spike_duration_seconds", "How long it took.", "event_name")
)

// instanceLabels are fields of INFO.
var instanceLabels = []string{"maxmemory_policy", "os", "process_id", "redis_build_id", "redis_mode", "redis_version", "role", "run_id",
	"tcp_port"}

func commandMetrics() []*metric {
	return []*metric{&up, &startTime, &instance, &calls, &callSeconds, &callsRefused, &callsFailed, &latencies, &errorsByCode, &keys,
		&keysExpiring, &keysCached, &meanTTL, &slowLength, &slowLastID, &slowLast, &maxClients, &maxMemory, &ioThreads, &spikeAt,
		&spikeDuration, &masterLinkUp, &masterLastIO, &masterSyncing, &replicaOffset, &slaveOffset, &slaveLag}
}

// redis sends the metrics of redis_exporter.
func (s *scrape) redis(f *server.Figures) {
	info := make(map[string]string)
	for line := range strings.SplitSeq(f.Info, "\r\n") {
		if name, value, ok := strings.Cut(line, ":"); ok {
			info[name] = value
			s.infoLine(name, value, info)
		}
	}
	for i := range fields {
		field := &fields[i]
		if value, ok := number(info[field.info]); ok {
			if field.scale != 0 {
				value *= field.scale
			}
			if len(field.labels) > 0 {
				s.send(&field.metric, value, info["raft_group"])
			} else {
				s.send(&field.metric, value)
			}
		}
	}
	s.send(&up, 1)
	nowUS, _ := number(info["server_time_usec"])
	uptime, _ := number(info["uptime_in_seconds"])
	s.send(&startTime, float64(int64(nowUS/1e6)-int64(uptime)))
	labels := make([]string, len(instanceLabels))
	for i, name := range instanceLabels {
		labels[i] = info[name]
	}
	s.send(&instance, 1, labels...)
	s.send(&slowLength, float64(f.SlowLen))
	s.send(&slowLastID, float64(f.SlowLastID))
	s.send(&slowLast, float64(f.SlowLastUS)/1e6)
	s.send(&maxClients, float64(f.MaxClients))
	s.send(&maxMemory, float64(f.MaxMemory))
	s.send(&ioThreads, float64(f.IOThreads))
	s.member(f, info["raft_group"])
	s.replication(info)
	for _, e := range f.Events {
		s.send(&spikeAt, float64(e.AtS), e.Name)
		s.send(&spikeDuration, float64(e.MS)/1000, e.Name)
	}
}

// infoLine sends the metrics of a line of INFO with several values.
func (s *scrape) infoLine(name, value string, info map[string]string) {
	if cmd, ok := strings.CutPrefix(name, "cmdstat_"); ok {
		v := parts(value)
		s.send(&calls, v["calls"], cmd)
		s.send(&callSeconds, v["usec"]/1e6, cmd)
		s.send(&callsRefused, v["rejected_calls"], cmd)
		s.send(&callsFailed, v["failed_calls"], cmd)
	} else if cmd, ok := strings.CutPrefix(name, "latency_percentiles_usec_"); ok {
		s.percentiles(cmd, parts(value), parts(info["cmdstat_"+cmd]))
	} else if code, ok := strings.CutPrefix(name, "errorstat_"); ok {
		s.send(&errorsByCode, parts(value)["count"], code)
	} else if id, ok := strings.CutPrefix(name, "db"); ok && id != "" && strings.Trim(id, "0123456789") == "" {
		v := parts(value)
		s.send(&keys, v["keys"], name)
		s.send(&keysExpiring, v["expires"], name)
		s.send(&keysCached, v["subexpiry"], name)
		s.send(&meanTTL, v["avg_ttl"]/1000, name)
	}
}

// replication sends the metrics of the link to a master, and of the replicas.
func (s *scrape) replication(info map[string]string) {
	if host := info["master_host"]; host != "" {
		port, up := info["master_port"], 0.0
		if info["master_link_status"] == "up" {
			up = 1
		}
		s.send(&masterLinkUp, up, host, port)
		for name, m := range map[string]*metric{"master_last_io_seconds_ago": &masterLastIO, "master_sync_in_progress": &masterSyncing, "slave_repl_offset": &replicaOffset} {
			if value, ok := number(info[name]); ok {
				s.send(m, value, host, port)
			}
		}
	}
	for i := 0; ; i++ {
		line, ok := info["slave"+strconv.Itoa(i)]
		if !ok {
			return
		}
		words := make(map[string]string)
		for part := range strings.SplitSeq(line, ",") {
			name, value, _ := strings.Cut(part, "=")
			words[name] = value
		}
		for name, m := range map[string]*metric{"offset": &slaveOffset, "lag": &slaveLag} {
			if value, ok := number(words[name]); ok {
				s.send(m, value, words["ip"], words["port"], words["state"])
			}
		}
	}
}

// percentiles sends the distribution of the call times of a command. The quantiles are in percent, as in
// redis_exporter.
func (s *scrape) percentiles(cmd string, times, stat map[string]float64) {
	pairs, isNew := s.label(&latencies, cmd)
	if !isNew {
		return
	}
	count, sum := uint64(stat["calls"]), stat["usec"]
	summary := &dto.Summary{SampleCount: &count, SampleSum: &sum}
	for name, us := range times {
		if p, ok := number(strings.TrimPrefix(name, "p")); ok {
			summary.Quantile = append(summary.Quantile, &dto.Quantile{Quantile: &p, Value: &us})
		}
	}
	slices.SortFunc(summary.Quantile, func(a, b *dto.Quantile) int { return cmp.Compare(a.GetQuantile(), b.GetQuantile()) })
	s.add(&latencies, &dto.Metric{Label: pairs, Summary: summary})
}

// parts reads "a=1,b=2.5".
func parts(text string) map[string]float64 {
	m := make(map[string]float64)
	for part := range strings.SplitSeq(text, ",") {
		if name, value, ok := strings.Cut(part, "="); ok {
			m[name], _ = strconv.ParseFloat(value, 64)
		}
	}
	return m
}

// number reads the value of a field; "ok" is 1, and "err" and "fail" are 0.
func number(text string) (float64, bool) {
	switch text {
	case "ok":
		return 1, true
	case "err", "fail":
		return 0, true
	}
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil
}
