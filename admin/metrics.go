package admin

import (
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"lockserver/internal/histogram"
)

// metric is what there is to know of a metric beside its values.
type metric struct {
	name   string
	kind   prometheus.ValueType // prometheus.UntypedValue: a histogram or a summary
	help   string
	labels []string
}

// collector makes the metrics of a scrape from the figures of its moment.
type collector struct {
	source Source
	log    *slog.Logger
	descs  map[string]*prometheus.Desc
}

// metricsHandler is the page /metrics.
func metricsHandler(source Source, log *slog.Logger) http.Handler {
	c := &collector{source: source, log: log, descs: make(map[string]*prometheus.Desc)}
	for _, m := range allMetrics() {
		c.descs[m.name] = prometheus.NewDesc(m.name, m.help, m.labels, nil)
	}
	r := prometheus.NewRegistry()
	r.MustRegister(c)
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn), MaxRequestsInFlight: 4})
}

// Describe implements prometheus.Collector. Nothing is said: which metrics there are depends on the server.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	s := &scrape{collector: c, out: out, seen: make(map[string]struct{})}
	f := c.source.Figures()
	s.redis(&f)
	s.locks(&f)
	s.sales(&f)
}

// scrape is one answer. Metrics have names of keys and errors that clients make up: what is no UTF-8 is
// spelled otherwise, and what would then be there twice is left out, for it would spoil the whole answer.
type scrape struct {
	*collector
	out  chan<- prometheus.Metric
	seen map[string]struct{}
}

// take makes the labels of a series fit; false: it has been told already.
func (s *scrape) take(m *metric, labels []string) bool {
	for i, label := range labels {
		if !utf8.ValidString(label) {
			labels[i] = strings.ToValidUTF8(label, string(utf8.RuneError))
		}
	}
	if len(labels) == 0 {
		return true
	}
	key := m.name + "\x00" + strings.Join(labels, "\x00")
	_, twice := s.seen[key]
	s.seen[key] = struct{}{}
	return !twice
}

// send tells a value.
func (s *scrape) send(m *metric, value float64, labels ...string) {
	if s.take(m, labels) {
		s.out <- prometheus.MustNewConstMetric(s.descs[m.name], m.kind, value, labels...)
	}
}

// sendTimes tells a histogram of times in seconds.
func (s *scrape) sendTimes(m *metric, h *histogram.Histogram, labels ...string) {
	if !s.take(m, labels) {
		return
	}
	buckets := make(map[float64]uint64)
	h.Each(func(boundUS, count int64) { buckets[float64(boundUS)/1e6] = uint64(count) })
	s.out <- prometheus.MustNewConstHistogram(s.descs[m.name], uint64(h.Count), float64(h.SumUS)/1e6, buckets, labels...)
}

// allMetrics are all that a scrape may have.
func allMetrics() []*metric {
	all := slices.Concat(commandMetrics(), nativeMetrics())
	for i := range fields {
		all = append(all, &fields[i].metric)
	}
	return all
}

// Description is what the documentation says of a metric.
type Description struct {
	Name, Type, Help string
	Labels           []string
}

// Metrics describes all metrics, by name.
func Metrics() []Description {
	kinds := map[prometheus.ValueType]string{prometheus.GaugeValue: "gauge", prometheus.CounterValue: "counter"}
	byName := make(map[string]Description)
	for _, m := range allMetrics() {
		d := Description{Name: m.name, Type: kinds[m.kind], Help: m.help, Labels: m.labels}
		if d.Type == "" {
			if d.Type = "histogram"; m == &latencies {
				d.Type = "summary"
			}
		}
		byName[d.Name] = d
	}
	var all []Description
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		all = append(all, byName[name])
	}
	return all
}
