package linearizability

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	// faultVariable names the fault that a patched program has, huntVariable makes a process of this test hunt for it.
	faultVariable = "LOCKSERVER_PLANTED_FAULT"
	huntVariable  = "LOCKSERVER_HUNT"
	// noFault is the fault of a patched program that has none.
	noFault = "none"
)

const (
	// findWithin is how long it may take to find any of the faults. It takes a tenth of that.
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
	program := buildPlanted(t)
	t.Run(noFault, func(t *testing.T) {
		t.Parallel()
		code, out := runHunt(t, program, noFault, cleanFor)
		require.Equal(t, exitClean, code, "the patches alone break something:\n%s", out)
	})
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			code, out := runHunt(t, program, f.name, findWithin)
			require.Equal(t, exitFound, code, "not found within %s:\n%s", findWithin, out)
			t.Log(out)
		})
	}
}

// runHunt runs a patched program and returns its exit code and what it said.
func runHunt(t *testing.T, program, name string, within time.Duration) (int, string) {
	t.Helper()
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), huntVariable+"="+within.String(), faultVariable+"="+name)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// buildPlanted builds this test with every fault in the sources, each behind its switch.
func buildPlanted(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	dir := t.TempDir()
	replaced := map[string]string{} // by the original's path
	write := func(file, text string) {
		path := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		replaced[filepath.Join(root, filepath.FromSlash(file))] = path
	}
	for file, text := range plant(t, root) {
		write(file, text)
	}
	for file, clause := range switchFiles {
		write(file, clause+switchText)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	require.NoError(t, err)
	list, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "planted.test")
	require.NoError(t, os.WriteFile(list, overlay, 0o600))
	build := exec.Command("go", "test", "-c", "-overlay", list, "-o", program, ".")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "the sources with faults do not compile: %s", out)
	return program
}

// plant returns the files that have faults, as they are with them. A patch that does not fit any more is an error: the
// code has changed, and the fault must be planted anew.
func plant(t *testing.T, root string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, f := range faults {
		for _, p := range f.patches {
			text, ok := files[p.file]
			if !ok {
				b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(p.file)))
				require.NoError(t, err)
				text = string(b)
			}
			require.Equal(t, 1, strings.Count(text, p.old), "%q does not fit %s any more: how often does it have\n%s", f.name, p.file, p.old)
			require.Contains(t, p.new, "planted(\""+f.name+"\")", "%q cannot be switched off", f.name)
			files[p.file] = strings.Replace(text, p.old, p.new, 1)
		}
	}
	return files
}
