package sales

import (
	"context"
	"errors"
	"flag"
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
	findWithin = 60 * time.Second
	// cleanFor is how long the patched program without a fault must be found to sell as it should.
	cleanFor = 2 * time.Second
)

// What a hunt exits with.
const (
	exitClean = 0
	exitFound = 30 + iota
	exitBroken
)

func TestMain(m *testing.M) {
	flag.Parse()
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
	began := time.Now()
	var s search
	s.run(ctx, uint64(time.Now().UnixNano()))
	switch {
	case s.violation != nil:
		fmt.Printf("found after %.1f s: %v\n", time.Since(began).Seconds(), s.violation)
		return exitFound
	case s.err != nil:
		fmt.Println(s.err)
		return exitBroken
	}
	fmt.Println(s.summary())
	return exitClean
}

// TestPlantedFaultsAreFound shows that a server that sells what it must not is found out: each fault of faults, in the
// real sources, by the very check that TestHistories makes.
func TestPlantedFaultsAreFound(t *testing.T) {
	program := plant.Build(t, "../..", faults)
	code, out := runHunt(t, program, plant.None, cleanFor)
	require.Equal(t, exitClean, code, "the patches alone break something:\n%s", out)
	for _, f := range faults {
		t.Run(f.Name, func(t *testing.T) {
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
