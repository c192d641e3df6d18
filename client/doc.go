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
// one another's place. One connection of the program vouches for all of them (LOCK.ATTACH): the server
// renews their leases as long as that connection, or the one that took the lock, lives, and tells of every
// loss on it. When it breaks it is made anew; what the server still holds then goes on as if nothing had
// happened. Where it can not be made anew before a lease may have ended, the lock counts as lost. Every
// command is one that may be sent twice: LOCK says ONCE, UNLOCK names the token, and an order of a sale has
// its id. A command under a guard need not be, and is sent once.
//
// The package owns owners, their connection, and what becomes of calls that nobody answered. It must not
// know the server's packages: it speaks to a server of another machine. It works with go-redis ([New]), and
// with any other client library by the two methods of [Server] ([NewWith]).
package client
