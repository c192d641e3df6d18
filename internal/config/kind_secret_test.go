package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// secretFile writes a file with a password.
func secretFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "password")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// TestPasswordsFromFiles: a password file is read once. The password is shown like others, and never written
// into the configuration.
func TestPasswordsFromFiles(t *testing.T) {
	path, master := secretFile(t, "hush hush\r\n"), secretFile(t, "other")
	text := []byte("port 7000\nrequirepass-file " + quote(path) + "\nmasterauth-file " + quote(master) + "\n")
	c, err := Parse("a.conf", text, Files{})
	require.NoError(t, err)
	require.Equal(t, "hush hush", c.RequirePass)
	require.Equal(t, "other", c.Replication.MasterAuth)
	require.Equal(t, []string{"requirepass", "hush hush"}, c.Get("requirepass"))
	require.Equal(t, []string{"requirepass-file", path}, c.Get("requirepass-file"))
	require.Equal(t, string(text), string(c.Rewrite(text)))
	require.NotContains(t, string(c.Rewrite(nil)), "hush")
	require.Contains(t, string(c.Rewrite(nil)), "requirepass-file ")

	values := c.Directives()
	require.NotContains(t, values, "requirepass")
	again := Default()
	require.NoError(t, again.Assign(values))
	require.Equal(t, "hush hush", again.RequirePass)
}

// TestAPasswordThatChanges: setting the path again reads the file again. The password itself cannot be set
// while a file is named, because the next start would read the file.
func TestAPasswordThatChanges(t *testing.T) {
	path := secretFile(t, "one")
	c := Default()
	require.NoError(t, c.Assign(map[string]string{"requirepass-file": path}))
	require.NoError(t, os.WriteFile(path, []byte("two\n"), 0o600))
	_, err := c.Set([]string{"requirepass", "three"}, true)
	require.ErrorContains(t, err, "the password is in a file")
	require.Equal(t, "one", c.RequirePass)
	_, err = c.Set([]string{"requirepass-file", path}, true)
	require.NoError(t, err)
	require.Equal(t, "two", c.RequirePass)
	require.NoError(t, os.Remove(path))
	_, err = c.Set([]string{"requirepass-file", path}, true)
	require.ErrorContains(t, err, "no such file")
	require.Equal(t, "two", c.RequirePass, "it stays as it was")
	_, err = c.Set([]string{"requirepass-file", "", "requirepass", "three"}, true)
	require.NoError(t, err)
	require.Equal(t, "three", c.RequirePass)
}

// TestPasswordFilesThatAreRefused: each refusal names the reason.
func TestPasswordFilesThatAreRefused(t *testing.T) {
	for text, why := range map[string]string{"": "no password in it", "\n": "no password in it", "a\nb\n": "has one line", string(make([]byte, 5000)): "more than 4096 bytes"} {
		err := Default().Assign(map[string]string{"requirepass-file": secretFile(t, text)})
		require.ErrorContains(t, err, why)
	}
	require.ErrorContains(t, Default().Assign(map[string]string{"requirepass-file": "password"}), "absolute path")
	require.ErrorContains(t, Default().Assign(map[string]string{"requirepass-file": secretFile(t, "one"), "requirepass": "two"}), "both given")
	_, err := Parse("a.conf", []byte("masterauth-file "+quote(secretFile(t, "one"))+"\nmasterauth two\n"), Files{})
	require.ErrorContains(t, err, "the password is in a file")
}
