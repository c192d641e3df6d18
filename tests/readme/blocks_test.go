package readme

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// root is the repository, seen from this package.
var root = filepath.Join("..", "..")

// page is a text whose blocks are tested.
type page struct {
	path string // from the root
	// roles are the blocks that a test uses, and where. A block of no known role fails TestEveryBlockHasAUse.
	roles map[string]string
	// code is the file of this package in which its Go stands.
	code string
}

var (
	readme = page{path: "README.md", code: "example_test.go", roles: map[string]string{
		"sh demo":       "TestDemo",
		"text demo":     "TestDemo",
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
	}}
	locks = page{path: "docs/LOCKS.md", code: "locks_example_test.go", roles: map[string]string{
		"console alice": "TestLocksPage",
		"console bob":   "TestLocksPage",
		"sh server":     "TestLocksPage",
		"go":            "TestGoSnippets",
	}}
	sales = page{path: "docs/SECKILL.md", code: "sales_example_test.go", roles: map[string]string{
		"console alice": "TestSalesPage",
		"sh server":     "TestSalesPage",
		"go":            "TestGoSnippets",
		"text picture":  "a picture",
	}}
	pages = []page{readme, locks, sales}
)

// block is one fenced block of a page.
type block struct {
	language string // "console", "sh", "go", "text"
	role     string // the word behind the language; may be empty
	text     string // the lines between the fences, each with its newline
	line     int    // of the opening fence, counted from 1
	page     string // its path
}

func (b block) use() string { return strings.TrimSpace(b.language + " " + b.role) }

// where is the block's place, for messages.
func (b block) where() string { return fmt.Sprintf("%s:%d", b.page, b.line) }

// read returns the page and its blocks in their order.
func (p page) read(t *testing.T) (text string, blocks []block) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(p.path)))
	require.NoError(t, err)
	text = strings.ReplaceAll(string(data), "\r\n", "\n") // as Windows may check it out
	var open *block
	for i, line := range strings.SplitAfter(text, "\n") {
		info, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && open == nil:
			language, role, _ := strings.Cut(strings.TrimSpace(info), " ")
			open = &block{language: language, role: role, line: i + 1, page: p.path}
		case fence:
			blocks = append(blocks, *open)
			open = nil
		case open != nil:
			open.text += line
		}
	}
	require.Nil(t, open, "%s: a fence is not closed", p.path)
	return text, blocks
}

// blocksOf returns the blocks of one use; at least one.
func (p page) blocksOf(t *testing.T, use string) []block {
	t.Helper()
	_, all := p.read(t)
	var list []block
	for _, b := range all {
		if b.use() == use {
			list = append(list, b)
		}
	}
	require.NotEmpty(t, list, "%s has no block %q", p.path, use)
	return list
}

func TestEveryBlockHasAUse(t *testing.T) {
	for _, p := range pages {
		_, blocks := p.read(t)
		for _, b := range blocks {
			require.Contains(t, p.roles, b.use(), "%s: no test uses a block %q", b.where(), b.use())
		}
	}
}
