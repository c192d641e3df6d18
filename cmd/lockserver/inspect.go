package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"lockserver/internal/config"
	"lockserver/internal/inspect"
)

// inspection is a command that inspects a running server: top, locks, why or history.
type inspection struct {
	name, usage string
	// flags adds the flags that only this command has.
	flags func(f *flag.FlagSet)
	// arguments is the number of words after the flags.
	arguments int
	run       func(ctx context.Context, s *inspect.Server, words []string, stdout io.Writer) error
}

// inspections returns all such commands, with the flags of one command line.
func inspections() []inspection {
	var by inspect.Filter
	var asJSON, once bool
	var at moment
	interval := time.Second
	return []inspection{
		{name: "top", usage: topUsage,
			flags: func(f *flag.FlagSet) {
				f.BoolVar(&once, "once", false, "")
				f.DurationVar(&interval, "interval", interval, "")
			},
			run: func(ctx context.Context, s *inspect.Server, _ []string, stdout io.Writer) error {
				if interval < 100*time.Millisecond {
					return errors.New("--interval is 100ms at least")
				}
				if once || !isTerminal(stdout) {
					return s.TopOnce(ctx, stdout, interval)
				}
				return s.Top(ctx, os.Stdin, stdout, interval)
			}},
		{name: "locks", usage: locksUsage,
			flags: func(f *flag.FlagSet) {
				f.StringVar(&by.Owner, "owner", "", "")
				f.StringVar(&by.Match, "match", "", "")
				f.BoolVar(&asJSON, "json", false, "")
			},
			run: func(ctx context.Context, s *inspect.Server, _ []string, stdout io.Writer) error {
				return s.PrintLocks(ctx, stdout, by, asJSON)
			}},
		{name: "why", usage: whyUsage, arguments: 1,
			flags: func(f *flag.FlagSet) {
				f.BoolVar(&asJSON, "json", false, "")
				f.Var(&at, "at", "")
			},
			run: func(_ context.Context, s *inspect.Server, words []string, stdout io.Writer) error {
				if at.given {
					return printThen(s, words[0], at, asJSON, stdout)
				}
				reason, err := s.Why(words[0])
				if err != nil {
					return err
				}
				if asJSON {
					return reason.PrintJSON(stdout)
				}
				reason.Print(stdout)
				return nil
			}},
		historyInspection(),
	}
}

// historyInspection is lockserver history.
func historyInspection() inspection {
	var events inspect.Events
	var asJSON, follow bool
	var since, until moment
	return inspection{name: "history", usage: historyUsage,
		flags: func(f *flag.FlagSet) {
			f.StringVar(&events.Key, "lock", "", "")
			f.StringVar(&events.Owner, "owner", "", "")
			f.Var(&since, "since", "")
			f.Var(&until, "until", "")
			f.IntVar(&events.Count, "count", 100, "")
			f.BoolVar(&follow, "follow", false, "")
			f.BoolVar(&asJSON, "json", false, "")
		},
		run: func(ctx context.Context, s *inspect.Server, _ []string, stdout io.Writer) (err error) {
			if events.Since, err = since.time(); err != nil {
				return err
			}
			if events.Until, err = until.time(); err != nil {
				return err
			}
			if events.Count < 1 || events.Count > 10_000 {
				return errors.New("--count is between 1 and 10000")
			}
			events.Lost = func(err error) { fmt.Fprintf(os.Stderr, "lockserver history: %v: connecting again\n", err) }
			return s.PrintHistory(ctx, stdout, events, asJSON, follow)
		}}
}

// moment is a flag with a time. An empty value is no time: it comes from a variable that was not set.
type moment struct {
	text  string
	given bool
}

func (m *moment) String() string { return m.text }

func (m *moment) Set(text string) error {
	m.text, m.given = text, true
	return nil
}

// time returns the given time; zero if there is none.
func (m *moment) time() (time.Time, error) {
	if !m.given {
		return time.Time{}, nil
	}
	return inspect.ParseMoment(m.text, time.Now())
}

// fastClock is how far the server's clock may be ahead of this machine's.
const fastClock = time.Minute

// printThen prints the holders of a lock at a time in the past.
func printThen(s *inspect.Server, key string, at moment, asJSON bool, stdout io.Writer) error {
	when, err := at.time()
	if err != nil {
		return err
	}
	if when.After(time.Now().Add(fastClock)) {
		return fmt.Errorf("%s is still to come: a time of another day needs its date, as 2026-11-27 14:03:22", when.Format(time.DateTime))
	}
	then, err := s.WhyAt(key, when)
	if err != nil {
		return err
	}
	if asJSON {
		return then.PrintJSON(stdout)
	}
	then.Print(stdout)
	return nil
}

// findInspection returns the inspection of a command line.
func findInspection(args []string) (i inspection, ok bool) {
	for _, i := range inspections() {
		if len(args) > 0 && args[0] == i.name {
			return i, true
		}
	}
	return i, false
}

// start runs the command from its arguments, without its name, to its exit code.
func (i inspection) start(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := i.connectAndRun(ctx, args, stdout)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, i.usage)
		return 0
	}
	if err != nil {
		fmt.Fprintf(stderr, "lockserver %s: %v\n", i.name, err)
		return 1
	}
	return 0
}

func (i inspection) connectAndRun(ctx context.Context, args []string, stdout io.Writer) error {
	var r remote
	f := flag.NewFlagSet(i.name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	r.flags(f)
	i.flags(f)
	words, err := parseMixed(f, args)
	if err != nil {
		if name, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: -"); ok {
			err = fmt.Errorf("unknown flag --%s; try: lockserver %s --help", name, i.name)
		}
		return err // flag.ErrHelp, too
	}
	if len(words) != i.arguments {
		return fmt.Errorf("try: lockserver %s --help", i.name)
	}
	o, err := r.options()
	if err != nil {
		return err
	}
	s, err := inspect.Connect(ctx, o)
	if err != nil {
		return err
	}
	defer s.Close()
	return i.run(ctx, s, words, stdout)
}

