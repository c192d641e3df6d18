// Package hostile sends a server commands that no ordinary client would send. A scenario (scenario_test.go)
// is pipelines of every row of the command table (tests/grammar), from several connections that break at
// random, over event loops or goroutines. There are keyspace events, short timeouts, small output limits,
// little memory and the append-only file. It is played (play_test.go) against a process of its own
// (child_test.go), which is killed with kill -9 at the end and started again.
//
// A finding is that the process ends, that a panic is in its log, or that it no longer answers. It is also a
// finding if a connection gets no answer or that of another one, or if the data after the restart is
// different. This package does not check whether an answer is right: tests/differential does.
//
// A finding is shrunk (shrink_test.go) to the few commands that it needs, and printed as a script, which
// -script plays again. The same seed gives the same scenarios. The scheduler decides in which order the
// commands of different connections run, so a scenario with a race may need several runs.
//
// Other tests call every row on servers that keep overdue keys (overdue_test.go), and as users with few
// rights (rights_test.go). They call native commands after a client has written into their keys by hand
// (foreign_test.go).
//
//	go test ./tests/hostile                                 3 s of it, and planted faults, which must be found
//	make hostile MINUTES=120 SEED=7
//	go test ./tests/hostile -run Script -script failure.txt
//
// A new row of the table needs nothing here, and mostly nothing in tests/grammar.
package hostile
