// Package queued checks permits and waits that block no connection. Random clients share one lock, alone or
// as readers and writers, several locks, or one semaphore. They wait in every way: with and without NOTIFY,
// and their connections break. They confirm grants late, cancel waits, attach a second connection, and ask
// again over a new one. All operations form a history. Porcupine searches for an order that the sequential
// model in model_test.go allows.
//
// The model says that the permits in use never exceed the limit, SEM.INFO is exact, and tokens rise. A
// refusal has a reason. A grant ends only by a release, or because it was not confirmed. Readers share a
// semaphore, and a writer takes all of its permits. A connection gets pushes only for owners of its own
// client. Leases are longer than a history, so the model has no time. Package tests/linearizability checks
// time for locks.
//
// In a second kind of history (kill_test.go) a server process is killed at random moments and started again
// with its data.
//
//	go test ./tests/queued                 about 5 s of histories, and the planted faults
//	go test ./tests/queued -seed 7         the actions of the clients repeat; the scheduling does not
package queued
