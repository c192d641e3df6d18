package admin

import (
	"bufio"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
)

// metric describes a metric without its values.
type metric struct {
	name   string
	kind   dto.MetricType
	help   string
	labels []string // sorted, as Prometheus has them
}

// metricsHandler serves the page /metrics for all shards. It is not compressed: between two machines of a
// network the compression takes more time than it saves.
func metricsHandler(shards []Source, log *slog.Logger) http.Handler {
	inner := promhttp.HandlerFor(gatherer{shards}, promhttp.HandlerOpts{ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		MaxRequestsInFlight: 4, DisableCompression: true})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		pieces := gathered{w, bufio.NewWriterSize(w, 64<<10)}
		inner.ServeHTTP(pieces, r)
		_ = pieces.out.Flush()
	})
}

// gathered sends an answer in large pieces. The encoder writes small pieces, and each sent piece is a system
// call.
type gathered struct {
	http.ResponseWriter
	out *bufio.Writer
}

// Write implements io.Writer.
func (g gathered) Write(p []byte) (int, error) { return g.out.Write(p) }

// allMetrics returns all metrics that a scrape may have.
func allMetrics() []*metric {
	all := slices.Concat(commandMetrics(), nativeMetrics())
	for i := range fields {
		all = append(all, &fields[i].metric)
	}
	return all
}

// Description is the documentation of a metric.
type Description struct {
	Name, Type, Help string
	Labels           []string
}

// Metrics describes all metrics, by name.
func Metrics() []Description {
	byName := make(map[string]Description)
	for _, m := range allMetrics() {
		byName[m.name] = Description{Name: m.name, Type: strings.ToLower(m.kind.String()), Help: m.help, Labels: m.labels}
	}
	var all []Description
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		all = append(all, byName[name])
	}
	return all
}
