// Package hostile throws at a server what no client would send. A scenario (scenario_test.go) is pipelines
// of every row of the command table (tests/grammar), from several connections that break at random, over
// event loops or goroutines. There are keyspace events, short timeouts, small output limits, little memory
// and the append-only file. It is played (play_test.go) against a process
// of its own (child_test.go), which is killed with kill -9 at the end and started again.
//
// It is a finding if the process ends, a panic is in its log, or it no longer answers. So it is if a
// connection gets no answer or another one's, or the data after the restart is not what it was. What it
// cannot tell is whether an answer is right: that is what tests/differential is for.
//
// A finding is shrunk (shrink_test.go) to the few commands that matter, and printed as a script which -script
// plays again. The same seed gives the same scenarios. How the connections' commands meet is up to the
// scheduler, so one that needs a race may have to be played more than once.
//
// Beside the scenarios, every row is called where keys that are past their deadlines are kept
// (overdue_test.go), and by users with few rights (rights_test.go). Native commands are called where a client
// has written into their keys by hand (foreign_test.go).
//
//	go test ./tests/hostile                                 3 s of it, and faults that are planted and must be found
//	make hostile MINUTES=120 SEED=7
//	go test ./tests/hostile -run Script -script failure.txt
//
// A new row of the table needs nothing here, and mostly nothing in tests/grammar.
package hostile
