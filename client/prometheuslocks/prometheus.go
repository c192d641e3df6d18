// Package prometheuslocks has metrics of a client's locks for Prometheus:
//
//	metrics := prometheuslocks.New()
//	locks, err := client.New(rdb, client.Observe(metrics.Hooks()))
//	if err != nil {
//		return err
//	}
//	metrics.Watch(locks)
//	prometheus.MustRegister(metrics)
//
// Names and labels are those of the client for Java:
//
//	lockserver_wait_seconds              histogram of calls for a lock, by outcome
//	lockserver_hold_seconds              histogram of locks that are over, by outcome
//	lockserver_held, lockserver_waiting  locks that are held, and calls that wait
//	lockserver_attached                  1 if the client's connection is there
//	lockserver_client_oldest_hold_seconds  a lock that was forgotten makes it grow
//
// Keys are no labels, for there is no limit to their number.
package prometheuslocks

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"lockserver/client"
)

// Metrics are those of one client: a [prometheus.Collector].
type Metrics struct {
	wait, hold *prometheus.HistogramVec
	attached   prometheus.Gauge
	client     atomic.Pointer[client.Client]
}

// seconds are the limits of the histograms' buckets.
var seconds = []float64{0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300}

var (
	heldOf    = prometheus.NewDesc("lockserver_held", "Locks that are held now.", nil, nil)
	waitingOf = prometheus.NewDesc("lockserver_waiting", "Calls that wait now.", nil, nil)
	oldestOf  = prometheus.NewDesc("lockserver_client_oldest_hold_seconds", "The age of the oldest lock that is held now.", nil, nil)
)

// New returns metrics of a client that is to be made. For several clients in a program register those of
// each with a label of its own, by prometheus.WrapRegistererWith.
func New() *Metrics {
	histogram := func(name, help string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: seconds}, []string{"outcome"})
	}
	return &Metrics{
		wait:     histogram("lockserver_wait_seconds", "Time of calls for a lock."),
		hold:     histogram("lockserver_hold_seconds", "Time for which locks were held that are over."),
		attached: prometheus.NewGauge(prometheus.GaugeOpts{Name: "lockserver_attached", Help: "1 if the client's connection is there."}),
	}
}

// Hooks returns the hooks for client.Observe.
func (m *Metrics) Hooks() client.Hooks {
	return client.Hooks{
		Acquired: func(_ string, waited time.Duration) { observe(m.wait, client.Ending(nil), waited) },
		Refused:  func(_ string, waited time.Duration, err error) { observe(m.wait, client.Ending(err), waited) },
		Released: func(_ string, held time.Duration) { observe(m.hold, "released", held) },
		Lost:     func(lost *client.LostError) { observe(m.hold, lost.Reason, lost.Held) },
		Connected: func(err error) {
			if err != nil {
				m.attached.Set(0)
				return
			}
			m.attached.Set(1)
		},
	}
}

func observe(histogram *prometheus.HistogramVec, outcome string, d time.Duration) {
	histogram.WithLabelValues(outcome).Observe(d.Seconds())
}

// Watch has the gauges show the figures of a client. Without it they are not there.
func (m *Metrics) Watch(c *client.Client) { m.client.Store(c) }

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) {
	m.wait.Describe(to)
	m.hold.Describe(to)
	m.attached.Describe(to)
	to <- heldOf
	to <- waitingOf
	to <- oldestOf
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	m.wait.Collect(to)
	m.hold.Collect(to)
	m.attached.Collect(to)
	c := m.client.Load()
	if c == nil {
		return
	}
	stats := c.Stats()
	to <- prometheus.MustNewConstMetric(heldOf, prometheus.GaugeValue, float64(stats.Held))
	to <- prometheus.MustNewConstMetric(waitingOf, prometheus.GaugeValue, float64(stats.Waiting))
	to <- prometheus.MustNewConstMetric(oldestOf, prometheus.GaugeValue, stats.Oldest.Seconds())
}
