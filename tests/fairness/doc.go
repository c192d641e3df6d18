// Package fairness tests in which order waiters get a lock and how it changes hands. Waiters get it in the
// order in which they queued, however it becomes free. A release wakes one of them and sends nothing to the
// others. The next holder gets its reply in the same turn of the event loop, before the client that released
// the lock.
//
// The tests see everything from outside, over real connections, and count the bytes that arrive. Planted
// faults in the real sources (package plant) show that the tests can fail. tests/linearizability tests the
// lock itself, and the benchmark measures how fast it changes hands.
//
// To add a way in which a lock becomes free, add it to releases in order_test.go.
package fairness
