//go:build oracle

package replication

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/server"
	"lockserver/tests/testkit"
)

// kinds are the kinds of servers of a test.
var kinds = []string{"redis", "lockserver"}

// startOf starts a server of a kind with its files in a directory.
func startOf(t *testing.T, kind, dir string, directives map[string]string) *node {
	t.Helper()
	if kind == "redis" {
		args := []string{"--dir", dir}
		for name, value := range directives {
			args = append(args, "--"+name, value)
		}
		return startRedis(t, testkit.Oracle(t), args...)
	}
	o := map[string]string{}
	for name, value := range directives {
		o[name] = value
	}
	return start(t, server.Options{EventLoops: true, Dir: dir, Directives: o})
}

// TestReceivedSnapshotIsKept: a snapshot that a master sent as a file becomes the replica's own snapshot. The
// only exception is rdb-del-sync-files without save points. A snapshot without a file does not, and counts as
// a change. A replica that starts from the file continues where it was.
func TestReceivedSnapshotIsKept(t *testing.T) {
	for _, c := range []struct {
		name       string
		directives map[string]string
		file       bool
		changes    string // number of changes since the last snapshot
	}{
		{"nothing else is kept", map[string]string{"save": ""}, true, "1"},
		{"with save points", map[string]string{"save": "3600 1000"}, true, "1"},
		{"with a log", map[string]string{"save": "", "appendonly": "yes"}, true, "1"},
		{"removed", map[string]string{"save": "", "rdb-del-sync-files": "yes"}, false, "1"},
		{"not removed beside save points", map[string]string{"save": "3600 1000", "rdb-del-sync-files": "yes"}, true, "1"},
		{"removed beside a log", map[string]string{"save": "", "appendonly": "yes", "rdb-del-sync-files": "yes"}, false, "1"},
		{"without a file", map[string]string{"save": "3600 1000", "repl-diskless-load": "swapdb"}, false, "2"},
	} {
		for _, kind := range kinds {
			t.Run(c.name+"/"+kind, func(t *testing.T) {
				master := start(t, server.Options{EventLoops: true})
				plain(master)
				dir := t.TempDir()
				replica := startOf(t, kind, dir, c.directives)
				require.Equal(t, "+OK", replica.do("SET mine 1"))
				eventually(t, "the change is counted, and nothing is written", func() bool {
					return replica.info("rdb_changes_since_last_save") == "1" && replica.info("aof_rewrite_in_progress") == "0"
				})
				replica.follow(master.addr)
				inStep(t, master, replica)
				require.Equal(t, c.changes, replica.info("rdb_changes_since_last_save"))
				_, err := os.Stat(filepath.Join(dir, "dump.rdb"))
				require.Equal(t, c.file, err == nil, "%v", err)
				eventually(t, "nothing is left of it", func() bool {
					left, err := filepath.Glob(filepath.Join(dir, "temp-*"))
					return err == nil && len(left) == 0
				})
				if !c.file {
					return
				}
				plain(master)
				host, port, err := net.SplitHostPort(master.addr)
				require.NoError(t, err)
				again := startOf(t, kind, dirWith(t, filepath.Join(dir, "dump.rdb")), map[string]string{"save": "", "replicaof": host + " " + port})
				inStep(t, master, again)
				require.Equal(t, int64(1), master.number("sync_full"))
				require.Equal(t, int64(1), master.number("sync_partial_ok"))
			})
		}
	}
}

// TestReceivedSnapshotIsTheLast: a background save that runs when a master's snapshot comes does not replace
// it.
func TestReceivedSnapshotIsTheLast(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			master := start(t, server.Options{EventLoops: true})
			plain(master)
			dir := t.TempDir()
			replica := startOf(t, kind, dir, map[string]string{"save": "", "rdb-key-save-delay": "2000"})
			replica.do("DEBUG POPULATE 1000")
			require.Equal(t, "+Background saving started", replica.do("BGSAVE"))
			replica.follow(master.addr)
			inStep(t, master, replica)
			eventually(t, "nothing is saved any more", func() bool { return replica.info("rdb_bgsave_in_progress") == "0" })
			copied := startOf(t, kind, dirWith(t, filepath.Join(dir, "dump.rdb")), map[string]string{"save": ""})
			require.Equal(t, master.do("DEBUG DIGEST"), copied.do("DEBUG DIGEST"))
		})
	}
}

// dirWith returns a new directory with a copy of a file.
func dirWith(t *testing.T, file string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(file)), content, 0o600))
	return dir
}

// TestDamagedSnapshotIsNotKept: a snapshot that cannot be loaded leaves the replica's own snapshot unchanged,
// and it can start from that (D162).
func TestDamagedSnapshotIsNotKept(t *testing.T) {
	dir := t.TempDir()
	replica := start(t, server.Options{EventLoops: true, Dir: dir})
	require.Equal(t, "+OK", replica.do("SET mine 1"))
	require.Equal(t, "+OK", replica.do("SAVE"))
	asked := make(chan struct{}, 100)
	replica.follow(liar(t, func(conn net.Conn) {
		_, _ = conn.Write([]byte("+FULLRESYNC " + id + " 5\r\n$9\r\nREDIS0011"))
		_ = conn.(*net.TCPConn).CloseWrite()
		select {
		case asked <- struct{}{}:
		default:
		}
	}))
	<-asked
	<-asked
	require.Equal(t, `"1"`, start(t, server.Options{Dir: dirWith(t, filepath.Join(dir, "dump.rdb"))}).do("GET mine"))
}
