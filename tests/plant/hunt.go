package plant

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Hunt describes how a package looks for the faults that are planted in it. Its TestMain returns the result
// of Main, and its test calls Test. Test starts the patched program once for each fault, and the program
// looks for a violation instead of running tests.
type Hunt struct {
	// Search looks for a violation until ctx ends, and calls Found when there is a violation. Otherwise it
	// returns a line that describes the search. An error says that the search could not run.
	Search func(ctx context.Context) (summary string, err error)
	// FindWithin is the time in which each fault must be found. CleanFor is how long the patched program
	// without a fault must run without a violation.
	FindWithin, CleanFor time.Duration
	// Parallel says that several faults are looked for at the same time.
	Parallel bool
	// Check, if it is set, examines the report about a fault that was found.
	Check func(t *testing.T, report string)
}

// huntVariable is the environment variable that makes a process hunt. Its value is the duration.
const huntVariable = "LOCKSERVER_HUNT"

// The exit codes of a hunt.
const (
	exitClean = 0
	exitFound = 30 + iota
	exitBroken
	exitHung // run returns this code for a process that hangs
)

// exitPanicked is the exit code of the Go runtime after a panic.
const exitPanicked = 2

// Found ends a successful hunt: it prints the finding and exits the process.
func Found(after time.Duration, what any) {
	fmt.Printf("found after %.1f s: %v\n", after.Seconds(), what)
	os.Exit(exitFound)
}

// Main returns the exit code for TestMain.
func (h Hunt) Main(m *testing.M) int {
	flag.Parse()
	within := os.Getenv(huntVariable)
	if within == "" {
		return m.Run()
	}
	d, err := time.ParseDuration(within)
	summary := ""
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), d)
		defer cancel()
		summary, err = h.Search(ctx)
	}
	if err != nil {
		fmt.Println(err)
		return exitBroken
	}
	fmt.Println(summary)
	return exitClean
}

// look is the flag that makes tests look for planted faults.
var look = flag.Bool("planted", false, "build the tests with the planted faults, and look for each of them")

// Wanted reports whether the flag -planted is set. Without it, a test does not build its package and look for
// faults, because that takes a while. In any case Wanted checks that each fault still has its place in the
// sources under root.
func Wanted(t testing.TB, root string, faults []Fault) bool {
	t.Helper()
	patched(t, root, faults)
	return *look
}

// Test builds the tests of the package in the current directory with the faults planted, if they are Wanted.
// It fails if a fault is not found, or if the program reports a violation without a fault. A fault is also
// found if the process ends by a panic, or hangs. root is the directory of the module.
func (h Hunt) Test(t *testing.T, root string, faults []Fault) {
	if !Wanted(t, root, faults) {
		return
	}
	program := Build(t, root, faults)
	t.Run(None, func(t *testing.T) {
		code, out := h.run(t, program, None, h.CleanFor)
		require.Equal(t, exitClean, code, "the patches alone break something:\n%s", out)
	})
	for _, f := range faults {
		t.Run(f.Name, func(t *testing.T) {
			code, out := h.run(t, program, f.Name, h.FindWithin)
			if code == exitPanicked && strings.Contains(out, "\ngoroutine ") {
				t.Log(out)
				return // the process did not survive its fault: that counts as a violation
			}
			if code == exitHung {
				t.Logf("it hangs:\n%s", out)
				return // a process that hangs counts too: a client never got an answer
			}
			t.Log(out)
			require.Equal(t, exitFound, code, "not found within %s", h.FindWithin)
			if h.Check != nil {
				h.Check(t, out)
			}
		})
	}
}

// run runs a patched program and returns its exit code and its output.
func (h Hunt) run(t *testing.T, program, fault string, within time.Duration) (int, string) {
	t.Helper()
	if h.Parallel {
		t.Parallel()
	}
	cmd := Command(program, fault)
	cmd.Env = append(cmd.Env, huntVariable+"="+within.String())
	// A faulty server may also hang, and then the hunt hangs with it.
	late := time.AfterFunc(within+time.Minute, func() { _ = cmd.Process.Kill() })
	out, err := cmd.CombinedOutput()
	if !late.Stop() {
		return exitHung, string(out)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}
