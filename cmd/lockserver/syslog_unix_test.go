//go:build unix

package main

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSyslogSocket: a syslog daemon gets each line as a datagram with facility, severity, ident and process.
func TestSyslogSocket(t *testing.T) {
	dir, err := os.MkdirTemp("", "syslog") // the path of a socket must be short
	require.NoError(t, err)
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "log")
	daemon, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	require.NoError(t, err)
	defer func() { _ = daemon.Close() }()
	require.NoError(t, daemon.SetReadDeadline(time.Now().Add(30*time.Second)))
	to, err := dialSyslog("unixgram", path, "local3", "locks")
	require.NoError(t, err)
	log := slog.New(&systemLog{to: to, level: slog.LevelDebug})
	log.Debug("a")
	log.Info("b\nc", "n", 5)
	log.With("x", 1).Warn("d")
	const local3, debug, notice, warning = 19 * 8, 7, 5, 4 // RFC 3164
	b := make([]byte, 1<<10)
	for _, want := range []struct {
		priority int
		line     string
	}{{local3 + debug, "a"}, {local3 + notice, `b\nc n=5`}, {local3 + warning, "d x=1"}} {
		n, err := daemon.Read(b)
		require.NoError(t, err)
		require.Regexp(t, fmt.Sprintf(`^<%d>[^\n]* locks\[%d\]: \Q%s\E\n$`, want.priority, os.Getpid(), want.line), string(b[:n]))
	}
}
