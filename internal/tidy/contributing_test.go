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
