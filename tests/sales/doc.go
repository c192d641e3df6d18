// Package sales checks that a sale sells what there is, once. Random clients use one sale of one server over
// real connections, all at the same time. They buy, ask again with the same order, use an order of another
// user, confirm, cancel, restock and look, alone and inside MULTI. Meanwhile holds end, connections are cut
// and killed, and the server is started again from a snapshot or its log.
//
// All commands and replies with their times are a history; porcupine then looks for one order of all of it
// that the sequential sale in model_test.go could have produced. The server runs on a server.ManualClock
// that moves by single milliseconds, and each of these moves is an operation of the history, too. A hold that
// ends a millisecond early or late is found.
//
// Whenever no client is active, the keys themselves are read and must agree with each other (books_test.go).
// Stock and what is sold make up what was created and restocked. The buyers are the users of the orders.
// Every order is in the stream once, and every one that was taken back in the stream of those. What is read
// must also be what the model says, and is what it goes on with.
//
// A history that is refused is shrunk before it is printed (shrink_test.go).
//
// That the check can fail is shown by planting faults (faults_test.go) in the real sources.
//
//	go test ./tests/sales                                   a few seconds of histories, and the planted faults
//	go test ./tests/sales -run Histories -minutes 10 -timeout 0
//	go test ./tests/sales -run Histories -seed 7            what the clients do repeats; the scheduling does not
package sales
