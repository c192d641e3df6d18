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

// TestSecurity: the commands of docs/SECURITY.md create three users with certificates, and a lock.
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
	users := blocksOf(t, "text users")[0].text
	require.NoError(t, os.WriteFile(filepath.Join(shell.Dir, "users"), []byte(users), 0o600))
	shell.Env = append(os.Environ(), "PATH="+filepath.Dir(binary)+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := shell.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Regexp(t, `(?s)(OK\n){4}\n?OK\nadmin\n\d{16}\nowner\nworker-1\n`, string(out))
	saved, err := os.ReadFile(filepath.Join(shell.Dir, "users.acl"))
	require.NoError(t, err)
	require.Contains(t, string(saved), "user default off")
	require.NotContains(t, string(saved), "secret")
}
