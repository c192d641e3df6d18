package readme

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
)

// TestGoSnippets: each block of Go stands in example_test.go, which is compiled and run.
func TestGoSnippets(t *testing.T) {
	code, err := os.ReadFile("example_test.go")
	require.NoError(t, err)
	var snippets []string
	for _, part := range strings.Split(string(code), "// snippet\n")[1:] {
		snippet, _, closed := strings.Cut(part, "// end\n")
		require.True(t, closed, "a snippet without its end")
		snippets = append(snippets, unindent(snippet))
	}
	blocks := blocksOf(t, "go")
	require.Len(t, blocks, len(snippets), "every snippet stands in the README")
	for i, b := range blocks {
		// The only word that differs: an example needs a port of its own.
		text := strings.ReplaceAll(b.text, `"127.0.0.1:6379"`, "addr")
		require.Equal(t, snippets[i], text, "README.md:%d", b.line)
	}
}

// unindent takes away the tab that a function's body is indented by, and blank lines at the ends.
func unindent(code string) string {
	code = strings.Trim(code, "\n\t")
	if !strings.HasPrefix(code, "func ") {
		code = strings.ReplaceAll(code, "\n\t", "\n")
	}
	return code + "\n"
}

// TestBuildAndHelp: TestMain has built the program by the README's first line; the second one works too.
func TestBuildAndHelp(t *testing.T) {
	for _, b := range blocksOf(t, "sh build") {
		require.Equal(t, buildCommand+"\nbin/lockserver --help\n", b.text)
	}
	out, err := exec.Command(binary, "--help").CombinedOutput()
	require.NoError(t, err)
	require.Contains(t, string(out), "Usage: lockserver")
}

// TestMakeTargets: what the README tells to make, the Makefile has.
func TestMakeTargets(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	require.NoError(t, err)
	text, _ := readREADME(t)
	mentioned := regexp.MustCompile("(?m)(?:^|`)make ([a-z-]+)").FindAllStringSubmatch(text, -1)
	require.Greater(t, len(mentioned), 5)
	for _, m := range mentioned {
		require.Regexp(t, `(?m)^`+m[1]+`:.*## `, string(makefile), "make %s", m[1])
	}
}

// TestDirectives: each row of the table of directives names one that exists, with its default.
func TestDirectives(t *testing.T) {
	text, _ := readREADME(t)
	_, section, found := strings.Cut(text, "\n## Configuration\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	defaults := config.Default()
	rows := regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|([^|]*)\\|").FindAllStringSubmatch(section, -1)
	require.Greater(t, len(rows), 10)
	for _, row := range rows {
		want := strings.TrimSpace(row[2])
		require.Equal(t, []string{row[1], want}, defaults.Get(row[1]))
	}
}

// TestLinks: what the README and the documents link to is there.
func TestLinks(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	require.NoError(t, err)
	decisions, err := filepath.Glob(filepath.Join(root, "docs", "decisions", "*.md"))
	require.NoError(t, err)
	pages = append(append(pages, decisions...), filepath.Join(root, "README.md"), filepath.Join(root, "CHANGELOG.md"))
	links := regexp.MustCompile(`\]\(([^)#\s]+)(?:#[^)]*)?\)`)
	for _, page := range pages {
		data, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range links.FindAllStringSubmatch(string(data), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			_, err := os.Stat(filepath.Join(filepath.Dir(page), filepath.FromSlash(m[1])))
			require.NoError(t, err, "%s links to %s", page, m[1])
		}
	}
}

// TestSectionLinks: links inside the README lead to a heading.
func TestSectionLinks(t *testing.T) {
	text, _ := readREADME(t)
	for _, m := range regexp.MustCompile(`\]\(#([^)]+)\)`).FindAllStringSubmatch(text, -1) {
		heading := strings.ReplaceAll(m[1], "-", " ")
		require.Regexp(t, `(?mi)^#+ `+regexp.QuoteMeta(heading)+`$`, text)
	}
}
