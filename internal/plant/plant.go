// Package plant shows that a test would notice: it builds the tests of a package once more, with mistakes
// planted in the server's sources, and runs them with one of the mistakes switched on.
//
// It owns the way of doing that: a mistake is a few textual patches, which go build's -overlay puts in
// place of the real files, each behind a switch that only the patched copy has. So the code that is tested
// is the real one but for the one mistake, and it knows nothing of this. It must not know any mistake:
// those stand beside the test that finds them.
//
// To plant one, write a Fault; a Hunt looks for it. A patch that no longer fits its file fails
// the test: plant the mistake anew.
package plant

import (
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Fault is a mistake that is planted. Its patches ask planted("its name") whether it is switched on.
type Fault struct {
	Name    string
	Patches []Patch
}

// Patch replaces a text that occurs exactly once in a file (its path from the module's root, with slashes).
type Patch struct{ File, Old, New string }

// New is a fault and its patches.
func New(name string, patches ...Patch) Fault { return Fault{name, patches} }

// Instead puts text in the place of another.
func Instead(file, place, text string) Patch { return Patch{file, place, text} }

// Before inserts text before a place.
func Before(file, place, text string) Patch { return Patch{file, place, text + place} }

// After inserts text behind a place.
func After(file, place, text string) Patch { return Patch{file, place, place + text} }

// None is the fault of a patched program in which none is switched on.
const None = "none"

// variable names the fault that is switched on.
const variable = "LOCKSERVER_PLANTED_FAULT"

// switchText is the switch, added to each package that has a fault. It is read once: a process has one fault.
const switchText = `
import "os"

var plantedFault = os.Getenv("` + variable + `")

func planted(name string) bool { return plantedFault == name }
`

// Build compiles the tests of the package in the current directory with all faults planted and returns the
// program. root is the module's. It fails the test if a patch does not fit.
func Build(t testing.TB, root string, faults []Fault) string {
	t.Helper()
	root, err := filepath.Abs(root)
	require.NoError(t, err)
	dir := t.TempDir()
	files := Apply(t, root, faults)
	for file := range files {
		pkg := path.Dir(file)
		files[pkg+"/planted_switch.go"] = "package " + path.Base(pkg) + "\n" + switchText
	}
	replaced := map[string]string{} // by the original's path
	for file, text := range files {
		copied := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		require.NoError(t, os.WriteFile(copied, []byte(text), 0o600))
		replaced[filepath.Join(root, filepath.FromSlash(file))] = copied
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	require.NoError(t, err)
	list, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "planted.test")
	require.NoError(t, os.WriteFile(list, overlay, 0o600))
	out, err := exec.Command("go", "test", "-c", "-overlay", list, "-o", program, ".").CombinedOutput()
	require.NoError(t, err, "the sources with faults do not compile: %s", out)
	return program
}

// Apply returns the files that have faults, by their paths from root, as they are with all of them.
func Apply(t testing.TB, root string, faults []Fault) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, f := range faults {
		for _, p := range f.Patches {
			text, ok := files[p.File]
			if !ok {
				b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(p.File)))
				require.NoError(t, err)
				text = string(b)
			}
			require.Equal(t, 1, strings.Count(text, p.Old), "%q does not fit %s any more: how often does it have\n%s", f.Name, p.File, p.Old)
			require.Contains(t, p.New, `planted("`+f.Name+`")`, "%q cannot be switched off", f.Name)
			files[p.File] = strings.Replace(text, p.Old, p.New, 1)
		}
	}
	return files
}

// Command is a program that Build has built, with a fault switched on.
func Command(program, fault string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), variable+"="+fault)
	return cmd
}
