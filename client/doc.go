// Package client holds locks on a lockserver for as long as the program that took them lives, and says when
// one is lost.
//
//	c, err := client.New(rdb) // rdb is a *redis.Client of go-redis
//	lock, err := c.Lock(ctx, "order:42", client.Wait(5*time.Second))
//	if err != nil {
//		return err
//	}
//	defer lock.Unlock(context.Background())
//	return work(lock.Context()) // which is cancelled, with the reason, the moment the lock is lost
//
// Each lock has an owner's name of its own, so that no two parts of a program, nor two programs, can take
// one another's place. All names begin with a prefix that is unlike that of any other client.
//
// The client has one connection of its own. It is attached to that prefix (LOCK.ATTACH PREFIX): the server
// renews the leases of the client's locks as long as the connection lives, and reports every loss on it.
// When it breaks it is made anew; what the server still holds then goes on as if nothing had happened. Where
// it cannot be made anew before a lease may have ended, the lock counts as lost.
//
// Locks are asked for over the same connection. A call that waits does not occupy it: the server queues the
// request and sends the outcome later (NOTIFY). So any number of goroutines wait over one connection, and
// the pool of the library may be as small as one. A place in the queue outlives the connection. A grant is
// confirmed; one that cannot be goes to the next waiter. A caller that goes leaves the queue, and a lock
// that was granted meanwhile is released.
//
// Permits of a semaphore are held, waited for and lost as locks are ([Client.Semaphore]). Waits for a
// limiter ([Client.Limiter]) share the connection as well. Those for a latch ([Client.Latch]) have one for
// each latch.
//
// Commands may be sent twice, as their answers may be lost. LOCK says ONCE, and UNLOCK names the token. An
// order of a sale has its id, and a call for a delayed entry one of its own. What cannot be recognised is
// sent once: a command under a guard, LATCH.DOWN, and LIMIT.TAKE that does not wait.
//
// A value that cannot be is refused by the call that it is given to, with [ErrValue], before anything is
// sent. Such are an empty key or id, a lease of 0, and a period that is no whole number of milliseconds.
//
// The package owns owners, their connection, and what becomes of calls without an answer. It must not
// know the server's packages: it speaks to a server of another machine. It works with go-redis ([New]), and
// with any other client library by the two methods of [Server] ([NewWith]).
package client
