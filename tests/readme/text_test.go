package readme

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/marked"
	"lockserver/server/raft"
)

// TestGoSnippets: each block of Go is in a file of this package, which is compiled and run.
func TestGoSnippets(t *testing.T) {
	for _, p := range pages {
		if p.original != "" { // TestTranslations
			continue
		}
		if p.code == "" {
			require.Empty(t, p.blocksOf(t, "go"), "%s: no file has its Go", p.path)
			continue
		}
		snippets := snippetsOf(t, p.code, "//")
		blocks := p.blocksOf(t, "go")
		require.Len(t, blocks, len(snippets), "every snippet stands in %s", p.path)
		for i, b := range blocks {
			// The only word that differs: an example needs a port of its own.
			text := strings.ReplaceAll(b.text, `"127.0.0.1:6379"`, "addr")
			require.Equal(t, snippets[i], text, b.where())
		}
	}
}

// snippetsOf returns the text of a file between the comments "snippet" and "end".
func snippetsOf(t *testing.T, path, comment string) (snippets []string) {
	t.Helper()
	code, err := os.ReadFile(path)
	require.NoError(t, err)
	text := strings.ReplaceAll(string(code), "\r\n", "\n") // as Windows may check it out
	for _, part := range strings.Split(text, comment+" snippet\n")[1:] {
		snippet, _, closed := strings.Cut(part, comment+" end\n")
		require.True(t, closed, "%s: a snippet without its end", path)
		snippets = append(snippets, unindent(snippet))
	}
	return snippets
}

// TestForeignSnippets: each block in another language is in a test of tests/clients, which make clients runs.
func TestForeignSnippets(t *testing.T) {
	languages := map[string]struct {
		comment string
		run     *strings.Replacer // the only words that differ: a test has a server of its own
	}{
		"java": {"//", strings.NewReplacer(`"127.0.0.1", 6379`, `SERVER.host(), SERVER.port()`,
			`"redis://127.0.0.1:6379"`, `server.uri()`)},
		"python": {"#", strings.NewReplacer(`port=6379`, `port=server.port`, `"redis://127.0.0.1:6379"`, `url`)},
	}
	for _, p := range pages {
		if p.original != "" { // TestTranslations
			continue
		}
		for language, how := range languages {
			var snippets []string
			for _, file := range p.foreign[language] {
				snippets = append(snippets, snippetsOf(t, filepath.Join(root, filepath.FromSlash(file)), how.comment)...)
			}
			blocks := p.blocksOf(t, language)
			require.Len(t, blocks, len(snippets), "%s shows each snippet of %v, and no other", p.path, p.foreign[language])
			for i, b := range blocks {
				require.Equal(t, snippets[i], how.run.Replace(b.text), b.where())
			}
		}
	}
}

// TestLocksOverAPoolHaveALease: a lock that the server renews ends with its connection, which a pool closes
// when it likes. So wherever a page shows a LOCK without a lease, it is on a connection of its own.
func TestLocksOverAPoolHaveALease(t *testing.T) {
	seen := 0
	for _, p := range pages {
		for _, b := range p.blocksOf(t, "go") {
			for line := range strings.Lines(b.text) {
				if !strings.Contains(line, `"LOCK", `) && !strings.Contains(line, `"MLOCK", `) {
					continue
				}
				seen++
				leased := strings.Contains(line, `"PX", `) || strings.Contains(line, `"EX", `)
				require.True(t, leased || strings.Contains(line, "conn.Do("), "%s: %s", b.where(), line)
			}
		}
	}
	require.Greater(t, seen, 5)
}

// unindent takes away what the first line is indented by, and blank lines at the ends.
func unindent(code string) string {
	code = strings.TrimLeft(code, "\n")
	indent := code[:len(code)-len(strings.TrimLeft(code, " \t"))]
	code = strings.TrimRight(code, " \t\n")
	return strings.ReplaceAll(strings.TrimPrefix(code, indent), "\n"+indent, "\n") + "\n"
}

// TestBuildAndHelp: TestMain has built the program by the first line that a page
// shows; the second one works too.
func TestBuildAndHelp(t *testing.T) {
	for _, b := range blocksOf(t, "sh build") {
		require.Equal(t, buildCommand+"\nbin/lockserver --help\n", b.text)
	}
	out, err := exec.Command(binary, "--help").CombinedOutput()
	require.NoError(t, err)
	require.Contains(t, string(out), "Usage: lockserver")
}

// TestCommandLines: the server starts with the arguments that are shown.
func TestCommandLines(t *testing.T) {
	for _, b := range blocksOf(t, "sh start") {
		for line := range strings.Lines(b.text) {
			words := strings.Fields(line)
			require.Equal(t, "lockserver", words[0], b.where())
			startProgram(t, t.TempDir(), 0, words[1:]...)
		}
	}
}

// TestMakeTargets: what the pages tell to make, the Makefile has.
func TestMakeTargets(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	require.NoError(t, err)
	mentioned := 0
	for _, path := range markdown(t) {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(path)))
		require.NoError(t, err)
		for _, m := range regexp.MustCompile("(?m)(?:^|`)make ([a-z-]+)").FindAllStringSubmatch(string(text), -1) {
			require.Regexp(t, `(?m)^`+m[1]+`:.*## `, string(makefile), "%s: make %s", path, m[1])
			mentioned++
		}
	}
	require.Greater(t, mentioned, 10)
}

