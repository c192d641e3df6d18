package tidy

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// readField matches the name of a field that a program reads from a map in a reply.
var readField = regexp.MustCompile(`(?:\.(?:Text|Int|Flag|Moment|Number)|\bwhole|\bknown)\("([a-z0-9-]+)"\)`)

// writtenField matches a name in a list of fields, or in a call that writes one: something stands behind it.
var writtenField = regexp.MustCompile(`"([a-z0-9-]+)"[,)]`)

// TestFieldsThatAreReadAreWritten looks for each field of a reply that the tools and the console read by its
// name. The server has to write a field with this name: a reader does not tell a field that is not there from
// a zero. `lockserver status` read "learner", and RAFT MEMBERS writes "voter".
func TestFieldsThatAreReadAreWritten(t *testing.T) {
	written := make(map[string]bool)
	read := make(map[string]string) // the file that reads a field, by its name
	for _, s := range sources(t) {
		switch dir, _, _ := strings.Cut(s.path, "/"); {
		case s.test:
		case dir == "server" || dir == "commands" || dir == "store":
			for _, m := range writtenField.FindAllSubmatch(s.text, -1) {
				written[string(m[1])] = true
			}
		case dir == "internal" || dir == "admin" || dir == "cmd":
			for _, m := range readField.FindAllSubmatch(s.text, -1) {
				read[string(m[1])] = s.path
			}
		}
	}
	require.Greater(t, len(read), 50)
	for name, path := range read {
		require.Truef(t, written[name], "%s: no reply has the field '%s'", path, name)
	}
}
