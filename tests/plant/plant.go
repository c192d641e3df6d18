// Package plant shows that a test would find a fault. It builds the tests of a package again with faults
// planted in the server's sources, and runs them with one fault switched on.
//
// It owns the technique. The real source has markers, comments such as
//
//	// plant:unlock-owner
//
// A Fault names markers and says what happens there: five operations (Insert, Omit, Instead, Or, And) change
// the statement at a marker. The -overlay of go build replaces the files by changed copies. Each change is
// behind a switch that only the changed copy has. So the tested code is the real code except for one fault,
// and the real program has no trace of the faults. This package must not know a single fault: the tables of
// faults are beside the tests that find them.
//
// To plant a fault, put a marker on the line above a statement, or behind the first line of a statement.
// Write a Fault that names the marker into the table beside the test, and run that test. A marker may have
// several faults. A test of this package fails when a marker is lost or no longer used.
package plant

import (
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Fault is a planted mistake.
type Fault struct {
	Name    string
	Changes []Change
}

// Change is the change of a fault at one marker.
type Change struct {
	kind         kind
	marker, code string
}

// New is a fault and its changes.
func New(name string, changes ...Change) Fault { return Fault{name, changes} }

// Insert runs code before the marked statement.
func Insert(marker, code string) Change { return Change{insert, marker, code} }

// Omit leaves the marked statement out.
func Omit(marker string) Change { return Change{omit, marker, ""} }

// Instead runs code in place of the marked statement.
func Instead(marker, code string) Change { return Change{instead, marker, code} }

// Or makes the marked condition also true where an expression is true. The expression is evaluated first:
// with "true" the condition itself is not evaluated. A condition is that of an if, a for or a case, the first
// value of a return, or an assigned value.
func Or(marker, expression string) Change { return Change{or, marker, expression} }

// And makes the marked condition true only where an expression is also true. The expression is evaluated
// first.
func And(marker, expression string) Change { return Change{and, marker, expression} }

// None selects no fault in a patched program.
const None = "none"

// variable is the environment variable that names the active fault.
const variable = "LOCKSERVER_PLANTED_FAULT"

// switchText is the switch, added to each package that has a fault. It is read once, because a process has
// one fault.
const switchText = `
import "os"

var plantedFault = os.Getenv("` + variable + `")

func planted(name string) bool { return plantedFault == name }
`

// Build compiles the tests of the package in the current directory with all faults planted, and returns the
// path of the program. root is the module's root. It fails the test if a fault cannot be planted.
func Build(t testing.TB, root string, faults []Fault, tags ...string) string {
	t.Helper()
	return BuildOf(t, root, ".", faults, tags...)
}

// BuildOf is Build for the package in a directory.
func BuildOf(t testing.TB, root, directory string, faults []Fault, tags ...string) string {
	t.Helper()
	return compile(t, root, faults, directory, "test", "-c", "-tags", strings.Join(tags, ","))
}

// Program compiles the server program with all faults planted, and returns its path. Tests that start it by
// testkit.Lockserver get it by the environment variable LOCKSERVER.
func Program(t testing.TB, root string, faults []Fault) string {
	t.Helper()
	return compile(t, root, faults, filepath.Join(root, "cmd", "lockserver"), "build")
}

// compile runs the go command for a directory, with all faults planted.
func compile(t testing.TB, root string, faults []Fault, directory string, words ...string) (program string) {
	t.Helper()
	root, err := filepath.Abs(root)
	require.NoError(t, err)
	dir := t.TempDir()
	files := patched(t, root, faults)
	for file := range files {
		pkg := path.Dir(file)
		files[pkg+"/planted_switch.go"] = "package " + path.Base(pkg) + "\n" + switchText
	}
	replaced := map[string]string{} // by the path of the original
	for file, text := range files {
		copied := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		require.NoError(t, os.WriteFile(copied, []byte(text), 0o600))
		replaced[filepath.Join(root, filepath.FromSlash(file))] = copied
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	require.NoError(t, err)
	list, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "planted.test")
	require.NoError(t, os.WriteFile(list, overlay, 0o600))
	out, err := exec.Command("go", slices.Concat(words, []string{"-overlay", list, "-o", program, directory})...).CombinedOutput()
	require.NoError(t, err, "the sources with faults do not compile: %s", out)
	return program
}

// patched returns the changed copy of each file that has faults, by the path from root.
func patched(t testing.TB, root string, faults []Fault) map[string]string {
	t.Helper()
	marked, err := Find(root)
	require.NoError(t, err)
	files, err := Apply(marked, faults)
	require.NoError(t, err)
	return files
}

// Command returns the command that runs a program of Build with a fault switched on.
func Command(program, fault string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), variable+"="+fault)
	return cmd
}
