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
	"syscall"
	"time"

	"lockserver/internal/inspect"
)

// runStatus is `lockserver status` from its arguments, without that word, to its exit code.
func runStatus(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := status(ctx, args, stdout)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, statusUsage)
		return 0
	}
	if err != nil {
		fmt.Fprintf(stderr, "lockserver status: %v\n", err)
		return 1
	}
	return 0
}

func status(ctx context.Context, args []string, stdout io.Writer) error {
	var r remote
	var asJSON, whole bool
	var wait time.Duration
	f := flag.NewFlagSet("status", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	r.flags(f)
	f.BoolVar(&asJSON, "json", false, "")
	f.BoolVar(&whole, "cluster", false, "")
	f.DurationVar(&wait, "wait-ready", 0, "")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 || wait < 0 || whole && wait > 0 {
		return errors.New("try: lockserver status --help")
	}
	o, err := r.options()
	if err != nil {
		return err
	}
	if whole {
		return clusterStatus(ctx, &r, o, asJSON, stdout)
	}
	addrs := strings.Split(o.Addr, ",")
	var g *inspect.Group
	if wait > 0 {
		ctx, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		if g, err = inspect.AwaitGroup(ctx, o, addrs); err != nil {
			err = fmt.Errorf("the group is not ready after %v: %w", wait, err)
		}
	} else {
		g, err = inspect.LookAtGroup(ctx, o, addrs)
	}
	if g == nil {
		return err
	}
	show := g.Print
	if asJSON {
		show = g.PrintJSON
	}
	if err == nil {
		err = g.Leaderless()
	}
	return errors.Join(show(stdout), err)
}

const statusUsage = `Usage: lockserver status [--flag value ...]

Lists the members of a raft group, each with what it says of itself: its role, how far its data is behind the leader, and
what an operator has to look at. Any member can be asked: the list is that of the leader.

  --wait-ready 60s   wait until all members are there and have applied what the leader had committed at first, and fail if
                     that takes longer: between two steps of an upgrade
  --cluster          all shards of a cluster of raft groups, each with its slots and a table of its members
  --json             one object
` + remoteUsage + `
--addr may have the addresses of several members, with commas: the first that answers is asked.
The exit code is 0 if a member leads, and 1 if none does or no member answers. With --cluster it is 0 if each slot is
served by exactly one shard that has a leader.
`
