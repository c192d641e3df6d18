// Package queued checks permits and waits that block no connection. Random clients share one lock,
// alone or as readers and writers, several locks, or one semaphore. They wait in every way: with and without
// NOTIFY, and their connections break. They confirm grants late, cancel waits, attach a second connection,
// and ask again over a new one. All of it is a history. Porcupine looks for an order that the sequential
// model in model_test.go could have produced.
//
// The model says that the permits in use never exceed the limit, SEM.INFO is exact, and tokens rise. A
// refusal has a reason. A grant ends only by a release, or because it was not confirmed. Readers are a
// semaphore, and a writer takes all of its permits. A connection hears of owners of its own client only.
// Leases are longer than a history, so the model does not know time. Package tests/linearizability does that
// for locks.
//
// A second kind of history (kill_test.go) is of a server process that is killed at random moments and
// started again on its data.
//
//	go test ./tests/queued                 about 5 s of histories, and the planted faults
//	go test ./tests/queued -seed 7         what the clients do repeats; the scheduling does not
package queued
