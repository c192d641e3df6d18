package server

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/commands"
)

// mayBeSecret are names of arguments, and tokens before them, that passwords have in the rows.
var mayBeSecret = regexp.MustCompile(`(?i)pass|auth|secret|^rule|credential`)

// takesSecret reports whether a call of a row can have a password, as far as the names of its arguments tell.
func takesSecret(args []commands.Arg) bool {
	for i := range args {
		a := &args[i]
		if mayBeSecret.MatchString(a.Name) || mayBeSecret.MatchString(a.Token) || takesSecret(a.Args) {
			return true
		}
	}
	return false
}

// TestRowsMarkSecrets: each row that takes a password says where, so that neither SLOWLOG nor the log shows
// it.
func TestRowsMarkSecrets(t *testing.T) {
	found := map[string]bool{}
	var look func(rows []*commands.Row)
	look = func(rows []*commands.Row) {
		for _, row := range rows {
			if takesSecret(row.Args) {
				found[row.FullName()] = true
				require.NotNil(t, row.Secrets, row.FullName())
			}
			look(row.Subcommands())
		}
	}
	look(FullTable().Rows())
	for _, name := range []string{"auth", "hello", "migrate", "acl|setuser"} {
		require.True(t, found[name], name)
	}
}
