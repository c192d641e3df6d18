package lockhistory

// Kind is the kind of an event.
type Kind uint8

const (
	Queued      Kind = iota + 1 // an owner began to wait
	Granted                     // an owner got a lock, or permits
	Released                    // an owner gave the lock or the permits back
	Renewed                     // a client started the lease anew
	Expired                     // the lease ended
	Forced                      // LOCK.FORCE took the lock away
	Lost                        // the key was deleted or overwritten
	Refused                     // a call ended without the lock
	Deadlock                    // a wait ended because it closed a deadlock cycle
	Confirmed                   // the owner confirmed a grant after a wait with NOTIFY
	Unconfirmed                 // the owner did not confirm such a grant in time
	Asked                       // LOCK.ASK asked the holder to let go
	kinds
)

var kindNames = [kinds]string{Queued: "queued", Granted: "granted", Released: "released", Renewed: "renewed-by-hand", Expired: "expired",
	Forced: "forced", Lost: "lost", Refused: "refused", Deadlock: "deadlock", Confirmed: "confirmed", Unconfirmed: "unconfirmed", Asked: "asked"}

// String returns the name of the kind on the wire.
func (k Kind) String() string { return kindNames[k] }

// Reason says more about an event.
type Reason uint8

const (
	None Reason = iota

	Again    // Granted: an owner that holds the lock got one more hold, or more permits
	Upgraded // Granted: a shared holder got an exclusive hold. Released: the shared hold that the exclusive hold replaces

	Partly     // Released: one of several holds, or some permits. The owner still holds the lock
	Downgraded // Released: the last exclusive hold. The owner still holds the lock shared
	Undone     // Released: the client did not get the reply, or did not confirm the grant
	ByScript   // Released: by a script that ran with the name of the owner

	Once // Renewed: by LOCK ... ONCE of an owner that holds the lock

	Deleted     // Lost
	Overwritten // Lost
	Renamed     // Lost at the old key, Granted at the new key
	Flushed     // Lost: all locks of the database. The event has no key
	Swapped     // Lost: all locks of the database, by SWAPDB. The event has no key

	Held         // Refused: the lock was held, and the call had no WAIT
	Timeout      // Timeout: the time to wait has ended
	Cancelled    // Refused: by LOCK.CANCEL, or because no connection kept the place in the queue
	Disconnected // Refused: the connection closed
	Unblocked    // Refused: CLIENT UNBLOCK
	Limited      // Refused: -LOCKLIMIT
	WrongType    // Refused: the key does not hold a lock any more
	Denied       // Refused: the user lost the right to write to the key
	Failover     // Refused: the server stopped being the master or the leader
	Failed       // Refused: any other error
	reasons
)

var reasonNames = [reasons]string{Again: "again", Upgraded: "upgraded", Partly: "partly", Downgraded: "downgraded", Undone: "undone",
	ByScript: "script", Once: "once", Deleted: "deleted", Overwritten: "overwritten", Renamed: "renamed", Flushed: "flushed", Swapped: "swapped",
	Held: "held", Timeout: "timeout", Cancelled: "cancelled", Disconnected: "disconnected", Unblocked: "unblocked", Limited: "limit",
	WrongType: "wrongtype", Denied: "denied", Failover: "failover", Failed: "error"}

// String returns the name of the reason on the wire; empty: None.
func (r Reason) String() string { return reasonNames[r] }

// Mode is the way in which a lock is held or requested.
type Mode uint8

const (
	Exclusive Mode = iota
	Shared
	Semaphore
)

var modeNames = [...]string{Exclusive: "exclusive", Shared: "shared", Semaphore: "semaphore"}

// String returns the name of the mode on the wire.
func (m Mode) String() string { return modeNames[m] }

// EndsHold reports whether the event ends a hold of the lock. kind and reason are names on the wire.
func EndsHold(kind, reason string) bool {
	switch kind {
	case kindNames[Released]:
		return reason != reasonNames[Partly] && reason != reasonNames[Downgraded]
	case kindNames[Expired], kindNames[Forced], kindNames[Lost]:
		return true
	}
	return false
}

// EndsWait reports whether the event ends a wait.
func EndsWait(kind string) bool {
	return kind == kindNames[Granted] || kind == kindNames[Refused] || kind == kindNames[Deadlock]
}
