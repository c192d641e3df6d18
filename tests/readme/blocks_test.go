package readme

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// root is the path of the repository from this package.
var root = filepath.Join("..", "..")

// page is a text with tested blocks.
type page struct {
	path string // from the root
	// code is the file of this package with its Go code, or empty.
	code string
	// foreign holds the files with its blocks in other languages, by language, in the order of the page. make
	// clients runs each file.
	foreign map[string][]string
	// original is the page that this page translates. Each of its blocks must be a block of the original.
	original string
}

// pages lists all pages with blocks. TestEveryPageIsListed finds a page that is missing here.
var pages = []page{
	{path: "README.md", code: "readme_example_test.go", foreign: map[string][]string{
		"java":   {"clients/java/client-tests/src/test/java/io/lockserver/tests/ReadmeTest.java"},
		"python": {"clients/python/tests/test_readme.py"},
	}},
	{path: "README.zh-CN.md", original: "README.md"},
	{path: "docs/CHAOS.md", code: "chaos_example_test.go"},
	{path: "docs/CLIENTS.md", code: "clients_example_test.go", foreign: map[string][]string{
		"java":   {"tests/clients/java/current/src/test/java/lockserver/clients/jedis/PageTest.java"},
		"python": {"tests/clients/python/test_clients_page.py", "clients/python/tests/test_page.py"},
	}},
	{path: "docs/CONFIGURATION.md"},
	{path: "docs/DELAY.md"},
	{path: "docs/DURABILITY.md"},
	{path: "docs/EMBEDDING.md", code: "embedding_example_test.go"},
	{path: "docs/FIRST-STEPS.md", code: "first_steps_example_test.go"},
	{path: "docs/HA.md"},
	{path: "docs/LIMITS.md"},
	{path: "docs/LOCKS.md", code: "locks_example_test.go"},
	{path: "docs/LOCK-GUARANTEES.md"},
	{path: "docs/NATIVE.md"},
	{path: "docs/RECIPES.md"},
	{path: "docs/SECURITY.md"},
	{path: "docs/SEMAPHORES.md", code: "semaphores_example_test.go"},
	{path: "docs/SECKILL.md", code: "sales_example_test.go"},
	{path: "docs/zh-CN/LOCKS.md", original: "docs/LOCKS.md"},
	{path: "docs/zh-CN/MIGRATION.md"},
	{path: "docs/zh-CN/SECKILL.md", original: "docs/SECKILL.md"},
}

// byHand lists the pages with blocks that no test of this package runs, with the reason.
var byHand = map[string]string{
	"CONTRIBUTING.md":                   "internal/tidy compares its code with that of the tree",
	"docs/INSTALL.md":                   "packaging/check installs and starts what it tells of",
	"docs/RUN.md":                       "cmd/lockserver runs commands so, also by the rights of that user",
	"docs/REPLICATION.md":               "tests/replication does what it says, between servers of both kinds",
	"docs/MIGRATION.md":                 "tests/migration does what it says, under load",
	"docs/TESTING.md":                   "cmd/lockserver starts one so; lockservertest (TestClusterPage) and server/testmode_test.go do what it tells of",
	"docs/METRICS.md":                   "tests/metrics lets Prometheus scrape by it",
	"clients/node/README.md":            "clients/node/tests makes the calls that it shows",
	"clients/python/README.md":          "clients/python/tests/test_pages.py runs each block, test_package.py the lines of its shell",
	"clients/python/docs/DJANGO.md":     "clients/python/tests/test_pages.py runs each block",
	"clients/python/docs/SQLALCHEMY.md": "clients/python/tests/test_pages.py runs each block",
	"clients/java/README.md":            "the modules of clients/java have tests of what it shows",
	"examples/django/README.md":         "how to start its program, which has tests of its own",
	"examples/fastapi/README.md":        "how to start its programs, which have tests of their own",
	"examples/express/README.md":        "how to start its program, which has tests of its own",
	"examples/flashsale/README.md":      "how to start its program, which has tests of its own",
	"examples/reminders/README.md":      "its programs are tested with the module",
	"examples/shop/README.md":           "make shop does what it says; TestShop counts its lines",
	"examples/shop/README.zh-CN.md":     "TestShop compares its commands",
	"examples/embedded/README.md":       "how to start its program, which has tests of its own",
	"examples/locks/README.md":          "examples/locks/readme_test.go plays it",
	"examples/pool/README.md":           "how to start its program, which has tests of its own",
}

