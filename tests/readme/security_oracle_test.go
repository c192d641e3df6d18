//go:build oracle

package readme

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSecurity: whoever types what docs/SECURITY.md says has an encrypted connection, and a lock over it.
func TestSecurity(t *testing.T) {
	for _, tool := range []string{"openssl", "redis-cli"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("there is no %s: run 'make deps'", tool)
		}
	}
	var script strings.Builder
	for _, b := range blocksOf(t, "sh tls") {
		script.WriteString(b.text)
	}
	shell := exec.Command("sh", "-eu", "-c", "trap 'kill $!' EXIT\n"+script.String())
	shell.Dir = t.TempDir()
	shell.Env = append(os.Environ(), "PATH="+filepath.Dir(binary)+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := shell.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Regexp(t, `\n\d{16}\n$`, string(out))
}
