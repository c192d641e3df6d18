// Package benchkit is what the benchmarks share. It has suites and their sections, which the driver runs
// (suite.go), and a small client that makes load without allocating. It starts and ends server programs, and
// reads what the operating system knows of a process. It has the statistics of a few rounds, and a report in
// markdown that compares figures with targets.
//
// It must not know what is measured, or how any server works inside. What only one suite needs belongs to
// that suite; what a second one needs moves here. Measuring a process needs Linux; the rest builds
// everywhere.
package benchkit
