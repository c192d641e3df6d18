// Package metrics asks whether what others use to look at a Redis finds the same here. redis_exporter is
// compared at the oracle and at a lockserver. Prometheus scrapes /metrics by the configuration that
// docs/METRICS.md shows. The dashboard and the rules in docs/grafana are tried, too. It also measures a
// scrape.
//
// It owns the list of what only redis_exporter tells of itself, and of names with which promtool finds fault.
// It must not import the server: everything runs as a process of its own. All tests have the build tag
// oracle; `make metrics` runs them. To add a rule, write when it fires into testdata/alerts_test.yml.
package metrics
