package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"lockserver/server"
)

// What this build is. They are variables only because the linker writes them (`-X main.commit=...`, as make
// release does); nothing else does.
var (
	version = "0.1.0" // as --version, INFO and HELLO have it
	commit  string    // empty: what the toolchain knows of the checkout
	date    string    // of the commit; empty, too
)

// versionLines are the answer to --version: a line in the form of redis-server's, for what goes by the
// version of Redis, and one with the release, the commit it was built from with its date, if they are known,
// and the toolchain.
func versionLines() string {
	commit, date := commit, date
	if info, ok := debug.ReadBuildInfo(); ok && commit == "" {
		commit, date = revision(info)
	}
	commit, date = cmp.Or(commit, "unknown"), cmp.Or(date, "unknown")
	return fmt.Sprintf("Redis server v=%s sha=%.8s:0 malloc=go bits=64 build=lockserver-%s\nlockserver v=%s commit=%s date=%s %s %s/%s",
		server.RedisVersion(), commit, version, version, commit, date, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// revision is the commit that the toolchain has noted, in the form that a release has it, and its date.
func revision(info *debug.BuildInfo) (commit, date string) {
	modified := ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value[:min(12, len(s.Value))]
		case "vcs.time":
			date = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				modified = "-dirty"
			}
		}
	}
	if commit == "" {
		modified = ""
	}
	return commit + modified, date
}
