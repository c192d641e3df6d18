// Package linearizability checks that a lock is a lock. Random clients use a few locks of one server over
// real connections, in every way there is. They do so with and without waiting, with leases and with the
// server's watchdog, shared and alone, several locks at once, and by force. Connections are attached, and
// others are cut in the middle. All commands and replies with their times are a history. porcupine then
// looks for one order of all of it that the sequential lock in model_test.go could have produced. In it every
// operation takes effect between its call and its return.
//
// The model knows time. Server and test go by one clock, so a lease that was granted between two readings of
// it ends between two known milliseconds. A lock that is seen free before, or held after, is found. The same
// goes for what a connection's death does. From the moment at which the server no longer lists it, it may be
// granted nothing, its watchdog renews nothing, and a grant that it could not have read has been taken back.
//
// Nor may any client pass a waiter. Calls and returns alone do not show the order of waiters. But LOCK.INFO
// shows a queue, and later callers must be granted after the waiters that it showed (window_test.go).
//
// Histories come in two kinds (world_test.go). Those on the machine's clock show that real timers
// and sockets work together. Those on a server.ManualClock are exact to the millisecond and take no
// time, so there are many more of them.
//
// That the check can fail is shown by planting faults (planted_test.go). The real sources, each of them
// changed by a textual patch that go build's -overlay puts in place, must each be found out within a stated
// time. The sources themselves know nothing of it.
//
// A history that is refused is shrunk before it is printed (shrink_test.go): to the few operations
// that no lock could have answered so.
//
// What it does not check: who gets a lock first among those that were not seen in its queue (tests/fairness),
// and that tokens rise over restarts (tests/restarts).
//
//	go test ./tests/linearizability                     about 20 s of histories, and the planted faults
//	go test ./tests/linearizability -run Histories -minutes 10 -timeout 0
//	go test ./tests/linearizability -run Histories -minutes 60 -manual 48 -timeout 0     100,000 of them
//	go test ./tests/linearizability -run Histories -seed 7     what the clients do repeats; the scheduling does not
//
// To add a command: a kind in operation_test.go, what it does in model_test.go, how clients use it in
// client_test.go, and a fault in faults_test.go or faults_shared_test.go that only it would show.
package linearizability
