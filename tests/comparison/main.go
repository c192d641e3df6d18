// Command comparison is the same small program for five libraries. It takes a lock, holds it for as long as
// its work takes, and writes what it has done under it. Each library is a file, named after it, and
// used as its documentation tells. With a server at hand,
//
//	go run . redsync 127.0.0.1:6379
//
// holds the lock until its input ends (Ctrl-D); Enter writes. Start it twice, stop one by Ctrl-Z or kill
// -STOP, break its connection, end the server, and see what each of them says.
//
// The tests do just that, to all of them, and compare what they see with the table in
// docs/LOCK-GUARANTEES.md (make comparison). It is a module of its own, so that etcd is no dependency of the
// server. To add a library, add a file, its line in libraries, and its column in the page.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// lease is how long each library's lock lasts without renewal. They have 5 to 60 seconds by themselves.
const lease = 6 * time.Second

// write records under the lock that this holder was here.
type write func(ctx context.Context, who string) error

// work is what is done while the lock is held. ctx ends when the library, or who renews for it, says that
// it is lost.
type work func(ctx context.Context, write write) error

// libraries are the functions that hold a lock of the server at an address while they work.
func libraries() map[string]func(ctx context.Context, address string, work work) error {
	return map[string]func(context.Context, string, work) error{
		"redsync": withRedsync, "redislock": withRedislock, "rueidislock": withRueidislock, "etcd": withEtcd, "client": withClient,
	}
}

// errStale is the reason of a refused write: another holder has the lock by now.
var errStale = errors.New("another owner holds the lock")

func main() {
	if len(os.Args) < 3 || libraries()[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: comparison redsync|redislock|rueidislock|etcd|client host:port [name]")
		os.Exit(2)
	}
	name := fmt.Sprint(os.Getpid())
	if len(os.Args) > 3 {
		name = os.Args[3]
	}
	if err := libraries()[os.Args[1]](context.Background(), os.Args[2], worker(name)); err != nil {
		fmt.Println("ended:", err)
	}
}

// What the program says.
const (
	saysHeld    = "holds the lock; Enter writes"
	saysWrote   = "wrote"
	saysRefused = "refused" // with the reason
	saysFailed  = "failed"  // with the reason: it is unknown whether it was done
	saysLost    = "lost"    // with the reason
)

// worker is the work: a write for each line of the standard input. It waits where a pause hurts most, between
// its last look at ctx and the write.
func worker(name string) work {
	return func(ctx context.Context, write write) error {
		fmt.Println(saysHeld)
		defer context.AfterFunc(ctx, func() { fmt.Println(saysLost+":", context.Cause(ctx)) })()
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), lease)
			switch err := write(limited, name); {
			case err == nil:
				fmt.Println(saysWrote)
			case errors.Is(err, errStale):
				fmt.Println(saysRefused+":", err)
			default:
				fmt.Println(saysFailed+":", err)
			}
			cancel()
		}
		return nil
	}
}

// renewing returns a context that ends with the first error of extend, which is called again and again in
// time. It is what a program adds to a library that does not renew.
func renewing(ctx context.Context, extend func(context.Context) error) (context.Context, context.CancelFunc) {
	ctx, lost := context.WithCancelCause(ctx)
	go func() {
		for tick := time.NewTicker(lease / 3); ctx.Err() == nil; {
			select {
			case <-tick.C:
				if err := extend(ctx); err != nil {
					lost(err)
				}
			case <-ctx.Done():
				tick.Stop()
			}
		}
	}()
	return ctx, func() { lost(nil) }
}
