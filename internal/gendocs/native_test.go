package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"lockserver/server"
)

// TestNativeCommandsAreWhole: each native command is explained on a page written by hand, and a test has its
// name. The clients' page says whether the packages send it.
func TestNativeCommandsAreWhole(t *testing.T) {
	pages := textOf(t, "../../docs", func(path string) bool {
		return strings.HasSuffix(path, ".md") && !slices.Contains([]string{"commands.md", "CLIENTS.md", "DIFFERENCES.md"}, filepath.Base(path))
	})
	tests := ""
	for _, dir := range []string{"../../commands", "../../server", "../../tests"} {
		tests += textOf(t, dir, func(path string) bool { return strings.HasSuffix(path, "_test.go") })
	}
	clients, err := os.ReadFile("../../docs/CLIENTS.md")
	require.NoError(t, err)
	_, sent, ok := strings.Cut(string(clients), "\n## What is sent again\n")
	require.True(t, ok)
	sent, _, _ = strings.Cut(sent, "\n## ")
	seen := 0
	for _, row := range server.FullTable().Rows() {
		if !slices.Contains(nativeGroups, row.Group) {
			continue
		}
		seen++
		name := strings.ToUpper(strings.ReplaceAll(row.FullName(), "|", " "))
		word := regexp.QuoteMeta(name) + `([^.A-Z]|$)`
		assert.True(t, regexp.MustCompile(`(?m)^(#+ |\| ).*`+word).MatchString(pages), "%s has no heading and no row of a table on a page", name)
		assert.True(t, regexp.MustCompile(`[^.A-Z]`+word).MatchString(tests), "no test has %s", name)
		assert.True(t, regexp.MustCompile("`"+word).MatchString(sent), "docs/CLIENTS.md does not say whether the packages send %s", name)
	}
	require.Greater(t, seen, 40)
}

// textOf returns the text of the files below a directory that a function chooses.
func textOf(t *testing.T, dir string, chosen func(path string) bool) string {
	t.Helper()
	var text strings.Builder
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil || !chosen(path) {
			return err
		}
		file, err := os.ReadFile(path)
		text.Write(file)
		return err
	}))
	require.NotEmpty(t, text.String(), dir)
	return text.String()
}
