package runner

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// TestGroupsOf finds the group of a command that the runner has not named yet.
func TestGroupsOf(t *testing.T) {
	p := testkit.Prepare(t, testkit.Command{Program: "setsid", Args: []string{"sleep", "1000"}})
	require.NoError(t, p.Launch())
	found := func() bool { return slices.Contains(groupsOf(os.Getpid()), p.Pid()) }
	require.Eventually(t, found, time.Minute, time.Millisecond)
	killGroup(p.Pid())
	<-p.Exited()
	require.False(t, found())
}
