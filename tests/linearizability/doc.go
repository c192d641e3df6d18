// Package linearizability checks that a lock is a lock. Random clients use a few locks of one server over
// real connections, in every possible way: with and without waiting, with leases and with the server's
// watchdog, shared and exclusive, several locks at once, and by force. Connections are attached, and others
// are cut in the middle. All commands and replies with their times form a history. porcupine then searches
// for one order of all operations that the sequential lock in model_test.go allows. In that order every
// operation takes effect between its call and its return.
//
// The model knows time. Server and test use one clock, so a lease that was granted between two readings of it
// ends between two known milliseconds. A lock that is seen free earlier, or held later, is a fault. The same
// holds for the end of a connection. From the moment at which the server no longer lists it, it may get no
// grant, and its watchdog renews nothing. A grant that it could not have read has been taken back.
//
// Nor may any client pass a waiter. Calls and returns alone do not show the order of waiters. But LOCK.INFO
// shows a queue, and later callers must be granted after the waiters in it (window_test.go).
//
// Histories come in two kinds (world_test.go). Those on the machine's clock show that real timers and sockets
// work together. Those on a server.ManualClock are exact to the millisecond and take no time, so there are
// many more of them.
//
// Planted faults show that the check can fail (planted_test.go). Each is a textual patch of the real sources,
// which go build's -overlay applies, and must be found within a given time. The sources themselves know
// nothing of it.
//
// A refused history is shrunk before it is printed (shrink_test.go): to the few operations that no correct
// lock could have answered in this way.
//
// It does not check which of the waiters that it has not seen in a queue gets a lock first (tests/fairness),
// nor that tokens rise over restarts (tests/restarts).
//
//	go test ./tests/linearizability                     about 20 s of histories, and the planted faults
//	go test ./tests/linearizability -run Histories -minutes 10 -timeout 0
//	go test ./tests/linearizability -run Histories -minutes 60 -manual 48 -timeout 0     100,000 of them
//	go test ./tests/linearizability -run Histories -seed 7     the actions of the clients repeat; the scheduling does not
//
// To add a command, add its kind to operation_test.go, its effect to model_test.go, and its use by clients to
// client_test.go. Add a fault to faults_test.go or faults_shared_test.go that only this command would show.
package linearizability
