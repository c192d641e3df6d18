//go:build oracle

package commands

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRedisCLIHelp: an unmodified redis-cli reads our commands and groups from COMMAND DOCS, and its help
// shows them.
func TestRedisCLIHelp(t *testing.T) {
	cli, err := exec.LookPath("redis-cli")
	require.NoError(t, err, "run 'make deps'")
	dir, err := os.MkdirTemp("", "cli")
	require.NoError(t, err)
	socket := filepath.Join(dir, "s")
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	done := make(chan struct{})
	t.Cleanup(func() {
		require.NoError(t, listener.Close())
		<-done
		require.NoError(t, os.RemoveAll(dir))
	})
	table := NewTable(CommandRows(), nativeRows())
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serveConn(table, conn)
		}
	}()
	colours := regexp.MustCompile("\x1b\\[[0-9;]*m")
	ask := func(args ...string) string {
		out, err := exec.Command(cli, append([]string{"-s", socket}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		return colours.ReplaceAllString(string(out), "")
	}

	help := ask("help", "@lock")
	require.Contains(t, help, "LOCK key owner [PX milliseconds|EX seconds] [WAIT milliseconds]")
	require.Contains(t, help, "summary: Acquires a lock.")
	require.Contains(t, help, "since: 1.0.0")
	require.NotContains(t, help, "SECKILL")

	require.Contains(t, ask("help", "@sale"), "SECKILL voucher user order [QTY n]")
	require.Contains(t, ask("help", "lock"), "group: lock")
	require.Contains(t, ask("help", "command", "list"),
		"COMMAND LIST [FILTERBY MODULE module-name|ACLCAT category|PATTERN pattern]")
}
