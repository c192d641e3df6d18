// Package interop shows that Redisson's locks and the native commands are one lock: what the one
// leaves in a key, the other understands.
//
// testdata/lua holds the logic of the scripts by which Redisson's RLock, RSpinLock, RFencedLock and RFairLock
// change a lock, written anew. testdata/redisson.golden is what they did on a real redis-server 7.4, step by
// step. It has the meaning of the reply, the type of the key, its fields, its lease, the token's key, the
// waiters, and what was published. Plain `go test` plays the same steps by native commands and compares, from
// the beginning and from the middle. A lock that the scripts have left at any step is recreated, and the
// native commands go on with it. With the build tag oracle the golden file is compared with the installed
// Redis, fresh random sequences are played on both, and locks are carried over in snapshots, both ways.
//
// Where the native commands do something else on purpose, compare in observation_test.go says so and why.
//
// To add a case, write its steps into sequences_test.go and record: go test -tags
// oracle ./tests/interop -update
package interop
