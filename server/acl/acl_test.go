package acl

import (
	"bufio"
	"bytes"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/commands"
	"lockserver/internal/resp"
)

// ask runs a command of a server with a password, and returns what is answered, as text.
func ask(t *testing.T, password string, words ...string) string {
	t.Helper()
	table := commands.NewTable(append(commands.Families(), Rows(func(*commands.Ctx) string { return password }))...)
	var argv [][]byte
	for _, w := range words {
		argv = append(argv, []byte(w))
	}
	out := &resp.Writer{Proto: 3}
	row, err := table.Resolve(argv)
	if err == nil {
		err = row.Run(&commands.Ctx{Argv: argv, Row: row, Table: table, Out: out})
	}
	if err != nil {
		return "-" + err.Error()
	}
	v, err := resp.ReadValue(bufio.NewReader(bytes.NewReader(out.Buf)))
	require.NoError(t, err)
	return v.String()
}

func TestTheUser(t *testing.T) {
	const hash = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b" // of "secret"
	require.Equal(t, `["user default on sanitize-payload #`+hash+` ~* &* +@all"]`, ask(t, "secret", "ACL", "LIST"))
	require.Equal(t, `["user default on nopass sanitize-payload ~* &* +@all"]`, ask(t, "", "ACL", "LIST"))
	require.Contains(t, ask(t, "secret", "ACL", "GETUSER", "default"), `"passwords":["`+hash+`"]`)
	require.Contains(t, ask(t, "", "ACL", "GETUSER", "default"), `"passwords":[]`)
	require.Contains(t, ask(t, "", "ACL", "GETUSER", "default"), `"nopass"`)
	require.Equal(t, "nil", ask(t, "", "ACL", "GETUSER", "eve"))
	require.Equal(t, `["default"]`, ask(t, "", "ACL", "USERS"))
	require.Equal(t, `"default"`, ask(t, "", "ACL", "WHOAMI"))
	require.Equal(t, "-ERR unknown subcommand 'SETUSER'. Try ACL HELP.", ask(t, "", "ACL", "SETUSER", "eve", "on"))
}

func TestCategories(t *testing.T) {
	require.Contains(t, ask(t, "", "ACL", "CAT"), `"lock" "sale"`)
	require.Contains(t, ask(t, "", "ACL", "CAT", "LOCK"), `"unlock"`)
	require.Equal(t, "-"+commands.ErrCategory([]byte("nosuch")).Error(), ask(t, "", "ACL", "CAT", "nosuch"))
}

func TestGenPass(t *testing.T) {
	seen := map[string]bool{}
	for bits, digits := range map[string]int{"": 64, "1": 1, "4": 1, "5": 2, "13": 4, "128": 32, "4096": 1024} {
		args := []string{"ACL", "GENPASS"}
		if bits != "" {
			args = append(args, bits)
		}
		got := ask(t, "", args...)
		require.Len(t, got, digits+2) // in quotes
		require.Regexp(t, regexp.MustCompile(`^"[0-9a-f]+"$`), got)
	}
	for range 10 {
		seen[ask(t, "", "ACL", "GENPASS")] = true
	}
	require.Len(t, seen, 10, "each is another")
}

func TestGenPassRefuses(t *testing.T) {
	for _, bits := range []string{"0", "-1", "4097"} {
		require.Equal(t, "-"+string(commands.ErrPasswordBits), ask(t, "", "ACL", "GENPASS", bits))
	}
	require.Equal(t, "-"+string(commands.ErrNotInteger), ask(t, "", "ACL", "GENPASS", "x"))
}
