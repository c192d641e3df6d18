// Command pool runs workers over a raft group of three lockservers. Every ten seconds it kills one of them
// (kill -9) and starts it again. Each worker takes one lock after the other and works while it holds it. The
// exit code is 1 if any worker ever worked without the lock. At the end the program draws the history, with a
// lane for each worker and each server.
//
// worker.go is the file to copy: package client over a group. ledger.go is the data that refuses late
// workers, group.go runs the servers, and history.go and picture.go record and draw the history. README.md
// shows the picture.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockserver/client"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout)
	stop()
	os.Exit(code)
}

// options holds the flags of the command line.
type options struct {
	program   string   // path of lockserver
	addresses []string // addresses of running servers, or empty: then the program starts three
	length    time.Duration
	killEvery time.Duration
	workers   int
	locks     int
	picture   string
}

// quiet is a log for expected errors: a killed server does not answer.
type quiet struct{}

// Printf implements the interface of redis.SetLogger.
func (quiet) Printf(context.Context, string, ...any) {}

// run runs the program and returns the exit code.
func run(ctx context.Context, args []string, out io.Writer) int {
	redis.SetLogger(quiet{})
	var o options
	var addresses string
	flags := flag.NewFlagSet("pool", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.StringVar(&o.program, "lockserver", "lockserver", "the program that is run three times")
	flags.StringVar(&addresses, "addresses", "", "host:port,... of a group that runs already, and is killed by another program")
	flags.DurationVar(&o.length, "for", time.Minute, "how long the workers work")
	flags.DurationVar(&o.killEvery, "kill-every", 10*time.Second, "how long it is from one kill to the next, at least")
	flags.IntVar(&o.workers, "workers", 6, "how many workers there are")
	flags.IntVar(&o.locks, "locks", 3, fmt.Sprintf("how many locks they share, up to %d", len(names)))
	flags.StringVar(&o.picture, "picture", "pool.svg", "the file that the picture is written to")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() > 0 || o.workers < 1 || o.locks < 1 || o.locks > len(names) || o.length <= 0 || o.killEvery <= 0 {
		fmt.Fprintln(out, "pool: at least one worker, a lock, and some time; try -help")
		return 2
	}
	if addresses != "" {
		o.addresses = strings.Split(addresses, ",")
	}
	h := newHistory(o)
	err := o.play(ctx, h)
	if err == nil {
		err = os.WriteFile(o.picture, []byte(picture(h.record())), 0o644)
	}
	if err != nil {
		fmt.Fprintln(out, "pool:", err)
		return 1
	}
	fmt.Fprint(out, h.record().report())
	fmt.Fprintln(out, "the picture is in", o.picture)
	if len(h.record().wrong) > 0 {
		return 1
	}
	return 0
}

// connect returns a client of the group. While the group elects a leader it answers CLUSTERDOWN, so connect
// tries again for up to a minute.
func connect(ctx context.Context, rdb *redis.ClusterClient) (*client.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		c, err := client.NewCluster(rdb, client.Name("pool"))
		if err == nil || !pause(ctx, lookEvery) {
			return c, err
		}
	}
}

// play runs the workers while servers are killed.
func (o options) play(ctx context.Context, h *history) error {
	var own *group
	addresses := o.addresses
	if addresses == nil {
		var err error
		if own, err = startGroup(o.program); err != nil {
			return err
		}
		defer own.end()
		addresses = own.addresses()
	}
	eyes := watchers(addresses, h)
	defer eyes.close()
	if err := eyes.awaitWhole(ctx); err != nil {
		if own != nil {
			err = errors.Join(err, own.logs())
		}
		return err
	}
	// It finds the leader like that of a cluster; package client does the rest.
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addresses, ReadTimeout: 3 * time.Second, ClusterStateReloadInterval: time.Second})
	defer func() { _ = rdb.Close() }()
	c, err := connect(ctx, rdb)
	if err != nil {
		return err
	}
	defer c.Close()
	p := &pool{history: h, data: newLedger(h), take: byClient(c), locks: o.locks}

	h.begin()
	ctx, cancel := context.WithTimeout(ctx, o.length)
	defer cancel()
	var all sync.WaitGroup
	eyes.watch(ctx, &all)
	if own != nil {
		all.Go(func() { own.killOften(ctx, o.killEvery, eyes, h) })
	}
	for i := range o.workers {
		all.Go(func() { p.work(ctx, i) })
	}
	all.Wait()
	h.end()
	return p.compare(context.WithoutCancel(ctx), rdb)
}
