// Package sessions checks that every command gets one reply, on its own connection and in order, whatever
// happens to the connections. It also checks that the holder of a lock is the client that got it.
//
// Random clients of one server subscribe, wait for locks and lists, get more output than is allowed, and kill
// and unblock each other. They skip replies, run transactions and scripts in several databases, release many
// locks at once, and disconnect. Each command knows its possible replies (command_test.go). Most have words
// that no other command has, so the next reply shows whether one was lost, doubled or misplaced. A book
// (book_test.go) holds what every client learned about locks and lists. When nothing changes any more,
// LOCK.INFO and the lists must agree. A living connection holds exactly what its replies said. A connection
// that the server has ended holds nothing else, and no client waits for a free lock.
//
// A history is a list of steps, made from a seed. In most histories each step is over before the next one
// begins. So they repeat, and are shrunk before they are printed. In the others the connections overtake each
// other.
//
//	go test ./tests/sessions                                    about 3 s of histories, and the planted faults
//	go test ./tests/sessions -run Histories -minutes 10 -timeout 0     or: make sessions MINUTES=10
//	go test ./tests/sessions -run Histories -seed 7             the histories from that seed on
//
// It does not check the promises of locks about time (tests/linearizability), nor the order of waiters
// (tests/fairness).
//
// To add a command, add a maker in make_test.go, with a function that accepts its replies. If the command
// changes the holder of something, add that to book_test.go, too. Add a fault to faults_test.go that only
// this command would show.
package sessions
