package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"lockserver/internal/demo"
	"lockserver/server"
)

// demoCommand is the command line of `lockserver demo`.
type demoCommand struct {
	demo.Options
	addr string // the address of a running server; empty: a server is started for the demo
}

// runDemo is `lockserver demo` from its arguments, without that word, to its exit code. The code is 0 if
// every check holds. It is 1 if a check fails or the demo could not run.
func runDemo(args []string, stdout, stderr io.Writer) int {
	cmd, err := parseDemo(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, demoUsage)
		return 0
	}
	if err != nil {
		fmt.Fprintf(stderr, "lockserver demo: %v\nTry: lockserver demo --help\n", err)
		return 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, stop)() // a second signal ends the process at once
	cmd.Out, cmd.Live = stdout, isTerminal(stdout)
	result, err := cmd.play(ctx)
	if err != nil {
		fmt.Fprintf(stderr, "\nlockserver demo: %v\n", err)
		return 1
	}
	result.Print(stdout)
	if !result.Holds() {
		return 1
	}
	return 0
}

// parseDemo reads the flags. The error is flag.ErrHelp if the flags ask for help.
func parseDemo(args []string) (demoCommand, error) {
	cmd := demoCommand{Options: demo.Defaults()}
	f := flag.NewFlagSet("demo", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&cmd.addr, "addr", "", "")
	f.StringVar(&cmd.Password, "password", os.Getenv("REDISCLI_AUTH"), "")
	f.IntVar(&cmd.Stock, "stock", cmd.Stock, "")
	f.IntVar(&cmd.Users, "users", cmd.Users, "")
	f.IntVar(&cmd.Connections, "connections", cmd.Connections, "")
	f.IntVar(&cmd.Workers, "workers", cmd.Workers, "")
	f.Uint64Var(&cmd.Seed, "seed", cmd.Seed, "")
	f.BoolVar(&cmd.Keep, "keep", false, "")
	if err := f.Parse(args); err != nil {
		if name, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: -"); ok {
			err = fmt.Errorf("unknown flag --%s", name)
		}
		return cmd, err // flag.ErrHelp, too
	}
	switch {
	case f.NArg() > 0:
		return cmd, fmt.Errorf("unknown argument %q", f.Arg(0))
	case cmd.Keep && cmd.addr == "":
		return cmd, errors.New("--keep needs --addr: the demo's own server ends with the demo")
	}
	if cmd.addr != "" {
		if _, _, err := net.SplitHostPort(cmd.addr); err != nil {
			return cmd, fmt.Errorf("--addr is host:port: %w", err)
		}
	} else {
		cmd.Password = "" // the password in the environment is for another server
	}
	return cmd, cmd.Validate()
}

// play runs the demo against the named server, or against a server of its own.
func (cmd demoCommand) play(ctx context.Context) (*demo.Result, error) {
	addr := cmd.addr
	cmd.Server = addr
	if addr == "" {
		tuneCollector()
		srv, err := server.New(server.Options{EventLoops: true, Version: version})
		if err != nil {
			return nil, err
		}
		if err := srv.Start(); err != nil {
			return nil, err
		}
		defer func() { _ = srv.Close() }()
		addr = srv.Addr().String()
		cmd.Server = "one of its own, which shares " + processors() + " with its clients"
	}
	dialer := net.Dialer{Timeout: 5 * time.Second}
	cmd.Dial = func(ctx context.Context) (net.Conn, error) { return dialer.DialContext(ctx, "tcp", addr) }
	cmd.Name = "demo-" + strings.ToLower(rand.Text()[:8])
	result, err := demo.Run(ctx, cmd.Options)
	if err == nil && cmd.Keep {
		fmt.Fprintf(cmd.Out, "\nkept: the keys with %s in their names\n", cmd.Name)
	}
	return result, err
}

func processors() string {
	if n := runtime.GOMAXPROCS(0); n != 1 {
		return fmt.Sprintf("%d processors", n)
	}
	return "one processor"
}

// isTerminal reports whether a written line can be overwritten.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

const demoUsage = `Usage: lockserver demo [--flag value ...]

Plays a flash sale and checks what is left of it: many users ask for few pieces over real connections, some of them
twice; workers of a consumer group take the orders out of the stream, one of them is killed, and the others take over
what it had in its hands. The numbers are measured. Exit code 0: every check holds; 1: one does not, or the sale could
not be played.

  --stock 1000       how many pieces there are
  --users 20000      how many people want one
  --connections 50   how many of them are served at a time
  --workers 4        how many drain the stream of orders, 2 at least
  --seed 1           decides who asks what, and in which order

Without --addr the demo starts a server of its own, which keeps nothing on disk and ends with it.

  --addr host:port   use a server that runs already; the demo takes keys of its own, touches no other, and
                     removes them at the end
  --password secret  what that server asks for; REDISCLI_AUTH in the environment does the same
  --keep             leave the keys there
`
