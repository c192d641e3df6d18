//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A load that takes long is reported on stderr, with a log file or without. The snapshot is a pipe here that
// never ends.
func TestLoadProgressOnStderr(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"log on stdout": nil, "logfile": {"--logfile", "log"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "dump.rdb"), 0o600))
			c := start(t, dir, append([]string{"--port", "0"}, args...)...)
			snapshot, err := os.OpenFile(filepath.Join(dir, "dump.rdb"), os.O_WRONLY, 0)
			require.NoError(t, err)
			defer snapshot.Close()
			_, err = snapshot.WriteString("REDIS0011" + "\x00\x01k\x80\x00\x0f\x00\x00") // a value of nearly a megabyte
			require.NoError(t, err)
			for end := time.Now().Add(time.Minute); !strings.Contains(c.Stderr.String(), "\n"); time.Sleep(10 * time.Millisecond) {
				require.True(t, time.Now().Before(end), "nothing is reported")
				_, err = snapshot.WriteString("x")
				require.NoError(t, err)
			}
			require.Regexp(t, `^loading \S+dump\.rdb: 0 keys, \d+ of \d+ bytes, \d+ %, \d+ bytes/s\n`, c.Stderr.String())
			require.NotContains(t, c.Stdout.String(), "percent")
			require.NoError(t, c.Signal(syscall.SIGTERM))
			eventuallyWrite(snapshot, c)
			require.Zero(t, c.exit(t))
		})
	}
}

// eventuallyWrite feeds a load until its program has ended: it looks for a reason to end between two reads.
func eventuallyWrite(snapshot *os.File, c *child) {
	for {
		select {
		case <-c.Exited():
			return
		case <-time.After(10 * time.Millisecond):
			if _, err := snapshot.WriteString("x"); err != nil {
				return
			}
		}
	}
}
