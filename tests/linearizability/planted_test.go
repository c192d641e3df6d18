package linearizability

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/plant"
)

const (
	// huntVariable makes a process of this test hunt for a fault, for as long as it says.
	huntVariable = "LOCKSERVER_HUNT"
	// findWithin is how long it may take to find any of the faults. It takes a second or two.
	findWithin = 30 * time.Second
	// cleanFor is how long the patched program without a fault must be found to be a lock.
	cleanFor = 5 * time.Second
)

// What a hunt exits with.
const (
	exitClean = 0
	exitFound = 30 + iota
	exitBroken
)

func TestMain(m *testing.M) {
	if within := os.Getenv(huntVariable); within != "" {
		os.Exit(hunt(within))
	}
	os.Exit(m.Run())
}

// hunt looks for a violation and says on stdout what it found.
func hunt(within string) int {
	d, err := time.ParseDuration(within)
	if err != nil {
		fmt.Println(err)
		return exitBroken
	}
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	// The first one ends it: what else such a server does to the other worlds is of no interest.
	s := &search{found: func(v *violation, after time.Duration) {
		fmt.Printf("found after %.1f s: %s", after.Seconds(), v)
		os.Exit(exitFound)
	}}
	s.run(ctx, uint64(time.Now().UnixNano()))
	if s.err != nil {
		fmt.Println(s.err)
		return exitBroken
	}
	fmt.Println(s.summary())
	return exitClean
}

// TestPlantedFaultsAreFound shows that a server that is no lock is found out: each fault of faults, in the real sources,
// by the very check that TestHistories makes.
func TestPlantedFaultsAreFound(t *testing.T) {
	program := plant.Build(t, "../..", faults)
	t.Run(plant.None, func(t *testing.T) {
		t.Parallel()
		code, out := runHunt(t, program, plant.None, cleanFor)
		require.Equal(t, exitClean, code, "the patches alone break something:\n%s", out)
	})
	for _, f := range faults {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			code, out := runHunt(t, program, f.Name, findWithin)
			require.Equal(t, exitFound, code, "not found within %s:\n%s", findWithin, out)
			t.Log(out)
		})
	}
}

// runHunt runs a patched program and returns its exit code and what it said.
func runHunt(t *testing.T, program, name string, within time.Duration) (int, string) {
	t.Helper()
	cmd := plant.Command(program, name)
	cmd.Env = append(cmd.Env, huntVariable+"="+within.String())
	// A faulty server may also hang, and the hunt with it.
	late := time.AfterFunc(2*within+time.Minute, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}
