package server

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
)

// A backup is restored somewhere else, without lockserver.token, on a machine with a clock that is a day
// behind. The next token is above each token that was given out before the backup, also above those of
// released locks.
func TestTokensRiseOverARestore(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_750_000_000_000)
	snapshot := func(dir string) *config.Config { return inDir(dir) }
	asRDB := func(dir string) *config.Config { return logged(dir, "everysec") }
	asCommands := func(dir string) *config.Config {
		c := logged(dir, "everysec")
		c.AOFUseRDBPreamble = false
		return c
	}
	for _, c := range []struct {
		name   string
		config func(dir string) *config.Config
		before []string // right before the backup, and after the tokens
		what   string   // that is copied
	}{
		{"a snapshot", snapshot, []string{"SAVE"}, "dump.rdb"},
		{"a log", asRDB, []string{"PING"}, "appendonlydir"},
		{"a log with a new base", asRDB, []string{"BGREWRITEAOF"}, "appendonlydir"},
		{"a log with a new base of commands", asCommands, []string{"BGREWRITEAOF"}, "appendonlydir"},
	} {
		t.Run(c.name, func(t *testing.T) {
			from, to := t.TempDir(), t.TempDir()
			clock := NewManualClock(now)
			srv := start(t, Options{Directives: c.config(from).Directives(), Clock: clock})
			last := int64(0)
			for range 3 {
				clock.Advance(20 * time.Minute)
				last = max(last, takeToken(t, srv, "k"))
			}
			require.NoError(t, os.Remove(filepath.Join(from, tokenFile)))
			require.False(t, client(t, srv).Do(c.before...).IsError())
			eventually(t, func() bool { return infoField(t, client(t, srv), "aof_rewrite_in_progress") == "0" }, "it is over")
			require.NoError(t, srv.Close())

			copyOf(t, filepath.Join(from, c.what), filepath.Join(to, c.what))
			var report bytes.Buffer
			require.NoError(t, Check(to, &report))
			limit := int64(0)
			_, after, found := bytes.Cut(report.Bytes(), []byte("fencing tokens up to "))
			require.True(t, found, report.String())
			_, err := fmt.Sscan(string(after), &limit)
			require.NoError(t, err)
			again := start(t, Options{Directives: c.config(to).Directives(), Clock: NewManualClock(now.Add(-24 * time.Hour))})
			require.Greater(t, takeToken(t, again, "k"), last)
			require.Greater(t, takeToken(t, again, "never seen"), last)
			require.Greater(t, tokenLimit(t, to), last)
			require.NoError(t, again.Close())
			require.NoError(t, Check(to, &report))
			require.Contains(t, report.String(), fmt.Sprintf("%s: fencing tokens up to %d\n", filepath.Join(to, tokenFile), tokenLimit(t, to)))
		})
	}
}

// The first log of a server that had snapshots begins with its limit.
func TestFirstBaseStatesTheLimit(t *testing.T) {
	t.Parallel()
	from, to := t.TempDir(), t.TempDir()
	now := time.UnixMilli(1_750_000_000_000)
	srv := start(t, Options{Directives: inDir(from).Directives(), Clock: NewManualClock(now)})
	last := takeToken(t, srv, "k")
	require.NoError(t, srv.Close())
	srv = start(t, Options{Directives: logged(from, "always").Directives(), Clock: NewManualClock(now.Add(-time.Hour))})
	require.NoError(t, srv.Close())
	copyOf(t, filepath.Join(from, "appendonlydir"), filepath.Join(to, "appendonlydir"))
	srv = start(t, Options{Directives: logged(to, "always").Directives(), Clock: NewManualClock(now.Add(-24 * time.Hour))})
	require.Greater(t, takeToken(t, srv, "k"), last)
}

// copyOf copies a file, or a directory.
func copyOf(t *testing.T, from, to string) {
	t.Helper()
	st, err := os.Stat(from)
	require.NoError(t, err)
	if st.IsDir() {
		require.NoError(t, os.CopyFS(to, os.DirFS(from)))
		return
	}
	b, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, b, 0o644))
}
