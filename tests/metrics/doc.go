// Package metrics tests that tools for a Redis find the same here. redis_exporter is compared with the oracle
// and a lockserver. Prometheus scrapes /metrics by the configuration that docs/METRICS.md shows. The
// dashboard and the rules in docs/grafana are tried, too. It also measures a scrape.
//
// It owns the list of redis_exporter's metrics about itself, and the list of names that promtool criticizes.
// It must not import the server: everything runs as a separate process. All tests have the build tag oracle;
// `make metrics` runs them. To add a rule, write into testdata/alerts_test.yml when it fires.
package metrics
