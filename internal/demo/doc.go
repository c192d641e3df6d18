// Package demo plays a whole flash sale against a server, over real connections,
// and checks what is left of it.
//
// It owns the story that `lockserver demo` tells: thousands of users ask for a few pieces at once, some
// of them click twice, some ask again because their connection broke; workers of a consumer group take
// the orders out of the stream and write them into a table, one of them dies over it, and the others
// take over what it had in its hands. In the end every promise of a sale is checked against what the
// server has, not against what it said.
//
// It must not know how the server works, or where it runs: a [Dialer] is all it gets. The command line is the
// program's.
//
// It speaks the protocol itself, with a few lines on package resp, instead of by a client library. A
// library would read better in conn.go and nowhere else: a connection that breaks at a chosen moment, and a
// worker that dies between a write and its acknowledgement, have to get around a pool and its retries. And
// the server program stays what it is: it had 10.2 MB, gets 0.3 MB larger by all of this package, and got
// 5.0 MB larger by go-redis alone (linux/amd64; the time to start was the same). How a shop would do it
// with a library, examples/flashsale shows.
//
// A step of the story is a file: plan.go says who asks what, sale.go opens and removes the sale,
// buyers.go sells, crew.go and worker.go drain the stream into ledger.go, facts.go looks at what is
// left, checks.go judges it, and report.go prints. To add a promise, add what has to be looked at
// to facts, and a check to checks.
package demo
