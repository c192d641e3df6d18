package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// In test mode standard output is one line, which says where the server is; the log goes to standard error.
// With exit-with-parent the program ends when its standard input does.
func TestParentReadsWhereTheServerIs(t *testing.T) {
	c := start(t, t.TempDir(), "--port", "0", "--test-mode", "yes", "--exit-with-parent", "yes")
	c.eventually(t, func() bool { return strings.HasSuffix(c.Stdout.String(), "\n") }, "a line")
	addr, ok := strings.CutPrefix(strings.TrimSpace(c.Stdout.String()), "ready ")
	require.True(t, ok, c.Stdout.String())
	require.Equal(t, []string{":5000"}, ask(t, addr, "TEST.CLOCK FREEZE 5000"))
	require.Contains(t, c.Stderr.String(), "Ready to accept connections tcp")
	require.NoError(t, c.Input.Close())
	require.Zero(t, c.exit(t))
	require.Equal(t, "ready "+addr+"\n", c.Stdout.String(), "nothing else")
	require.NoFileExists(t, c.Dir+"/dump.rdb")
}

// A configuration that test mode must not have is reported in one line.
func TestTestModeIsRefused(t *testing.T) {
	c := start(t, t.TempDir(), "--port", "0", "--test-mode", "yes", "--appendonly", "yes")
	require.Equal(t, 1, c.exit(t))
	require.Contains(t, c.Stderr.String(), "test-mode: not with appendonly")
}
