// Package demo plays a whole flash sale against a server, over real connections,
// and checks what is left of it.
//
// It owns the story of `lockserver demo`. Thousands of users order a few pieces at once; some click twice,
// and some retry because their connection broke. Workers of a consumer group read the orders from the stream
// and write them into a table. One of them is killed, and the others take over its orders. In the end every
// promise of a sale is checked against the data of the server, not against its answers.
//
// It must not know how the server works, or where it runs: a [Dialer] is all it gets. The command line is the
// program's.
//
// It speaks the protocol itself, with a few lines on package resp, instead of a client library. A library
// would only simplify conn.go. A connection that breaks at a chosen moment, and a worker that dies between a
// write and its acknowledgement, would have to bypass its pool and its retries. A library would also make
// the server program larger. It had 10.2 MB, this package adds 0.3 MB, and go-redis alone added 5.0 MB
// (linux/amd64). The time to start was the same. examples/flashsale shows a shop that uses a library.
//
// Each step of the story is a file: plan.go makes the requests, sale.go opens and removes the sale, buyers.go
// sells, and crew.go and worker.go drain the stream into ledger.go. Then facts.go reads what is left,
// checks.go checks it, and report.go prints. To add a promise, add its data to facts, and a check to checks.
package demo
