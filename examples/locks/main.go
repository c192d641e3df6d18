// Command locks shows three uses of LOCK, each in a file to copy. watchdog.go holds a lock for as long as the
// work takes. leader.go makes one of many processes run the jobs. fenced.go prevents a holder that was paused
// from overwriting the data of a later holder.
//
// Run several of them at once, end one by Ctrl-C or by kill -9, and watch which process continues. README.md
// shows the commands and their output.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/redis/go-redis/v9"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout)
	stop()
	os.Exit(code)
}

// process is one run of the program.
type process struct {
	out     io.Writer
	options redis.Options
	name    string
	every   time.Duration // leader: time from one job to the next
	lease   time.Duration // fenced: time for which it takes the lock
	sleep   time.Duration // fenced: time for which it then sleeps
}

func (p *process) say(format string, args ...any) {
	fmt.Fprintf(p.out, "%s %s\n", p.name, fmt.Sprintf(format, args...))
}

// run runs the program until its work or ctx ends, and returns the exit code.
func run(ctx context.Context, args []string, out io.Writer) int {
	p := process{out: out}
	flags := flag.NewFlagSet("locks", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.StringVar(&p.options.Addr, "redis", "127.0.0.1:6379", "address of lockserver")
	flags.StringVar(&p.name, "name", fmt.Sprintf("process-%d", os.Getpid()), "what this process calls itself")
	flags.DurationVar(&p.every, "every", time.Second, "leader: how often the job is done")
	flags.DurationVar(&p.lease, "lease", 5*time.Second, "fenced: how long the lock is held")
	flags.DurationVar(&p.sleep, "sleep", 10*time.Second, "fenced: how long the process is asleep before it writes")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	uses := map[string]func(context.Context) error{"watchdog": p.watchdog, "leader": p.leader, "fenced": p.fenced}
	use := uses[flags.Arg(0)]
	if use == nil {
		fmt.Fprintln(out, "say which: watchdog, leader or fenced")
		return 2
	}
	if err := use(ctx); err != nil && ctx.Err() == nil {
		p.say("ends: %s", err)
		return 1
	}
	return 0
}

// watchdog holds a lock until the process is stopped.
func (p *process) watchdog(ctx context.Context) error {
	p.say("waits in the queue")
	err := WhileHeld(ctx, p.options, "example:work", func(ctx context.Context, token int64) error {
		p.say("is at work, with the token %d; Ctrl-C ends it", token)
		<-ctx.Done()
		return context.Cause(ctx)
	})
	if !errors.Is(err, ErrLost) {
		p.say("has let go")
	}
	return err
}

// leader runs the jobs for all processes of this kind.
func (p *process) leader(ctx context.Context) error {
	p.say("waits in the queue")
	err := Lead(ctx, p.options, "example:leader", func(ctx context.Context, token int64) error {
		p.say("leads, with the token %d", token)
		return EachTick(ctx, p.every, func(context.Context) { p.say("does the job") })
	})
	p.say("has let go")
	return err
}

// fenced takes a lock for some seconds, sleeps longer, and then writes.
func (p *process) fenced(ctx context.Context) error {
	const lock = "example:price:lock"
	options := p.options
	options.ReadTimeout = standFor + time.Second // the reply to a waiting LOCK takes as long as the wait
	client := redis.NewClient(&options)
	defer client.Close()

	p.say("waits in the queue")
	token, err := client.Do(ctx, "LOCK", lock, p.name, "PX", p.lease.Milliseconds(), "WAIT", standFor.Milliseconds(), "ONCE").Int64()
	if err != nil {
		return err
	}
	// The reply is nil if the lease has ended.
	defer client.Do(context.WithoutCancel(ctx), "UNLOCK", lock, p.name, "TOKEN", token)
	p.say("has the lock for %s", p.lease)
	if p.sleep > 0 {
		p.say("falls asleep for %s", p.sleep)
		select {
		case <-time.After(p.sleep):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		p.say("wakes up, and believes that it still has the lock")
	}
	if err := WriteGuarded(ctx, client, lock, token, "SET", "example:price", p.name); err != nil {
		return err
	}
	p.say("has written")
	return nil
}
