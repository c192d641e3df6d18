// Package wait owns every wait, grant and renewed lease of a shard. A file each has the commands that are
// parked (parked.go), the waits that block no client (queued.go), and the work that ended connections leave
// (departure.go). The watchdog renews leases (watchdog.go, watchdog_shares.go) while clients live
// (liveness.go), or are attached to owners (attachments.go). deadlocks.go has the refused cycles. The history
// of locks is in lock_events.go, and the spans of waits are in spans.go. The commands that show them are in
// the files that end in _cmd.go.
//
// It knows a client as a Party, and its connection as a Connection. It asks the shard through the interface
// Shard. It must not know sessions, transports, the log, or replication. All of it runs under the lock of the
// shard, as parts of its units: package server calls it, and no goroutine of its own does.
//
// To add something that a wait does when it begins or ends, look at Waits.Park and Waits.Unpark, and for
// waits that block no client at enqueue and leaveQueues. A new need of the server is one more method of Shard
// or Connection, which server/host.go implements.
package wait
