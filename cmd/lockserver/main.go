// Command lockserver is the server program.
//
// It owns what makes a process of a server: the command line, the log, the pid file, signals and exit
// codes. It must not know commands, data or sockets: those are the server package's, which main hands a
// finished configuration. A new directive is added in internal/config; a new thing that the process does
// at its start or end is added to process.go. `lockserver demo` is demo.go: its flags, and the server
// that internal/demo plays its sale on.
//
// Exit codes: 0 after a shutdown that did what was asked; 1 when the server could not start, could not keep
// the data, or was interrupted a second time, and when the demo failed; 2 after a panic.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"

	"lockserver/internal/config"
)

// version is what --version, INFO and HELLO call this build.
const version = "0.1.0"

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program from its arguments to its exit code. The log goes to stdout unless a
// logfile is configured, as redis-server's does; what keeps the server from starting, or
// makes it take long, goes to stderr.
func run(args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == "demo" { // a configuration file of that name is ./demo
		return runDemo(args[1:], stdout, stderr)
	}
	if len(args) > 0 && args[0] == "check" {
		return runCheck(args[1:], stdout, stderr)
	}
	cmd, err := config.ParseArgs(args, config.OSFiles())
	switch {
	case err != nil:
		return refuse(stderr, err)
	case cmd.Help:
		fmt.Fprint(stdout, usage)
		return 0
	case cmd.Version:
		fmt.Fprintln(stdout, versionLine())
		return 0
	}
	p, err := newProcess(cmd, stdout)
	if err != nil {
		return refuse(stderr, err)
	}
	return p.serve(stderr, len(args) == 0)
}

// refuse says why the configuration cannot be used.
func refuse(stderr io.Writer, err error) int {
	fmt.Fprintf(stderr, "\n*** FATAL CONFIG FILE ERROR (lockserver %s) ***\n%s\n", version, err)
	var line *config.LineError
	if errors.As(err, &line) && line.Line == 0 {
		fmt.Fprintln(stderr, "Try: lockserver --help")
	}
	return 1
}

// versionLine is the answer to --version: the release, the commit it was built from
// if known, and the toolchain.
func versionLine() string {
	commit := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 12 {
				commit = s.Value[:12]
			}
		}
	}
	return fmt.Sprintf("lockserver v=%s commit=%s %s %s/%s", version, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

const usage = `Usage: lockserver [redis.conf] [--directive value ...] [-]

A Redis-protocol server with native locks (LOCK, UNLOCK, RENEW) and flash sales (SECKILL).

  lockserver                          listen on 127.0.0.1:6379, keep dump.rdb in the current directory
  lockserver redis.conf               read the directives from a file
  lockserver redis.conf --port 7000   a file, then options, which win
  lockserver -                        read the directives from standard input
  lockserver demo                     play a flash sale; see lockserver demo --help
  lockserver check PATH ...           verify snapshots and append-only files; see lockserver check --help
  lockserver -v | --version           print the version
  lockserver -h | --help              print this

Every directive is an option too, under the name that redis.conf has for it:

  --port 6380                  the TCP port; 0 picks a free one, see the log for which
  --bind 0.0.0.0               the addresses to listen on; all there are: * -::*
  --unixsocket /tmp/lock.sock  a unix socket to listen on
  --requirepass secret         clients must AUTH first
  --dir /var/lib/lockserver    where the snapshot lies
  --dbfilename dump.rdb        its name
  --save 3600 1 60 10000       seconds and changes after which it is saved; --save "" never
  --appendonly yes             keep a log of every write beside them
  --appendfsync always         when it is synced: always, before a reply leaves, everysec or no
  --logfile server.log         log there instead of to standard output
  --loglevel notice            debug, verbose, notice, warning or nothing
  --maxclients 10000           how many may be connected
  --io-threads 1               how many event loops parse and write
  --lock-watchdog-timeout 30000  the lease of a LOCK without PX or EX, in milliseconds

"CONFIG GET *" lists them all with their values. SIGTERM and SIGINT save and end the server.
`
