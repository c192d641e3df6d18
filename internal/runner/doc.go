// Package runner is `lockserver run`: it runs a command while it holds a lock, and makes sure that the
// command is dead before the lock can have another holder.
//
// It owns the course of one run: the lock, its renewals, the tick, the command with its process group, the
// signals, the exit status, and the supervisor. The supervisor is a second process of the same binary
// ([Supervise]). It knows the deadline of the lease and kills the command's process group when the deadline
// passes, even while the runner is stopped.
//
// The package must not know the server's packages: it speaks to a server on another machine. It does not use
// the Go client. A supervisor in another process needs the end of the lease with each renewal, and the client
// does not report that: it only reports that a lock is lost. The differences between systems are in the files
// process_*.go and clock_*.go. To add a kind of lock, extend the three functions in lock.go.
package runner