// uses maps each kind of block to the test that checks all blocks of this kind, on any page.
var uses = map[string]string{
	"sql":           "examples/locks has such statements, and tests them with SQLite and PostgreSQL",
	"console alice": "TestTranscripts",
	"console bob":   "TestTranscripts",
	"sh server":     "TestTranscripts",
	"sh sale":       "TestTranscripts",
	"text sale":     "TestTranscripts",
	"sh restart":    "TestTranscripts",
	"go":            "TestGoSnippets",
	"go comparison": "tests/comparison has it, and compares",
	"java":          "TestForeignSnippets, and make clients-java",
	"python":        "TestForeignSnippets, and make clients-python or clients-python-package",
	"sh demo":       "TestDemo",
	"sh modules":    "TestGoLines",
	"text demo":     "TestDemo",
	"sh build":      "TestBuildAndHelp",
	"sh start":      "TestCommandLines",
	"sh other":      "TestReadinessLine",
	"sh tls":        "TestSecurity", // with openssl and redis-cli
	"text report":   "lockservertest prints such a report, and tests what it finds",
	"text picture":  "a picture",
	"text users":    "TestUsers",
	"sh each":       "TestGroup",
	"sh anywhere":   "TestGroup",
	"sh new":        "TestGroup",
	"sh restore":    "TestGroup",
	"sh survivor":   "TestGroup",
	"ini unit":      "TestGroupUnit",
	"yaml compose":  "TestGroupCompose",
	"sh kubernetes": "packaging/chart tests what the chart makes",
}

// block is one fenced block of a page.
type block struct {
	language string // "console", "sh", "go", "text"
	role     string // the word after the language, or empty
	text     string // the lines between the fences, each with its newline
	line     int    // of the opening fence, counted from 1
	page     string // its path
}

func (b block) use() string { return strings.TrimSpace(b.language + " " + b.role) }

// where returns the position of the block, for messages.
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

// blocksOf returns the page's blocks of one kind.
func (p page) blocksOf(t *testing.T, use string) []block {
	t.Helper()
	_, all := p.read(t)
	return slices.DeleteFunc(all, func(b block) bool { return b.use() != use })
}

// blocksOf returns the blocks of one kind on all pages. There must be at least one.
func blocksOf(t *testing.T, use string) []block {
	t.Helper()
	var list []block
	for _, p := range pages {
		list = append(list, p.blocksOf(t, use)...)
	}
	require.NotEmpty(t, list, "no page has a block %q", use)
	return list
}

func TestEveryBlockHasAUse(t *testing.T) {
	for _, p := range pages {
		_, blocks := p.read(t)
		require.NotEmpty(t, blocks, "%s has no blocks", p.path)
		for _, b := range blocks {
			require.Contains(t, uses, b.use(), "%s: no test uses a block %q", b.where(), b.use())
		}
	}
	for use := range uses {
		blocksOf(t, use)
	}
}

// markdown returns the paths of all markdown files from the root. The chart has a copy of the runbook, which
// is checked in docs/.
func markdown(t *testing.T) []string {
	t.Helper()
	var list []string
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "bin", "node_modules", "testdata", "target"}, d.Name()),
			strings.HasSuffix(filepath.ToSlash(path), "packaging/chart/lockserver/files"):
			return fs.SkipDir
		case filepath.Ext(path) == ".md":
			rel, err := filepath.Rel(root, path)
			list = append(list, filepath.ToSlash(rel))
			return err
		}
		return nil
	}))
	require.Contains(t, list, "README.md")
	return list
}

// TestEveryPageIsListed: a page with a block that a reader could type or compile is tested, or has a reason
// why not. A block of plain text, such as a drawing, does not count.
func TestEveryPageIsListed(t *testing.T) {
	fence := regexp.MustCompile("(?m)^[ \t>]*```[ \t]*([a-z]+.*)$")
	for _, path := range markdown(t) {
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(path)))
		require.NoError(t, err)
		listed := slices.ContainsFunc(pages, func(p page) bool { return p.path == path })
		for _, m := range fence.FindAllStringSubmatch(strings.ReplaceAll(string(data), "\r\n", "\n"), -1) {
			if m[1] != "text" {
				require.True(t, listed || byHand[path] != "", "%s has a block %q, and no test: list it in pages, or in byHand", path, m[1])
			}
		}
	}
	for path := range byHand {
		require.FileExists(t, filepath.Join(root, filepath.FromSlash(path)))
	}
}
