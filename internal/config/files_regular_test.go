//go:build unix

package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOnlyRegularFilesAreRead: a pipe without a writer, a device without an end, a directory and a file that
// is too long are refused. A link to a file is read.
func TestOnlyRegularFilesAreRead(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, syscall.Mkfifo(in("pipe"), 0o600))
	require.NoError(t, os.WriteFile(in("long"), make([]byte, 5000), 0o600))
	require.NoError(t, os.WriteFile(in("file"), []byte("hush\n"), 0o600))
	require.NoError(t, os.Symlink(in("file"), in("link")))
	require.NoError(t, os.Symlink(in("pipe"), in("link to a pipe")))
	for _, path := range []string{in("pipe"), in("link to a pipe"), "/dev/zero", dir} {
		_, err := ReadRegular(path, 4096)
		require.ErrorIs(t, err, ErrNotRegular, path)
		_, err = OpenRegular(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		require.ErrorIs(t, err, ErrNotRegular, path)
		require.ErrorContains(t, Default().Assign(map[string]string{"requirepass-file": path}), "not a regular file", path)
	}
	_, err := ReadRegular(in("long"), 4999)
	require.ErrorContains(t, err, "more than 4999 bytes")
	_, err = ReadRegular(in("nosuch"), 1)
	require.True(t, errors.Is(err, os.ErrNotExist))
	for path, want := range map[string]string{in("long"): string(make([]byte, 5000)), in("link"): "hush\n"} {
		text, err := ReadRegular(path, 5000)
		require.NoError(t, err)
		require.Equal(t, want, string(text))
	}
}

// TestPathsOfSecretsAreProtected: CONFIG SET may read the configured file again, but no other file, unless
// enable-protected-configs allows it. The reply does not say whether another file exists.
func TestPathsOfSecretsAreProtected(t *testing.T) {
	path, other := secretFile(t, "one"), secretFile(t, "two")
	for _, name := range []string{"requirepass-file", "masterauth-file"} {
		c := Default()
		require.NoError(t, c.Assign(map[string]string{name: path}))
		for _, path := range []string{other, "/nosuch", "/dev/zero", "relative", strings.ToUpper(path)} {
			_, err := c.Set([]string{name, path}, true)
			require.EqualError(t, err, "ERR CONFIG SET failed (possibly related to argument '"+name+"') - can't set protected config", path)
		}
		for _, path := range []string{path, ""} {
			_, err := c.Set([]string{name, path}, true)
			require.NoError(t, err, path)
		}
		_, err := c.Set([]string{name, path}, true)
		require.ErrorContains(t, err, "protected", "it is no longer in force")
		c = Default()
		c.EnableProtectedConfigs = AccessLocal
		_, err = c.Set([]string{name, other}, false)
		require.ErrorContains(t, err, "protected")
		_, err = c.Set([]string{name, other}, true)
		require.NoError(t, err)
	}
}

// TestDirectivesThatOpenFiles: each directive with the name of a path is marked, and the table in SECURITY.md
// lists each marked directive.
func TestDirectivesThatOpenFiles(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "SECURITY.md"))
	require.NoError(t, err)
	_, table, found := strings.Cut(string(page), "## Files that directives name")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n## ")
	first := ""
	for line := range strings.Lines(table) {
		if cells := strings.Split(line, "|"); len(cells) > 1 {
			first += cells[1]
		}
	}
	for _, d := range directives {
		named := strings.HasSuffix(d.Name, "file") || strings.HasSuffix(d.Name, "dir") || strings.HasSuffix(d.Name, "filename")
		_, refused := d.Kind.(constantKind)
		require.True(t, !named || d.Opens || d.Inert || refused, d.Name)
		require.Equal(t, d.Opens, OpensFile(d.Name))
		require.Equal(t, d.Opens, strings.Contains(first, "`"+d.Name+"`"), d.Name)
	}
}
