package admin

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	dto "github.com/prometheus/client_model/go"

	"lockserver/internal/histogram"
)

// gatherer makes the metrics of a scrape from the present figures. It is no prometheus.Registry: that checks
// and sorts the series of a thousand sales anew each time, which takes longer than everything else. A test
// makes the same checks instead.
type gatherer struct{ shards []Source }

// shardLabel is the label of all metrics of a process with several shards, counted from 1. A member of a raft
// group that is a shard has it, too, with the name of the shard.
const shardLabel = "shard"

// Gather implements prometheus.Gatherer.
func (g gatherer) Gather() ([]*dto.MetricFamily, error) {
	s := &scrape{families: make(map[*metric]*dto.MetricFamily), mostSales: max(1, mostSales/len(g.shards))}
	for i, source := range g.shards {
		s.source, s.seen = source, make(map[string]struct{})
		if len(g.shards) > 1 {
			s.shard = strconv.Itoa(i + 1)
		}
		f := source.Figures()
		s.shard = cmp.Or(s.shard, f.Shard)
		s.redis(&f)
		s.locks(&f)
		s.classes(&f)
		s.sales(&f)
	}
	all := make([]*dto.MetricFamily, 0, len(s.families))
	for _, family := range s.families {
		all = append(all, family)
	}
	slices.SortFunc(all, func(a, b *dto.MetricFamily) int { return strings.Compare(a.GetName(), b.GetName()) })
	return all, nil
}

// scrape is one answer.
type scrape struct {
	families  map[*metric]*dto.MetricFamily
	mostSales int                 // with metrics of their own, of a shard
	source    Source              // the server that is being asked
	shard     string              // the value of shardLabel for it; empty: there is no shardLabel
	seen      map[string]struct{} // its series, by label
}

// add puts a series into the family of its metric.
func (s *scrape) add(m *metric, series *dto.Metric) {
	family := s.families[m]
	if family == nil {
		family = &dto.MetricFamily{Name: &m.name, Help: &m.help, Type: &m.kind}
		s.families[m] = family
	}
	family.Metric = append(family.Metric, series)
}

// label returns the labels of a series; false if the series has been sent already. Labels are names of keys
// and errors, which clients choose. A name that is not UTF-8 is spelled otherwise. If two series then have
// the same labels, the second is left out, because it would make the whole answer invalid.
func (s *scrape) label(m *metric, values ...string) (pairs []*dto.LabelPair, isNew bool) {
	if len(values) == 0 {
		return s.withShard(m, nil), true
	}
	for i := range values {
		if !utf8.ValidString(values[i]) {
			values[i] = strings.ToValidUTF8(values[i], string(utf8.RuneError))
		}
	}
	key := m.name + "\x00" + strings.Join(values, "\x00")
	if _, twice := s.seen[key]; twice {
		return nil, false
	}
	s.seen[key] = struct{}{}
	pairs = make([]*dto.LabelPair, len(values))
	for i := range values {
		pairs[i] = &dto.LabelPair{Name: &m.labels[i], Value: &values[i]}
	}
	return s.withShard(m, pairs), true
}

// withShard adds the label of the shard, in its place among the sorted labels.
func (s *scrape) withShard(m *metric, pairs []*dto.LabelPair) []*dto.LabelPair {
	if s.shard == "" {
		return pairs
	}
	at, _ := slices.BinarySearch(m.labels, shardLabel)
	name, value := shardLabel, s.shard
	return slices.Insert(pairs, at, &dto.LabelPair{Name: &name, Value: &value})
}

// send sends a value of a metric.
func (s *scrape) send(m *metric, value float64, labels ...string) {
	if pairs, isNew := s.label(m, labels...); isNew {
		s.sendTo(m, value, pairs)
	}
}

// sendTo sends a value of a series with known labels.
func (s *scrape) sendTo(m *metric, value float64, pairs []*dto.LabelPair) {
	// One allocation for the whole value.
	if m.kind == dto.MetricType_COUNTER {
		series := new(struct {
			dto.Metric
			counter dto.Counter
			value   float64
		})
		series.value, series.counter.Value, series.Counter, series.Label = value, &series.value, &series.counter, pairs
		s.add(m, &series.Metric)
		return
	}
	series := new(struct {
		dto.Metric
		gauge dto.Gauge
		value float64
	})
	series.value, series.gauge.Value, series.Gauge, series.Label = value, &series.value, &series.gauge, pairs
	s.add(m, &series.Metric)
}

// sendTimes sends a histogram of times in seconds.
func (s *scrape) sendTimes(m *metric, h *histogram.Histogram, labels ...string) {
	pairs, isNew := s.label(m, labels...)
	if !isNew {
		return
	}
	count, sum := uint64(h.Count), float64(h.SumUS)/1e6
	reported := &dto.Histogram{SampleCount: &count, SampleSum: &sum}
	h.Each(func(boundUS, count int64) {
		bound, upTo := float64(boundUS)/1e6, uint64(count)
		reported.Bucket = append(reported.Bucket, &dto.Bucket{UpperBound: &bound, CumulativeCount: &upTo})
	})
	s.add(m, &dto.Metric{Label: pairs, Histogram: reported})
}
