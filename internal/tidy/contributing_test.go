package tidy

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestContributing: the targets, files and rows that CONTRIBUTING.md names are there, and
// its code is the code of the tree.
func TestContributing(t *testing.T) {
	text := page(t, "CONTRIBUTING.md")
	makefile := page(t, "Makefile")
	looksLikePath := regexp.MustCompile(`^[\w.-]+/[\w./-]*$|^[\w-]+\.(go|md|mod)$`)
	isLink := regexp.MustCompile(`\]\(([^)#]+)[^)]*\)`)
	isVariable := regexp.MustCompile(`\b([A-Z]+)=`)
	exists := func(path string) {
		t.Helper()
		_, err := os.Stat(filepath.Join(root, filepath.FromSlash(path)))
		if path != "doc.go" && path != "_cmd.go" { // there are many
			require.NoError(t, err)
		}
	}
	targets := 0
	for _, m := range inBackquotes.FindAllStringSubmatch(text, -1) {
		command, ok := strings.CutPrefix(m[1], "make ")
		if !ok {
			if looksLikePath.MatchString(m[1]) {
				exists(m[1])
			}
			continue
		}
		targets++
		for _, v := range isVariable.FindAllStringSubmatch(command, -1) {
			require.Contains(t, makefile, "\n"+v[1]+" ?=", m[1])
		}
		names, _, _ := strings.Cut(command, " ")
		if all, _, found := strings.Cut(command, " PKGS="); found {
			names = all
		}
		for _, name := range strings.Fields(names) {
			require.Regexp(t, `(?m)^`+regexp.QuoteMeta(name)+`:.* ## `, makefile, m[1])
		}
	}
	require.Greater(t, targets, 20)
	for _, m := range isLink.FindAllStringSubmatch(text, -1) {
		exists(m[1])
	}
	code := page(t, "commands", "string_table.go") + page(t, "commands", "string_compare.go")
	blocks := strings.Split(text, "   ```go\n")[1:]
	require.Len(t, blocks, 2)
	for _, b := range blocks {
		b, _, _ = strings.Cut(b, "   ```\n")
		for line := range strings.Lines(b) {
			require.Contains(t, code, strings.TrimSpace(line))
		}
	}
}

// TestFollowOneLock: the path of a LOCK that CONTRIBUTING.md names is that of the code. In its list a file
// stands before the functions in it, `file.go`: `function()`.
func TestFollowOneLock(t *testing.T) {
	_, list, found := strings.Cut(page(t, "CONTRIBUTING.md"), "\n## Follow one LOCK\n")
	require.True(t, found)
	list, _, _ = strings.Cut(list, "\n## ")
	steps := regexp.MustCompile(`(?m)^\d+\. `).Split(list, -1)[1:]
	require.Greater(t, len(steps), 8)
	functions := 0
	for i, step := range steps {
		path, code := "", ""
		for _, m := range inBackquotes.FindAllStringSubmatch(step, -1) {
			if strings.HasSuffix(m[1], ".go") {
				path, code = m[1], page(t, strings.Split(m[1], "/")...)
				continue
			}
			name, is := strings.CutSuffix(m[1], "()")
			if !is {
				continue
			}
			require.NotEmpty(t, path, "step %d: %s stands before its file", i+1, m[1])
			require.Regexp(t, `(?m)^func (\(\w+ \*?\w+\) )?`+name+`\(`, code, "step %d: %s has no %s", i+1, path, m[1])
			functions++
		}
		require.NotEmpty(t, path, "step %d names no file", i+1)
	}
	require.Greater(t, functions, 20)
}
