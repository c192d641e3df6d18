// Package benchkit has the common parts of the benchmarks. It has suites and their sections, which the driver
// runs (suite.go), and a small client that makes load without allocating. It starts and ends server programs,
// and reads the operating system's data about a process. It has the statistics of a few rounds, and a report
// in markdown that compares figures with targets.
//
// It must not know what is measured, nor how any server works inside. Code for only one suite belongs to that
// suite; code that a second suite needs moves here. Measuring a process needs Linux; the rest builds
// everywhere.
package benchkit
