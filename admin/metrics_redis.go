package admin

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"

	"lockserver/server"
)

// The metrics that redis_exporter has and that are not simply a field of INFO.
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
	spikeDuration = gauge("redis_latency_spike_duration_seconds", "How long it took.", "event_name")
)

// instanceLabels are fields of INFO.
var instanceLabels = []string{"maxmemory_policy", "os", "process_id", "redis_build_id", "redis_mode", "redis_version", "role", "run_id",
	"tcp_port"}

func commandMetrics() []*metric {
	return []*metric{&up, &startTime, &instance, &calls, &callSeconds, &callsRefused, &callsFailed, &latencies, &errorsByCode, &keys,
		&keysExpiring, &keysCached, &meanTTL, &slowLength, &slowLastID, &slowLast, &maxClients, &maxMemory, &ioThreads, &spikeAt,
		&spikeDuration}
}

// redis tells what redis_exporter would find.
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
			s.send(&field.metric, value)
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
	for _, e := range f.Events {
		s.send(&spikeAt, float64(e.AtS), e.Name)
		s.send(&spikeDuration, float64(e.MS)/1000, e.Name)
	}
}

// infoLine tells what a line of INFO has that has several values.
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

// percentiles tells how the calls of a command are spread over time. The quantiles are of a hundred, as
// redis_exporter has them.
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
