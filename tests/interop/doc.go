// Package interop tests that Redisson's locks and the native commands use the same lock: each understands the
// data that the other leaves in a key.
//
// testdata/lua holds the logic of the scripts by which Redisson's RLock, RSpinLock, RFencedLock and RFairLock
// change a lock, written anew. testdata/redisson.golden records what they did on a real redis-server 7.4,
// step by step. It has the meaning of the reply, the type of the key, its fields, its lease, the token's key,
// the waiters, and the published messages. Plain `go test` plays the same steps by native commands and
// compares, from the beginning and from the middle. The lock after any step of the scripts is recreated, and
// the native commands continue with it. With the build tag oracle the golden file is compared with the
// installed Redis, fresh random sequences are played on both, and locks are carried over in snapshots, both
// ways.
//
// Where the native commands differ on purpose, compare in observation_test.go says so and why.
//
// To add a case, write its steps into sequences_test.go and record: go test -tags oracle ./tests/interop
// -update
package interop
