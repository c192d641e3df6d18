package readme

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGoLines: the lines of docs/CLIENTS.md create a module in an empty directory beside a checkout. Its
// program finds both modules.
func TestGoLines(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "CLIENTS.md"))
	require.NoError(t, err)
	_, lines, ok := strings.Cut(string(text), "```sh modules\ngo mod init")
	require.True(t, ok)
	lines, _, _ = strings.Cut("go mod init"+lines, "```")
	dir := t.TempDir()
	checkout, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	shop := filepath.Join(dir, "shop")
	require.NoError(t, os.Mkdir(shop, 0o755))
	for name, source := range map[string]string{
		"main.go":      "package main\n\nimport (\n\t\"github.com/redis/go-redis/v9\"\n\n\t\"lockserver/client\"\n)\n\nfunc main() { _, _ = client.New(redis.NewClient(&redis.Options{})) }\n",
		"main_test.go": "package main\n\nimport (\n\t\"testing\"\n\n\t\"lockserver/lockservertest\"\n)\n\nfunc TestShop(t *testing.T) { lockservertest.Run(t) }\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(shop, name), []byte(source), 0o600))
	}
	// The module cache has what the modules need: nothing is downloaded.
	environment := append(os.Environ(), "GOWORK=off", "GOSUMDB=off")
	run := func(words ...string) {
		t.Helper()
		command := exec.Command(words[0], words[1:]...)
		command.Dir, command.Env = shop, environment
		out, err := command.CombinedOutput()
		require.NoError(t, err, "%q: %s", words, out)
	}
	for line := range strings.Lines(lines) {
		run(strings.Fields(strings.ReplaceAll(line, "../lockserver", filepath.ToSlash(checkout)))...)
	}
	run("go", "list", "-deps", "-test", "./...")
	run("go", "build", "-o", os.DevNull, ".")
}
