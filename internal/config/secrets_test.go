package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRefusedLinesHideSecrets: errors go to the terminal and to logs, so they must not contain a password.
func TestRefusedLinesHideSecrets(t *testing.T) {
	for line, want := range map[string]string{
		"requirepass my hush pw":            "requirepass (hidden)",
		"RequirePass\tmy hush":              "RequirePass (hidden)",
		`requirepass "my hush`:              "requirepass (hidden)",
		`"requirepass" my hush`:             `"requirepass" (hidden)`,
		"requirepas hush":                   "requirepas (hidden)",
		"masterauth one hush":               "masterauth (hidden)",
		"masteruser one hush":               "masteruser (hidden)",
		"tls-key-file-pass one hush":        "tls-key-file-pass (hidden)",
		"tls-client-key-file-pass one hush": "tls-client-key-file-pass (hidden)",
		`user alice on ">hush`:              "user (hidden)",
		"sentinel auth-pass name hush":      "sentinel auth-pass (hidden)",
		"requirepass":                       "requirepass",
		"masterauht hush":                   "masterauht (hidden)",
		"nosuch":                            "nosuch",
		"requirepass-file a b":              "requirepass-file a b",
		"port hush":                         "port hush",
	} {
		_, err := Parse("a.conf", []byte(line+"\n"), Files{})
		require.ErrorContains(t, err, "\n>>> '"+want+"'\n", line)
	}
	_, err := ParseArgs([]string{"--requirepass", "one", "hush"}, Files{})
	require.Error(t, err)
	require.NotContains(t, err.Error(), "hush")
	_, err = ParseArgs([]string{`--requirepass "hush`}, Files{})
	require.Error(t, err)
	require.NotContains(t, err.Error(), "hush")
}

// TestOverriddenLinesHideSecrets: the log names a bad line that an option of the command line replaces.
func TestOverriddenLinesHideSecrets(t *testing.T) {
	files := Files{Read: func(string) ([]byte, error) { return []byte("requirepass my hush\n"), nil }}
	cmd, err := ParseArgs([]string{"a.conf", "--requirepass", "good"}, files)
	require.NoError(t, err)
	require.Equal(t, []string{"a.conf:1: requirepass (hidden)"}, cmd.Config.Overridden())
}
