//go:build oracle

package server

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/testkit"
)

var updateFlag = flag.Bool("update", false, "write the replies of Redis into testdata")

// TestAdmissionOfRedis plays the table of admission_test.go on a Redis.
func TestAdmissionOfRedis(t *testing.T) {
	redis := testkit.StartRedis(t, "--save", "3600 100000")
	at := &admissionSite{t: t, dial: redis.Dial, dir: redis.Dir}
	got := at.play()
	if *updateFlag {
		require.NoError(t, os.WriteFile("testdata/admission.golden", []byte(encodeAdmission(got)), 0o644))
		return
	}
	compareAdmission(t, got)
}

// encodeAdmission writes cells as a text. Its first part has the different replies, one a line. Behind an
// empty line there is a line for each stance and each row of replies: the forms, and the numbers of the
// replies to each command.
func encodeAdmission(cells []admissionCell) string {
	var replies, lines []string
	forms := make(map[string][]string) // by the rest of their line
	for i := 0; i < len(cells); {
		c, row := cells[i], []string(nil)
		for ; i < len(cells) && cells[i].stance == c.stance && cells[i].form == c.form; i++ {
			at := slices.Index(replies, cells[i].reply)
			if at < 0 {
				at = len(replies)
				replies = append(replies, cells[i].reply)
			}
			row = append(row, fmt.Sprintf("%s: %d", cells[i].command, at+1))
		}
		line := c.stance + " | " + strings.Join(row, ", ")
		if forms[line] == nil {
			lines = append(lines, line)
		}
		forms[line] = append(forms[line], c.form)
	}
	var b strings.Builder
	b.WriteString(strings.Join(replies, "\n") + "\n\n")
	for _, line := range lines {
		b.WriteString(line + " | " + strings.Join(forms[line], "; ") + "\n")
	}
	return b.String()
}
