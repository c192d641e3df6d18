package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// In test mode standard output is one line, which says where the server is; the log goes to standard error.
// With exit-with-parent the program ends when its standard input does.
func TestParentReadsWhereTheServerIs(t *testing.T) {
	c := &child{Cmd: exec.Command(binary, "--port", "0", "--test-mode", "yes", "--exit-with-parent", "yes"), exited: make(chan struct{}), dir: t.TempDir()}
	input, err := c.StdinPipe()
	require.NoError(t, err)
	runChild(t, c)
	c.eventually(t, func() bool { return strings.HasSuffix(c.stdout.String(), "\n") }, "a line")
	addr, ok := strings.CutPrefix(strings.TrimSpace(c.stdout.String()), "ready ")
	require.True(t, ok, c.stdout.String())
	require.Equal(t, []string{":5000"}, ask(t, addr, "TEST.CLOCK FREEZE 5000"))
	require.Contains(t, c.stderr.String(), "Ready to accept connections tcp")
	require.NoError(t, input.Close())
	require.Zero(t, c.exit(t))
	require.Equal(t, "ready "+addr+"\n", c.stdout.String(), "nothing else")
	require.NoFileExists(t, c.dir+"/dump.rdb")
}

// A configuration that test mode must not have is told in one line.
func TestTestModeIsRefused(t *testing.T) {
	c := start(t, t.TempDir(), "--port", "0", "--test-mode", "yes", "--appendonly", "yes")
	require.Equal(t, 1, c.exit(t))
	require.Contains(t, c.stderr.String(), "test-mode: not with appendonly")
}
