//go:build oracle

package differential

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDifferencesAreDocumented requires of every number that a test here cites that
// docs/DIFFERENCES.md has it, once.
func TestDifferencesAreDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "DIFFERENCES.md"))
	require.NoError(t, err)
	number := regexp.MustCompile(`\bD[1-9]\d*\b`)
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	cited := map[string]bool{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		for _, d := range number.FindAllString(string(text), -1) {
			cited[d] = true
		}
	}
	require.NotEmpty(t, cited)
	for d := range cited {
		require.Equal(t, 1, strings.Count(string(page), "**"+d+".**"), "%s is cited", d)
	}
	for _, d := range number.FindAllString(string(page), -1) {
		require.Equal(t, 1, strings.Count(string(page), "**"+d+".**"), "%s stands there", d)
	}
}
