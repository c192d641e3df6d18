package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"lockserver/server"
)

// The version of this build. They are variables only because the linker writes them (`-X main.commit=...`, as
// make release does); nothing else does.
var (
	version = "0.1.0" // as --version, INFO and HELLO have it
	commit  string    // empty: the commit that the toolchain has recorded
	date    string    // of the commit; may be empty, too
)

// versionLines returns the answer to --version. The first line has the form of redis-server's, for programs
// that check the version of Redis. The second has the release, the commit with its date, if they are known,
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

// revision returns the commit that the toolchain has recorded, in the form of a release, and its date.
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
