package readme

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// root is the repository, seen from this package.
var root = filepath.Join("..", "..")

// block is one fenced block of the README.
type block struct {
	language string // "console", "sh", "go", "text"
	role     string // the word behind the language; may be empty
	text     string // the lines between the fences, each with its newline
	line     int    // of the opening fence, counted from 1
}

// roles are the blocks that a test uses, and where. A block of no known role fails TestEveryBlockHasAUse.
var roles = map[string]string{
	"console alice": "TestFirstMinute",
	"console bob":   "TestFirstMinute",
	"sh server":     "TestFirstMinute",
	"sh sale":       "TestFirstMinute",
	"text sale":     "TestFirstMinute",
	"sh restart":    "TestFirstMinute",
	"go":            "TestGoSnippets",
	"sh build":      "TestBuildAndHelp",
	"sh other":      "TestReadinessLine",
	"text":          "TestMakeTargets",
}

func (b block) use() string { return strings.TrimSpace(b.language + " " + b.role) }

// readREADME returns the README and its blocks in their order.
func readREADME(t *testing.T) (text string, blocks []block) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	text = strings.ReplaceAll(string(data), "\r\n", "\n") // as Windows may check it out
	var open *block
	for i, line := range strings.SplitAfter(text, "\n") {
		info, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && open == nil:
			language, role, _ := strings.Cut(strings.TrimSpace(info), " ")
			open = &block{language: language, role: role, line: i + 1}
		case fence:
			blocks = append(blocks, *open)
			open = nil
		case open != nil:
			open.text += line
		}
	}
	require.Nil(t, open, "a fence is not closed")
	return text, blocks
}

// blocksOf returns the blocks of one use; at least one.
func blocksOf(t *testing.T, use string) []block {
	t.Helper()
	_, all := readREADME(t)
	var list []block
	for _, b := range all {
		if b.use() == use {
			list = append(list, b)
		}
	}
	require.NotEmpty(t, list, "the README has no block %q", use)
	return list
}

func TestEveryBlockHasAUse(t *testing.T) {
	_, blocks := readREADME(t)
	for _, b := range blocks {
		require.Contains(t, roles, b.use(), "README.md:%d: no test uses a block %q", b.line, b.use())
	}
}
