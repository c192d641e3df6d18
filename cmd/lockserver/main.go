// Command lockserver is the server program.
//
// It owns what makes a process of a server: the command line, the log, the pid file, the background, its
// supervisor, signals, the admin port and exit codes. It must not know commands, data or sockets: those are
// the server package's, which main hands a finished configuration. A new directive is added in
// internal/config; a new thing that the process does at its start or end is added to process.go. `lockserver
// demo` is demo.go: its flags, and the server that internal/demo plays its sale on.
//
// The exit code is 0 after a shutdown that did what was asked, and 2 after a panic. It is 1 when the server
// could not start, could not keep the data, or was interrupted a second time, and when the demo failed.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"lockserver/internal/config"
	"lockserver/server"
)

func main() {
	os.Exit(profiled(func() int { return run(os.Args[1:], os.Stdout, os.Stderr) }))
}

// run is the program from its arguments to its exit code. As in redis-server the log goes to stdout unless a
// logfile is configured. Messages about a failed or slow start go to stderr.
func run(args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 {
		if program := programOf(args[0]); program != nil {
			return program(args[1:], stdout, stderr)
		}
	}
	if i, ok := findInspection(args); ok {
		return i.start(args[1:], stdout, stderr)
	}
	files := config.OSFiles()
	var input []byte // what was read from standard input
	files.Stdin = func() (_ []byte, err error) {
		input, err = io.ReadAll(os.Stdin)
		return input, err
	}
	var l launcher
	if isDaemon() {
		l = openLauncher()
		stderr = &l
	}
	cmd, err := config.ParseArgs(args, files)
	switch {
	case err != nil:
		return refuse(stderr, err)
	case cmd.Help:
		fmt.Fprint(stdout, usage)
		return 0
	case cmd.Version:
		fmt.Fprintln(stdout, versionLines())
		return 0
	case cmd.TestMemory:
		fmt.Fprintln(stderr, "lockserver does not test memory; memtester and memtest86+ do.")
		return 1
	case cmd.CheckSystem:
		return checkSystem(stdout)
	case cmd.Config.Daemonize && l.pipe == nil && !isSupervised(cmd.Config.Supervised):
		return runInBackground(args, input, stderr)
	}
	logTo := stdout
	if cmd.Config.TestMode { // the address of standard output for the parent process
		logTo = stderr
	}
	p, err := newProcess(cmd, logTo)
	if err != nil {
		return refuse(stderr, err)
	}
	p.launcher = &l
	p.parent = parent{out: stdout, input: os.Stdin}
	return p.serve(stderr, len(args) == 0)
}

// programOf returns the program for the first word of a command line; nil if the word names no program. A
// configuration file with the name of a program can be given as ./demo.
func programOf(word string) func(args []string, stdout, stderr io.Writer) int {
	switch word {
	case "demo":
		return runDemo
	case "check":
		return runCheck
	case "check-history":
		return func(args []string, stdout, stderr io.Writer) int {
			return runCheckHistory(args, os.Stdin, stdout, stderr)
		}
	case "health":
		return runHealth
	case "status":
		return runStatus
	case "snapshot":
		return runSnapshot
	case "debug":
		return runDebug
	case "recover":
		return runRecover
	case "reshard":
		return runReshard
	case "cluster":
		return runCluster
	case "run":
		return runJob
	}
	return nil
}

// refuse prints why the configuration cannot be used.
func refuse(stderr io.Writer, err error) int {
	fmt.Fprintf(stderr, "\n*** FATAL CONFIG FILE ERROR (lockserver %s) ***\n%s\n", version, err)
	var line *config.LineError
	if errors.As(err, &line) && line.Line == 0 {
		fmt.Fprintln(stderr, "Try: lockserver --help")
	}
	return 1
}

// checkSystem checks the system's settings for a server with the default configuration, as --check-system of
// redis-server does. It returns the exit code.
func checkSystem(stdout io.Writer) int {
	c := config.Default()
	_, warning, err := server.FitMaxClients(c.MaxClients, c.IOThreads)
	if err != nil {
		warning = err.Error()
	}
	if warning != "" {
		fmt.Fprintf(stdout, "[open-files]...WARNING:\n%s\n", warning)
		return 1
	}
	fmt.Fprintln(stdout, "[open-files]...OK")
	return 0
}

const usage = `Usage: lockserver [redis.conf] [--directive value ...] [-]

A Redis-protocol server with native locks (LOCK, UNLOCK, RENEW) and flash sales (SECKILL).

  lockserver                          listen on 127.0.0.1:6379, keep dump.rdb in the current directory
  lockserver redis.conf               read the directives from a file
  lockserver redis.conf --port 7000   a file, then options, which win
  lockserver -                        read the directives from standard input
  lockserver demo                     play a flash sale; see lockserver demo --help
  lockserver check PATH ...           verify snapshots, append-only files and raft directories; see lockserver check --help
  lockserver snapshot save FILE       back a raft group up, and restore it; see lockserver snapshot --help
  lockserver debug bundle FILE        what helps to find a fault, of all members, in one file; see lockserver debug --help
  lockserver reshard --dir DIR --shards N  split or join the data of shards; see lockserver reshard --help
  lockserver cluster balance          spread the leaders of shards over machines; see lockserver cluster --help
  lockserver cluster move             move slots to another shard; also drain, moves, cancel; see lockserver cluster --help
  lockserver recover --dir DIR        go on without a majority of a raft group; see lockserver recover --help
  lockserver top                      what a running server does, once a second; see lockserver top --help
  lockserver locks                    the locks that are held; see lockserver locks --help
  lockserver why KEY                  why a lock is not free, or was not; see lockserver why --help
  lockserver history                  what happened to locks; see lockserver history --help
  lockserver check-history FILE       check a recorded history; see lockserver check-history --help
  lockserver run -- COMMAND           run a command while it holds a lock; see lockserver run --help
  lockserver status                   the members of a raft group; see lockserver status --help
  lockserver health                   tell whether a server is well; see lockserver health --help
  lockserver -v | --version           print the version
  lockserver -h | --help              print this
  lockserver --check-system           tell whether the system gives what a server needs

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
  --daemonize yes              go into the background; the command ends when clients can connect
  --supervised systemd         tell systemd when the server is ready
  --loglevel notice            debug, verbose, notice, warning or nothing
  --maxclients 10000           how many may be connected
  --raft-id a                  be a member of a raft group, with --raft-listen and --raft-members: docs/HA.md
  --io-threads 1               how many event loops parse and write
  --lock-watchdog-timeout 30000  the lease of a LOCK without PX or EX, in milliseconds

"CONFIG GET *" lists them all with their values. SIGTERM and SIGINT save and end the server.
`
