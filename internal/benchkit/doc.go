// Package benchkit is what the benchmarks of the tree share: a small client that makes load without
// allocating, the start and the end of server programs, what the operating system knows of a process, the
// statistics of a few rounds, and a report in markdown that holds figures against targets.
//
// It must not know what is measured, or how any server works inside. What only one benchmark
// needs belongs to that benchmark; what a second one needs moves here. Measuring a process needs
// Linux; the rest builds everywhere.
package benchkit
