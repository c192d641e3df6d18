// Package sales checks that a sale sells each piece once. Random clients use one sale of one server over
// real connections, all at the same time. They buy, alone and as a part of a cart with another sale, and
// ask again with the same order. They use an order of another user, confirm, extend, cancel, restock and
// read, alone and inside MULTI. Meanwhile holds end, connections are cut and killed, and the server is
// restarted from a snapshot or its log.
//
// All commands and replies with their times form a history. porcupine then searches for one order of all
// operations that the sequential sale in model_test.go allows. The server runs on a server.ManualClock that
// moves by single milliseconds, and each of these moves is an operation of the history, too. So a hold that
// ends a millisecond early or late is found.
//
// Whenever no client is active, the keys themselves are read and must agree with each other (books_test.go).
// Stock and sold pieces add up to those created and restocked. The buyers are the users of the orders. Every
// order is in the stream once, and every cancelled order is in the stream of cancelled orders once. The keys
// must also agree with the model, which continues from them.
//
// A refused history is shrunk before it is printed (shrink_test.go).
//
// Planted faults in the real sources (faults_test.go) show that the check can fail.
//
// A sale in several parts, which the server does not have, is explored in split_test.go: all orders of steps
// of a small world.
//
//	go test ./tests/sales                                   a few seconds of histories, and the planted faults
//	go test ./tests/sales -run Histories -minutes 10 -timeout 0
//	go test ./tests/sales -run Histories -seed 7            the actions of the clients repeat; the scheduling does not
package sales
