// Package sessions checks that every command is answered once, on its own connection and in its order,
// whatever happens to the connections meanwhile. It also checks that the holder of a lock is the client that
// got it.
//
// Random clients of one server subscribe, wait for locks and lists, are sent more than they may be, and kill
// and unblock each other. They skip replies, run transactions and scripts in several databases, release many
// locks at once, and hang up. Each command says which reply it may get (command_test.go), mostly words that
// no other command has, so a reply that is lost, doubled or astray is found by the next one. A book
// (book_test.go) has what every client learned of locks and lists. When nothing moves any more, LOCK.INFO and
// the lists must say the same. A connection that lives holds exactly what its replies said. One that the
// server has ended holds nothing else, and no client waits for a free lock.
//
// A history is a list of steps, made from a seed. In most of them each step is over before the next one
// begins, so they repeat and are shrunk to the few steps that matter before they are printed. In the others
// the connections overtake each other.
//
//	go test ./tests/sessions                                    about 3 s of histories, and the planted faults
//	go test ./tests/sessions -run Histories -minutes 10 -timeout 0     or: make sessions MINUTES=10
//	go test ./tests/sessions -run Histories -seed 7             the histories from that seed on
//
// What it does not check: what locks promise in time (tests/linearizability) and who
// gets one first (tests/fairness).
//
// To add a command: a maker in make_test.go; its accepts says which replies are allowed; if it changes who
// holds what, also book_test.go; and a fault in faults_test.go that only it would show.
package sessions
