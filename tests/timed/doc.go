// Package timed checks that limiters and delayed entries keep to their times. One seed makes one world: a
// server on a manual clock, and a random row of commands and disturbances. The clock goes forwards and
// backwards. The server restarts from its log or from a snapshot. A replica with another clock takes over.
//
// Limiters (limit_*_test.go): the check is the definition of a rate, and knows nothing of the algorithm.
// Between any two takes that were allowed, the costs sum up to at most the burst and what the time between
// them is worth. Time is what the clock moved forward; a step back is no time. Waiters are served in order,
// and no call passes them. A limiter that is full leaves no key.
//
// Delayed entries (delay_*_test.go): a model does what the server has to do, one command after the other, and
// after each step all streams are compared. So an entry that is added twice, early, late, out of its order or
// never is found. Other clients rename, remove and change the keys of the entries. A crash goes back to the
// last snapshot. A replica adds nothing until it leads.
//
// That the check can fail is shown by planting faults (planted_test.go) in the real sources.
//
//	go test ./tests/timed
//	go test ./tests/timed -run Limiters -worlds 1000
//	go test ./tests/timed -run Limiters -seed 7
//	go test ./tests/timed -run Delays -delay-worlds 1000
//	go test ./tests/timed -run Delays -delay-seed 7
package timed
