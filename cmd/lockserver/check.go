package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"lockserver/server"
	"lockserver/server/raft/engine"
)

// runCheck is `lockserver check` from its arguments, without that word, to its exit code: 0 if a server can
// start on each of the files and directories, 1 if not.
func runCheck(paths []string, stdout, stderr io.Writer) int {
	if len(paths) == 1 && (paths[0] == "-h" || paths[0] == "--help") {
		fmt.Fprint(stdout, checkUsage)
		return 0
	}
	if len(paths) > 0 && paths[0] == "--system" {
		return runCheckSystem(paths[1:], stdout, stderr)
	}
	if len(paths) == 0 || strings.HasPrefix(paths[0], "-") {
		fmt.Fprint(stderr, checkUsage)
		return 1
	}
	code := 0
	for _, path := range paths {
		if err := checkPath(path, stdout); err != nil {
			fmt.Fprintf(stderr, "lockserver check: %v\n", err)
			code = 1
		}
	}
	if code == 0 {
		fmt.Fprintln(stdout, "all is well")
	}
	return code
}

// checkPath verifies the directory of a member of a raft group, or any other data with which a server can
// start.
func checkPath(path string, stdout io.Writer) error {
	for _, dir := range []string{path, filepath.Join(path, "raft")} {
		member, err := engine.MemberOf(dir)
		if err != nil {
			return err
		}
		if member != "" {
			return engine.Check(dir, stdout)
		}
	}
	return server.Check(path, stdout)
}

// runCheckSystem is `lockserver check --system`, with the directory after it if there is one.
func runCheckSystem(dirs []string, stdout, stderr io.Writer) int {
	if len(dirs) > 1 {
		fmt.Fprint(stderr, checkUsage)
		return 1
	}
	dir := "."
	if len(dirs) == 1 {
		dir = dirs[0]
	}
	code := checkSystem(stdout)
	good, err := engine.CheckDisk(dir, stdout)
	if err != nil {
		fmt.Fprintf(stderr, "lockserver check: the disk of %s cannot be measured: %v\n", dir, err)
	}
	if !good {
		code = 1
	}
	return code
}

const checkUsage = `Usage: lockserver check PATH ...
       lockserver check --system [DIR]

Verifies snapshots and append-only files without a server: every length, encoding and checksum. PATH is a snapshot, a
file or manifest of a log, or a directory that has such. It says what they hold, and what a start would cut off. Nothing
is changed. A server may be running on them; its log may then seem to end in the middle of a change. Of a member of a
raft group, PATH is its directory, or the directory raft in it: the log and all snapshots are verified.

--system tells whether the system gives what a server needs: open files, and a disk in DIR (without it, the current
directory) that will do for a raft group. It syncs some hundred writes to a file there and removes it: 99 of 100 should
take at most 10 ms. Run it before the group is formed, because a busy server on that disk is slower meanwhile.

Exit codes: 0 a server can start on all of it, or the system will do; 1 it cannot, and the file and offset are named.
`
