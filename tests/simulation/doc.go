// Package simulation runs whole raft groups in virtual time, thousands of them, each determined by a seed,
// and checks whether the replies to their clients are possible.
//
// A run is three or five real servers with the real engine in one process, in a bubble of testing/synctest.
// Twelve seconds of clients, elections and leases take a tenth of a second. The network between the members
// (network_test.go) is slow, loses messages, delays them until long after their sender has given up, and is
// cut. A cut is in one direction or both. The disks (disk_test.go) are slow and full, and a crash keeps all
// or nothing of a running write. The clocks (wrong) are set by up to weeks. Members crash and start again,
// hand over the lead, and write snapshots (chaos_test.go). Clients use the group (client_test.go); without a
// reply the result is unknown.
//
// porcupine checks the history of each key with a sequential model. There are models of locks: exclusive,
// shared and upgraded, one or several at once, with leases, tokens and writes under GUARD (lock_test.go). A
// cancelled wait is not granted. There are models of registers, counters, sets and streams (data_test.go), of
// a sale, of a sale with holds (sale_test.go), and of delayed entries, also of those that recur
// (delay_test.go). A lease or a hold lasts at least for its length in the
// time of the run, whatever clocks show; there is no upper limit. After a run all faults are mended. Then all
// members must get to one place of the history with the same data (heal), within a minute of their time.
//
// A cluster of two or three groups runs in the same way (shards_test.go). Each group has its own faults, and
// there are faults between the groups: they do not reach each other, and members start with old maps. Clients
// follow MOVED, and at times ask any member. In some runs a slot goes to another group, by entries of both
// logs. In other runs two groups own a slot by mistake, and a third slot has no owner. The histories of the
// keys go through the same models. After a run each member must send clients to the owner of each slot.
//
// A seed determines which members there are, what clients ask and when, and how long each message and each
// write takes. It also determines the faults of each member and their times, the times of elections, and all
// time. It does not determine which of several ready cases a select takes, nor the order of maps. So it does
// not determine which of two ready goroutines runs first. A second run with the same seed is therefore
// similar to the first one, but not the same. A failure prints its whole history, and -again tries its seed
// many times. A member cannot be stopped in the middle of a computation: tests/raft stops and continues real
// processes.
//
//	go test -tags simulation ./tests/simulation                               some runs, a few seconds
//	go test -tags simulation ./tests/simulation -runs 10000 -timeout 0        many (make simulation)
//	go test -tags simulation ./tests/simulation -seed 7 -runs 1 -again 100    one, again and again
//
// Planted faults in the real sources (planted_test.go) show that it finds faults.
//
// To add a kind of data, add a family and its model, as in data_test.go, to families. To add a fault of a
// group, add a method of chaos to befall.
package simulation
