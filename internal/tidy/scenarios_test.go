package tidy

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// textUnder returns the text of all files under a directory with an ending, without what was installed there.
func textUnder(t *testing.T, dir, ending string) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "target"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ending):
			return nil
		}
		text, err := os.ReadFile(path)
		b.Write(text)
		return err
	}))
	return b.String()
}

// TestEveryClientProvesTheScenarios: each scenario of clients/SCENARIOS.md has a row in docs/CLIENTS.md, and
// the tests that the row names exist.
func TestEveryClientProvesTheScenarios(t *testing.T) {
	scenarios, err := os.ReadFile("../../clients/SCENARIOS.md")
	require.NoError(t, err)
	page, err := os.ReadFile("../../docs/CLIENTS.md")
	require.NoError(t, err)
	_, table, _ := strings.Cut(string(page), "| scenario | Go | Java | Node | Python |\n")
	table, _, _ = strings.Cut(table, "\n\n")

	goTests, java := textUnder(t, "../../tests/client", ".go"), textUnder(t, "../../clients/java", ".java")
	node, python := textUnder(t, "../../clients/node/tests", ".mjs"), textUnder(t, "../../clients/python/tests", ".py")
	node += textUnder(t, "../../clients/node/tests", ".ts") + textUnder(t, "../../clients/node/tests", ".js")
	rows := make(map[string]bool)
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		if strings.HasPrefix(cells[0], "---") || len(cells) < 5 {
			continue
		}
		name := strings.Trim(cells[0], "`")
		rows[name] = true
		word := regexp.MustCompile(`^\w+$`)
		if word.MatchString(cells[1]) {
			require.Contains(t, goTests, "func "+cells[1]+"(", name)
		}
		if word.MatchString(cells[2]) {
			require.Contains(t, java, "void "+cells[2]+"(", name)
		}
		require.Equal(t, cells[3] == "yes", regexp.MustCompile("scenario: "+name+`\b`).MatchString(node), "%s in Node", name)
		require.Equal(t, cells[4] == "yes", regexp.MustCompile("def test_"+name+`[_(]`).MatchString(python), "%s in Python", name)
	}
	listed := 0
	for line := range strings.Lines(string(scenarios)) {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		first, _, _ := strings.Cut(line[2:], " |")
		for name := range strings.SplitSeq(first, ", ") {
			listed++
			require.True(t, rows[strings.Trim(name, "`")], "%s is in docs/CLIENTS.md", name)
		}
	}
	require.Equal(t, len(rows), listed)
	require.Greater(t, listed, 20)
}
