package runner

import (
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGroupsOf finds the group of a command that the runner has not named yet.
func TestGroupsOf(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, cmd.Start())
	require.True(t, slices.Contains(groupsOf(os.Getpid()), cmd.Process.Pid))
	killGroup(cmd.Process.Pid)
	require.Error(t, cmd.Wait())
	require.False(t, slices.Contains(groupsOf(os.Getpid()), cmd.Process.Pid))
}
