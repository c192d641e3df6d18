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

// TestGoSnippets: each block of Go stands in a file of this package, which is compiled and run.
func TestGoSnippets(t *testing.T) {
	for _, p := range pages {
		code, err := os.ReadFile(p.code)
		require.NoError(t, err)
		var snippets []string
		for _, part := range strings.Split(string(code), "// snippet\n")[1:] {
			snippet, _, closed := strings.Cut(part, "// end\n")
			require.True(t, closed, "%s: a snippet without its end", p.code)
			snippets = append(snippets, unindent(snippet))
		}
		blocks := p.blocksOf(t, "go")
		require.Len(t, blocks, len(snippets), "every snippet stands in %s", p.path)
		for i, b := range blocks {
			// The only word that differs: an example needs a port of its own.
			text := strings.ReplaceAll(b.text, `"127.0.0.1:6379"`, "addr")
			require.Equal(t, snippets[i], text, b.where())
		}
	}
}

// unindent takes away the tab that a function's body is indented by, and blank lines at the ends.
func unindent(code string) string {
	indented := strings.HasPrefix(code, "\t")
	code = strings.Trim(code, "\n\t")
	if indented {
		code = strings.ReplaceAll(code, "\n\t", "\n")
	}
	return code + "\n"
}

// TestBuildAndHelp: TestMain has built the program by the README's first line; the second one works too.
func TestBuildAndHelp(t *testing.T) {
	for _, b := range readme.blocksOf(t, "sh build") {
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
	text, _ := readme.read(t)
	mentioned := regexp.MustCompile("(?m)(?:^|`)make ([a-z-]+)").FindAllStringSubmatch(text, -1)
	require.Greater(t, len(mentioned), 5)
	for _, m := range mentioned {
		require.Regexp(t, `(?m)^`+m[1]+`:.*## `, string(makefile), "make %s", m[1])
	}
}

// TestDirectives: each row of the table of directives names one that exists, with its default.
func TestDirectives(t *testing.T) {
	text, _ := readme.read(t)
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
	examples, err := filepath.Glob(filepath.Join(root, "examples", "*", "README.md"))
	require.NoError(t, err)
	require.NotEmpty(t, examples)
	pages = append(append(append(pages, decisions...), examples...), filepath.Join(root, "examples", "README.md"), filepath.Join(root, "README.md"), filepath.Join(root, "CHANGELOG.md"))
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

// TestSectionLinks: links inside a page lead to a heading.
func TestSectionLinks(t *testing.T) {
	for _, p := range pages {
		text, _ := p.read(t)
		var anchors []string
		for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
			anchors = append(anchors, anchor(m[1]))
		}
		for _, m := range regexp.MustCompile(`\]\(#([^)]+)\)`).FindAllStringSubmatch(text, -1) {
			require.Contains(t, anchors, m[1], p.path)
		}
	}
}

// anchor is how a heading is linked to: small letters, no punctuation, hyphens for spaces.
func anchor(heading string) string {
	return strings.ReplaceAll(regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
}
