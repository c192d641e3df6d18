package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"lockserver/internal/runner"
)

// runJob is `lockserver run` from its arguments, without that word, to its exit status.
func runJob(args []string, stdout, stderr io.Writer) int {
	if runner.IsSupervisor(args) {
		return runner.Supervise(os.Stdin, stdout)
	}
	o, err := jobOptions(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, runUsage)
		return 0
	}
	if err != nil {
		fmt.Fprintf(stderr, "lockserver run: %v\n", err)
		return runner.StatusUsage
	}
	o.Stderr = stderr
	return runner.Run(o)
}

// jobOptions reads a command line. Its error may be flag.ErrHelp.
func jobOptions(args []string) (*runner.Options, error) {
	var o runner.Options
	r := remote{keyFlag: "cert-key"}
	f := flag.NewFlagSet("run", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	r.flags(f)
	f.StringVar(&o.Key, "key", "", "")
	f.IntVar(&o.Limit, "limit", 0, "")
	f.DurationVar(&o.Wait, "wait", 0, "")
	f.DurationVar(&o.Lease, "lease", 0, "")
	f.DurationVar(&o.Grace, "grace", 0, "")
	f.DurationVar(&o.Tick, "tick", 0, "")
	f.DurationVar(&o.Keep, "keep", 0, "")
	f.StringVar(&o.OnAsk, "on-ask", "", "")
	if err := f.Parse(args); err != nil {
		if name, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: -"); ok {
			err = fmt.Errorf("unknown flag --%s; try: lockserver run --help", name)
		}
		return nil, err
	}
	o.Command = f.Args()
	zero := ""
	f.Visit(func(given *flag.Flag) {
		if value := given.Value.String(); given.Name != "wait" && (value == "0s" || value == "0" && given.Name == "limit") {
			zero = given.Name
		}
	})
	if zero != "" { // not the default
		return nil, fmt.Errorf("--%s is more than 0", zero)
	}
	if err := o.Check(); err != nil {
		return nil, err
	}
	o.Addrs = strings.Split(r.Addr, ",")
	var err error
	o.Server, err = r.options()
	return &o, err
}

const runUsage = `Usage: lockserver run --key KEY [--flag value ...] -- COMMAND [ARG ...]

Runs a command while it holds a lock, for cron, systemd timers and Kubernetes: docs/RUN.md. The command has
LOCKSERVER_KEY, LOCKSERVER_OWNER and LOCKSERVER_TOKEN, the fencing token, in its environment.
If the lock is lost the command gets SIGTERM, and SIGKILL before another holder can have the lock.

  --key nightly      the lock
  --limit 3          take one of so many permits of a semaphore instead of a lock
  --wait 30s         how long to wait for the lock; without it a busy lock is not waited for
  --lease 30s        how long the lock outlives a dead runner; it is renewed six times in it
  --grace 10s        from SIGTERM to SIGKILL if the lock is lost; a third of a shorter lease
  --on-ask TERM      a signal for the command when a client asks for the lock (LOCK.ASK); without the flag, none
  --tick 1m          run once in a tick over all machines, by the server's clock; the ticks are multiples of it
  --keep 1h          how long the record of a tick stays

Which server:

  --addr host:port   127.0.0.1:6379, or the path of a unix socket; of a group several, with commas
  --user name        log in as a user
  --pass-file path   the password is in a file; REDISCLI_AUTH in the environment does the same
  --password secret  the password, which other users of the machine can see
  -n 0               the database
  --tls              encrypted
  --cacert ca.crt    the authority that signs the server's certificate; without it, those of the system
  --cert me.crt      a certificate for the server
  --cert-key me.key  its key
  --sni name         the name that the server's certificate has to be for
  --insecure         take any certificate

Exit status: that of the command, 128 and the signal if one ended it; 0 if the tick has run already; 64 for a wrong
command line; 69 if no server could be asked; 75 if the lock was busy; 80 if the lock was lost; 126 if the command cannot
be run; 127 if it is not found.
`
