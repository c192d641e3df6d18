// Package client holds locks on a lockserver as long as the program lives, and reports a lock that is lost.
//
//	c, err := client.New(rdb) // rdb is a *redis.Client of go-redis
//	lock, err := c.Lock(ctx, "order:42", client.Wait(5*time.Second))
//	if err != nil {
//		return err
//	}
//	defer lock.Unlock(context.Background())
//	return work(lock.Context()) // which is cancelled, with the reason, the moment the lock is lost
//
// Each lock has an owner with a name of its own. So no two parts of a program, and no two programs, can
// release each other's locks. All names begin with a prefix that is different for each client.
//
// The client has one connection of its own. It is attached to that prefix (LOCK.ATTACH PREFIX): the server
// renews the leases of the client's locks as long as the connection lives, and reports every loss on it. A
// broken connection is replaced by a new one, and the locks that the server still holds continue without a
// change. If no new connection can be made before a lease may have ended, the lock counts as lost.
//
// Locks are requested over the same connection. A call that waits does not occupy it: the server queues the
// request and sends the outcome later (NOTIFY). So any number of goroutines wait over one connection, and the
// pool of the library may be as small as one. A place in the queue outlives the connection. A grant is
// confirmed; if it cannot be confirmed, the next waiter gets the lock. A caller that gives up leaves the
// queue, and a lock that was granted meanwhile is released.
//
// In a cluster of several shards ([NewCluster]) there is such a connection for each shard that is used. A
// call goes to the shard of its key, and follows redirections. If the connection to one shard is lost, the
// locks of other shards are not affected. docs/CLIENTS.md of lockserver has the rules.
//
// Permits of a semaphore are held, waited for and lost as locks are ([Client.Semaphore]). Waits for a limiter
// ([Client.Limiter]) share the connection as well. Waits for a latch ([Client.Latch]) have one connection for
// each latch.
//
// Commands may be sent twice, because their answers may be lost. LOCK has the word ONCE, and UNLOCK names the
// token. An order of a sale has its id, and a call for a delayed entry has an id of its own. A command that
// the server cannot recognise is sent once: a command under a guard, LATCH.DOWN, LIMIT.GIVE, and LIMIT.TAKE
// and LIMIT.MTAKE that do not wait.
//
// A call refuses a value that is not allowed, with [ErrValue], before anything is sent. Such values are an
// empty key or id, a lease of 0, and a period that is no whole number of milliseconds.
//
// The package owns owners, their connection, and the handling of calls without an answer. It must not know
// the server's packages: it speaks to a server of another machine. It works with go-redis ([New]), and with
// any other client library by the two methods of [Server] ([NewWith]).
package client
