// Package waiting decides which call waits for which key, which waiter is next, and which waits can never
// end. It is the core of every command that waits: locks, semaphores, lists, streams.
//
// It owns the queues of the keys, the places in them, the owners of the waits, and the search for deadlocks.
// It must not know sessions, connections, commands, the clock or the data. It sees a waiting command as a
// Call. It asks for the holders of a lock through Locks, a struct of functions.
//
// The words:
//
//   - A Waiter is one wait. It has a place in the queue of each of its keys, enters all of them in one moment
//     and leaves all of them in one moment.
//   - An owner is a name that locks are waited for and held under. It may have several waiters, of several
//     connections or of no connection. Only waiters with an owner take part in the search for deadlocks.
//   - A lock has a number of units. An exclusive hold takes all of them, a shared hold one, and a semaphore's
//     holder as many as it has permits. There is no other difference between these for this package.
//   - A queue is ready when its key has changed. Serve lets its waiters try, the oldest first.
//
// The protocol:
//
//   - Enter puts a waiter at the end of its queues. If it has an owner, the caller asks Deadlock for the
//     cycle that the wait closes, and refuses the wait with Leave.
//   - Changed makes a queue ready. At the end of each unit the caller calls Serve until there is no more to
//     do.
//   - Serve calls Call.Try for each waiter in its turn. A call that can go takes the lock, the permits or the
//     element, calls Leave with granted set, and reports that it is done.
//   - The strict waiters of a queue behind the first that cannot go do not try: there is no overtaking.
//   - InGrantOrder foresees in which order the waiters of a queue are granted (order.go).
//   - Awaited tells a call that does not wait whether a waiter is before it.
//
// A wait need not have a client that is blocked. Its grant then has to be confirmed, and Grants is the index
// of the grants that are not confirmed yet (confirm.go).
//
// A deadlock is a set of owners. None of them can go on, whatever the other owners do: see deadlock.go.
//
// To add a command that waits: implement Call, fill a Request, call Enter. A new kind of lock also needs its
// case in the functions of Locks, which return the units of a lock and of each holder.
//
// The scripts in testdata show the protocol step by step. TestHistories compares it with a model that looks
// at everything.
package waiting