// TestClientSettings: what docs/CLIENTS.md says to set for LOCK is set by the tests that each row names.
func TestClientSettings(t *testing.T) {
	text, _ := page{path: "docs/CLIENTS.md"}.read(t)
	_, section, found := strings.Cut(text, "\n## What to set for LOCK\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	rows := regexp.MustCompile(`(?m)^\|(.*)\| \[\w+\]\(\.\./(tests/clients/\w+)\) \|$`).FindAllStringSubmatch(section, -1)
	require.Greater(t, len(rows), 5)
	for _, row := range rows {
		var code strings.Builder
		require.NoError(t, filepath.WalkDir(filepath.Join(root, filepath.FromSlash(row[2])), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				if err == nil && slices.Contains([]string{"node_modules", "target"}, d.Name()) {
					return fs.SkipDir
				}
				return err
			}
			data, err := os.ReadFile(path)
			code.Write(data)
			return err
		}))
		for _, setting := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			require.Contains(t, code.String(), strings.TrimSuffix(setting[1], "()"), "%s: %s", row[2], row[1])
		}
	}
}

// TestReadmeQuotesNoFiguresOfItsOwn: measured figures are in the part that `make bench` writes, and nowhere
// else.
func TestReadmeQuotesNoFiguresOfItsOwn(t *testing.T) {
	text, _ := page{path: "README.md"}.read(t)
	written, err := marked.Between(text, "bench")
	require.NoError(t, err)
	translated, _ := page{path: "README.zh-CN.md"}.read(t)
	prose := regexp.MustCompile("(?s)```.*?```").ReplaceAllString(strings.ReplaceAll(text, written, "")+translated, "")
	figure := regexp.MustCompile(`\d[\d,.]*(x| ?(µs|ms|ns|s|KiB|MiB|GiB|KB|MB|GB|bytes|%|times|requests|a second|microseconds|milliseconds)\b)`)
	require.Empty(t, figure.FindAllString(prose, -1))
}

// TestReadmeIsAFrontPage: a reader has it running in a minute, and finds one table of all pages. Everything
// else has a page of its own.
func TestReadmeIsAFrontPage(t *testing.T) {
	const limit = 8 << 10
	text, blocks := page{path: "README.md"}.read(t)
	require.LessOrEqual(t, len(text), limit)
	require.Equal(t, []string{"sh server", "console alice"}, []string{blocks[0].use(), blocks[1].use()})
	require.Len(t, steps(blocks[1]), 3, "the first lock takes three commands")
	translated, _ := page{path: "README.zh-CN.md"}.read(t)
	_, table, found := strings.Cut(text, "\n## Pages\n")
	require.True(t, found)
	for _, path := range markdown(t) {
		if name, is := strings.CutPrefix(path, "docs/"); is && !strings.Contains(name, "/") {
			require.Contains(t, table, "]("+path+")", "the table of pages")
			require.Regexp(t, `\]\(docs/(zh-CN/)?`+regexp.QuoteMeta(name)+`\)`, translated, "README.zh-CN.md")
		}
	}
}

// TestLinks: what the texts link to is there, and where they name a heading, the page has it.
func TestLinks(t *testing.T) {
	links := regexp.MustCompile(`\]\(([^)#\s]*)(?:#([^)]*))?\)`)
	headings := make(map[string]map[string]bool) // of each page, by its path
	for _, path := range markdown(t) {
		page := filepath.Join(root, filepath.FromSlash(path))
		data, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range links.FindAllStringSubmatch(string(data), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			target := page
			if m[1] != "" {
				target = filepath.Join(filepath.Dir(page), filepath.FromSlash(m[1]))
			}
			_, err := os.Stat(target)
			require.NoError(t, err, "%s links to %s", page, m[1])
			if m[2] != "" && headings[target] == nil {
				headings[target] = anchors(t, target)
			}
			require.True(t, m[2] == "" || headings[target][m[2]], "%s links to %s", page, m[0])
		}
	}
}

// anchors are the names of a text's headings.
func anchors(t *testing.T, path string) map[string]bool {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	names := make(map[string]bool)
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*?)\r?$`).FindAllStringSubmatch(string(data), -1) {
		names[anchor(m[1])] = true
	}
	return names
}

// anchor is how a heading is linked to: small letters, no punctuation, hyphens for spaces.
func anchor(heading string) string {
	return strings.ReplaceAll(punctuation.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
}

var punctuation = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

// TestRunbook: each alert has a section that says what to do, and each kind of alarm a row.
func TestRunbook(t *testing.T) {
	text, _ := page{path: "docs/RUNBOOK.md"}.read(t)
	rules, err := os.ReadFile(filepath.Join(root, "docs", "grafana", "alerts.yml"))
	require.NoError(t, err)
	alerts := regexp.MustCompile(`- alert: (\S+)`).FindAllStringSubmatch(string(rules), -1)
	require.NotEmpty(t, alerts)
	for _, a := range alerts {
		require.Regexp(t, `(?m)^### `+a[1]+"\n\n\\S", text)
	}
	require.Equal(t, len(alerts), strings.Count(text, "\n### "), "a section for each alert")
	links := regexp.MustCompile(`(?m)- alert: (\S+)[^\0]*?^          runbook_url: "file://(\S+)#(\S+)"$`).FindAllStringSubmatch(string(rules), -1)
	require.Len(t, links, len(alerts), "each alert has a runbook_url")
	packed, err := os.ReadFile(filepath.Join(root, "packaging", "nfpm.yaml"))
	require.NoError(t, err)
	sections := anchors(t, filepath.Join(root, "docs", "RUNBOOK.md"))
	for i, l := range links {
		require.Equal(t, alerts[i][1], l[1])
		require.Equal(t, anchor(l[1]), l[3], "the section of %s", l[1])
		require.True(t, sections[l[3]], "%s is no section", l[3])
		require.Contains(t, string(packed), "{src: docs/RUNBOOK.md, dst: "+l[2]+",", "the package has the file")
	}
	for _, k := range raft.Kinds {
		require.Contains(t, text, "\n| `"+string(k)+"` | ")
	}
}
