// Command comparison is one small program for each of five libraries. It takes a lock, holds it while its
// work lasts, and writes under the lock. Each library has a file with its name, and is used as in its
// documentation. With a server at hand,
//
//	go run . redsync 127.0.0.1:6379
//
// holds the lock until its input ends (Ctrl-D); Enter writes. Start it twice, stop one by Ctrl-Z or kill
// -STOP, break its connection, end the server, and see what each of them prints.
//
// The tests do just that, to all of them, and compare what they see with the table in docs/LOCK-GUARANTEES.md
// (make comparison). It is a separate module, so that the server does not depend on etcd. To add a library,
// add a file, its line in libraries, and its column in the page.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// lease is the duration of each library's lock without renewal. Their defaults are 5 to 60 seconds.
const lease = 6 * time.Second

// write records the name of a holder under the lock.
type write func(ctx context.Context, who string) error

// work runs while the lock is held. ctx ends when the library, or the code that renews for it, finds that the
// lock is lost.
type work func(ctx context.Context, write write) error

// libraries returns, for each library, a function that holds a lock on the server at an address while it
// works.
func libraries() map[string]func(ctx context.Context, address string, work work) error {
	return map[string]func(context.Context, string, work) error{
		"redsync": withRedsync, "redislock": withRedislock, "rueidislock": withRueidislock, "etcd": withEtcd, "client": withClient,
	}
}

// errStale is the reason for a refused write: another holder has the lock.
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

// The words that the program prints.
const (
	saysHeld    = "holds the lock; Enter writes"
	saysWrote   = "wrote"
	saysRefused = "refused" // with the reason
	saysFailed  = "failed"  // with the reason: the result is unknown
	saysLost    = "lost"    // with the reason
)

// worker returns the work: a write for each line of the standard input. It waits where a pause does most
// harm, between the last check of ctx and the write.
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

// renewing calls extend repeatedly, and returns a context that ends with its first error. A program needs
// this with a library that does not renew.
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
