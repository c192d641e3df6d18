package server

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/tests/testkit"
)

// killed is a client of a server that begins with what another one had on disk at this moment.
func killed(t *testing.T, dir string) *testkit.Client {
	t.Helper()
	copied := t.TempDir()
	text, err := os.ReadFile(filepath.Join(dir, "dump.rdb"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(copied, "dump.rdb"), text, 0o600))
	return client(t, start(t, Options{Directives: inDir(copied).Directives()}))
}

// What FLUSHALL has removed does not come back when the server is killed behind it.
func TestFlushAllOnDisk(t *testing.T) {
	t.Parallel()
	conversations := map[string]struct {
		commands [][]string
		changes  string // that the snapshot does not hold
	}{
		"plain":  {[][]string{{"FLUSHALL"}}, "0"},
		"async":  {[][]string{{"SET", "l", "v"}, {"FLUSHALL", "ASYNC"}, {"SET", "l", "v"}}, "1"},
		"script": {[][]string{{"EVAL", "redis.call('set','l',1) redis.call('flushall') redis.call('set','l',2) return 1", "0"}}, "1"},
		"multi":  {[][]string{{"MULTI"}, {"SET", "l", "v"}, {"FLUSHALL"}, {"SET", "l", "v"}, {"EXEC"}}, "1"},
		"bgsave": {[][]string{{"BGSAVE"}, {"FLUSHALL"}}, "0"},
	}
	for name, conversation := range conversations {
		t.Run(name, func(t *testing.T) {
			cfg := inDir(t.TempDir())
			cfg.Save = []config.SavePoint{{PeriodMS: 3_600_000, Changes: 1000}}
			srv := start(t, Options{Directives: cfg.Directives()})
			c := client(t, srv)
			c.Do("FUNCTION", "LOAD", "#!lua name=lib\nredis.register_function('f', function() return 1 end)")
			c.Do("CONFIG", "SET", "rdb-key-save-delay", "200")
			c.Do("MSET", "k", "v", "m", "v")
			require.Equal(t, "+OK", c.Do("SAVE").String())
			for _, args := range conversation.commands {
				require.NotContains(t, c.Do(args...).String(), "-")
			}
			awaitSaved(t, srv)
			require.Equal(t, conversation.changes, infoField(t, c, "rdb_changes_since_last_save"))
			again := killed(t, cfg.Dir)
			require.Zero(t, again.Do("DBSIZE").Int)
			require.EqualValues(t, 1, again.Do("FCALL", "f", "0").Int)
		})
	}
}

// Without save points FLUSHALL leaves the file alone, as FLUSHDB does in any case.
func TestFlushThatLeavesTheFile(t *testing.T) {
	t.Parallel()
	cfg := inDir(t.TempDir())
	c := client(t, start(t, Options{Directives: cfg.Directives()}))
	c.Do("SET", "k", "v")
	require.Equal(t, "+OK", c.Do("SAVE").String())
	c.Do("FLUSHALL")
	require.Equal(t, "1", infoField(t, c, "rdb_changes_since_last_save"))
	c.Do("CONFIG", "SET", "save", "3600 1000")
	c.Do("FLUSHDB")
	require.Equal(t, "v", killed(t, cfg.Dir).Do("GET", "k").Str)
}
