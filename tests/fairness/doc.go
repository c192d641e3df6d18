// Package fairness shows who gets a lock and how it changes hands. Waiters get it in the order in which they
// queued, in whatever way it becomes free. A release wakes one of them and says nothing to the others. The
// next holder is answered in the same turn of the event loop, before the one who released it is.
//
// Everything is seen from outside, over real connections, by counting the bytes that arrive. That the tests
// can fail is shown by planting faults in the real sources (package plant). What a lock is in the first place
// is shown by tests/linearizability; how fast it changes hands, by the benchmark.
//
// To add a way in which a lock becomes free, add it to releases in order_test.go.
package fairness
