// Package timed checks that limiters and delayed entries keep to their times. A seed determines a world: a
// server with a manual clock, and a random sequence of commands and disturbances. The clock goes forwards and
// backwards. The server restarts from its log or from a snapshot. A replica with another clock takes over.
//
// Limiters (limit_*_test.go): the check is the definition of a rate, and knows nothing of the algorithm. From
// any allowed take to any later one, the sum of the costs is at most the burst and the units for the time
// between them. Only forward moves of the clock count as time. Waiters are served in order, and no call
// passes them. A limiter that is full leaves no key.
//
// Delayed entries (delay_*_test.go): a model runs the same commands, one after the other, and after each step
// all streams are compared. So the test finds an entry that is added twice, early, late, in a wrong order or
// never. Other clients rename, remove and change the keys of the entries. A crash goes back to the last
// snapshot. A replica adds nothing until it leads.
//
// Planted faults in the real sources (planted_test.go) show that the check can fail.
//
//	go test ./tests/timed
//	go test ./tests/timed -run Limiters -worlds 1000
//	go test ./tests/timed -run Limiters -seed 7
//	go test ./tests/timed -run Delays -delay-worlds 1000
//	go test ./tests/timed -run Delays -delay-seed 7
package timed
