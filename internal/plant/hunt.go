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

// Hunt is how a package looks for the faults that are planted in it. Its TestMain returns to Main, and its
// test calls Test; in between the patched program runs once for each fault, and looks for a violation
// instead of running tests.
type Hunt struct {
	// Search looks for a violation until ctx ends. It calls Found when it has one; otherwise it returns a
	// line that says what was searched. An error says that it could not look.
	Search func(ctx context.Context) (summary string, err error)
	// FindWithin is how long it may take to find any of the faults; CleanFor is how long the patched
	// program without one must be found to be in order.
	FindWithin, CleanFor time.Duration
	// Parallel says that faults are looked for side by side.
	Parallel bool
	// Check, if it is set, looks at what was said about a fault that was found.
	Check func(t *testing.T, report string)
}

// huntVariable makes a process hunt, for as long as it says.
const huntVariable = "LOCKSERVER_HUNT"

// What a hunt exits with.
const (
	exitClean = 0
	exitFound = 30 + iota
	exitBroken
	exitHung // as run says it
)

// exitPanicked is what the runtime of Go exits with when nothing contains a panic.
const exitPanicked = 2

// Found ends a hunt that was successful: it says what was found, and the process is over.
func Found(after time.Duration, what any) {
	fmt.Printf("found after %.1f s: %v\n", after.Seconds(), what)
	os.Exit(exitFound)
}

// Main is what a TestMain is to exit with.
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

// Wanted reports whether a test is to build its package and look for the faults, which takes a while: the
// flag -planted says so. In any case it checks that each fault still has its place in the sources under
// root.
func Wanted(t testing.TB, root string, faults []Fault) bool {
	t.Helper()
	patched(t, root, faults)
	return *look
}

// Test builds the tests of the package in the current directory with the faults planted, if they are Wanted.
// It fails if a fault is not found, or if something is found with none switched on. A fault is also found if
// the process ends by a panic, or hangs. root is the directory of the module.
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
				return // the process did not survive its fault, which is as plain as a violation
			}
			if code == exitHung {
				t.Logf("it hangs:\n%s", out)
				return // as in plain: some client has never had an answer
			}
			t.Log(out)
			require.Equal(t, exitFound, code, "not found within %s", h.FindWithin)
			if h.Check != nil {
				h.Check(t, out)
			}
		})
	}
}

// run runs a patched program and returns its exit code and what it said.
func (h Hunt) run(t *testing.T, program, fault string, within time.Duration) (int, string) {
	t.Helper()
	if h.Parallel {
		t.Parallel()
	}
	cmd := Command(program, fault)
	cmd.Env = append(cmd.Env, huntVariable+"="+within.String())
	// A faulty server may also hang, and the hunt with it.
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
