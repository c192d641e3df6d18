package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Users and renamed commands are kept line by line: in files, on the command line, by name, and when the file
// is rewritten. CONFIG GET does not show them.
func TestLinesOfTheirOwn(t *testing.T) {
	const file = "user alice on \">a b\" (+get ~x)\nuser bob off\nrename-command FLUSHALL \"\"\nrename-command get fetch\n"
	c, err := Parse("f", []byte(file), Files{})
	require.NoError(t, err)
	require.Equal(t, [][]string{{"alice", "on", ">a b", "(+get", "~x)"}, {"bob", "off"}}, c.Users)
	require.Equal(t, [][]string{{"FLUSHALL", ""}, {"get", "fetch"}}, c.Renames)
	require.Equal(t, file, string(c.Rewrite([]byte(file))))

	other := Default()
	require.NoError(t, other.Assign(c.Directives()))
	require.Equal(t, c, other)
	require.Empty(t, c.Get("user", "rename-command"))
	_, err = c.Set([]string{"user", "eve on"}, true)
	require.EqualError(t, err, "ERR Unknown option or number of arguments for CONFIG SET - 'user'")

	other.Users = [][]string{{"alice", "on"}, {"carol", "on"}, {"default", "off"}}
	require.Equal(t, "user alice on\nuser carol on\nuser default off\nrename-command FLUSHALL \"\"\nrename-command get fetch\n",
		string(other.Rewrite([]byte(file))))
	for _, line := range []string{"user", "rename-command get", "rename-command a b c"} {
		_, err := Parse("f", []byte(line), Files{})
		require.ErrorContains(t, err, "wrong number of arguments", line)
	}
	require.ErrorContains(t, other.Assign(map[string]string{"user": `alice "`}), "Unbalanced quotes")
}