// parseMixed parses flags before, between and after other words, which it returns. After "--" there are only
// words.
func parseMixed(f *flag.FlagSet, args []string) (words []string, err error) {
	for {
		if err := f.Parse(args); err != nil {
			return nil, err
		}
		rest := f.Args()
		if len(rest) == 0 {
			return words, nil
		}
		if at := len(args) - len(rest); at > 0 && args[at-1] == "--" {
			return append(words, rest...), nil
		}
		words, args = append(words, rest[0]), rest[1:]
	}
}

// remote holds the options for the connection to a server, with the names of redis-cli.
type remote struct {
	inspect.Target
	tls, insecure          bool
	caFile, cert, key, sni string
	keyFlag                string // the flag of key; empty: "key"
	passFile               string
}

func (r *remote) flags(f *flag.FlagSet) {
	f.StringVar(&r.Addr, "addr", "127.0.0.1:6379", "")
	f.StringVar(&r.User, "user", "", "")
	f.StringVar(&r.Password, "password", os.Getenv("REDISCLI_AUTH"), "")
	f.StringVar(&r.passFile, "pass-file", "", "")
	f.IntVar(&r.DB, "n", 0, "")
	f.BoolVar(&r.tls, "tls", false, "")
	f.BoolVar(&r.insecure, "insecure", false, "")
	f.StringVar(&r.caFile, "cacert", "", "")
	f.StringVar(&r.cert, "cert", "", "")
	f.StringVar(&r.key, cmp.Or(r.keyFlag, "key"), "", "")
	f.StringVar(&r.sni, "sni", "", "")
}

// options reads the files that the flags name.
func (r *remote) options() (inspect.Target, error) {
	if r.passFile != "" {
		secret, err := config.ReadSecret(r.passFile)
		if err != nil {
			return r.Target, err
		}
		r.Password, r.passFile = secret, ""
	}
	if !r.tls {
		if r.insecure || r.caFile+r.cert+r.key+r.sni != "" {
			return r.Target, fmt.Errorf("--insecure, --cacert, --cert, --%s and --sni need --tls", cmp.Or(r.keyFlag, "key"))
		}
		return r.Target, nil
	}
	r.TLS = &tls.Config{InsecureSkipVerify: r.insecure, ServerName: r.sni, MinVersion: tls.VersionTLS12}
	if r.caFile != "" {
		text, err := os.ReadFile(r.caFile)
		if err != nil {
			return r.Target, err
		}
		r.TLS.RootCAs = x509.NewCertPool()
		if !r.TLS.RootCAs.AppendCertsFromPEM(text) {
			return r.Target, fmt.Errorf("%s holds no certificate", r.caFile)
		}
	}
	if r.cert != "" || r.key != "" {
		pair, err := tls.LoadX509KeyPair(r.cert, r.key)
		if err != nil {
			return r.Target, err
		}
		r.TLS.Certificates = []tls.Certificate{pair}
	}
	return r.Target, nil
}

const topUsage = `Usage: lockserver top [--flag value ...]

Shows once a second what a running server does: its locks, those first that others wait for, its sales, and its rates.
Enter tells why the chosen lock is not free. Without a terminal it prints one look and ends. All shards of a cluster are
asked, whichever --addr names.

  --interval 1s      how often it looks
  --once             print one look, and end
` + remoteUsage

const locksUsage = `Usage: lockserver locks [--flag value ...]

Lists the locks that are held, in no order, a piece at a time, so that a long list delays no client. All shards of a
cluster are asked, whichever --addr names.

  --owner worker-1   only those of an owner
  --match order:*    only keys that match a pattern
  --json             one object a line: key, owner, holds, token, ttl_ms (-1: without end)
` + remoteUsage

const whyUsage = `Usage: lockserver why [--flag value ...] KEY

Tells why a lock is not free: who holds it, since when and for how long, who waits, and what the holder waits for
itself.

  --at 14:03:22      how it was at a time in the past, as far as the server knows: 14:03:22, 2026-11-27 14:03:22, or 10m
                     for ten minutes ago
  --json             the same as an object
` + remoteUsage

const historyUsage = `Usage: lockserver history [--flag value ...]

Prints what happened to locks, the oldest event first: who waited, who got a lock, how long it was held, and how that
ended. The first line says since when the server knows. All shards of a cluster are asked, whichever --addr names.

  --lock order:42    only the lock with this key
  --owner worker-1   only the locks and waits of an owner
  --since 14:00      only from a time on; see lockserver why --help for times
  --until 14:10      only up to a time
  --count 100        the latest so many, 10000 at most
  --follow           go on with new events until a signal comes, also after the server was restarted
  --json             one object a line, which lockserver check-history reads
` + remoteUsage

const remoteUsage = `
Which server, in the words of redis-cli:

  --addr host:port   127.0.0.1:6379, or the path of a unix socket
  --user name        log in as a user; it sees what that user may read
  --pass-file path   the password is in a file; REDISCLI_AUTH in the environment does the same
  --password secret  the password, which other users of the machine can see
  -n 0               the database
  --tls              encrypted
  --cacert ca.crt    the authority of the server's certificate; without it, those of the system
  --cert me.crt      a certificate for the server
  --key me.key       its key
  --sni name         the name that the server's certificate has to be for
  --insecure         take any certificate

Exit codes: 0; 1 if the server could not be asked.
`
