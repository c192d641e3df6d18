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

// TestDifferencesAreDocumented requires that docs/DIFFERENCES.md has each number that a test here cites. Each
// row of a table there ends with a number. The rows of one number follow each other.
func TestDifferencesAreDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "DIFFERENCES.md"))
	require.NoError(t, err)
	number := regexp.MustCompile(`\bD[1-9]\d*\b`)
	row := regexp.MustCompile(`^\|(?:[^|]*\|){4} (D[1-9]\d*) \|$`)
	documented := map[string]bool{}
	last := ""
	for line := range strings.Lines(string(page)) {
		line = strings.TrimRight(line, "\r\n")
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "| command |") || strings.HasPrefix(line, "|---") {
			continue
		}
		m := row.FindStringSubmatch(line)
		require.NotNil(t, m, "five columns, the last of which is the number: %s", line)
		require.True(t, m[1] == last || !documented[m[1]], "the rows of %s are together", m[1])
		last = m[1]
		documented[last] = true
	}
	require.NotEmpty(t, documented)
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	cited := 0
	for _, f := range files {
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		for _, d := range number.FindAllString(string(text), -1) {
			require.True(t, documented[d], "%s: %s is cited", f, d)
			cited++
		}
	}
	require.NotZero(t, cited)
}
