//go:build unix

package readme

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadinessLine: the lines that start the server from a script print the address it listens
// on, which is not always the same.
func TestReadinessLine(t *testing.T) {
	for _, b := range blocksOf(t, "sh other") {
		shell := exec.Command("sh", "-eu", "-c", b.text+"wait\n")
		shell.Env = append(os.Environ(), "TMPDIR="+t.TempDir(),
			"PATH="+filepath.Dir(binary)+string(os.PathListSeparator)+os.Getenv("PATH"))
		out, err := shell.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Regexp(t, `^127\.0\.0\.1:\d+\n$`, string(out), b.where())
	}
}
