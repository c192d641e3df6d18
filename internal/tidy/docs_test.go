package tidy

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var root = filepath.Join("..", "..")

// inBackquotes are the words of a page that stand in backquotes.
var inBackquotes = regexp.MustCompile("`([^`\n]+)`")

func page(t *testing.T, parts ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{root}, parts...)...))
	require.NoError(t, err)
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

// listed returns the words in backquotes in the first column of the tables of a text.
func listed(text string) (names []string) {
	for line := range strings.Lines(text) {
		if cells := strings.Split(line, "|"); len(cells) > 2 && strings.HasPrefix(line, "|") {
			for _, m := range inBackquotes.FindAllStringSubmatch(cells[1], -1) {
				names = append(names, m[1])
			}
		}
	}
	return names
}

// TestEveryPackageIsOnTheMap: each package, and each directory of tests/, is in the list of
// docs/ARCHITECTURE.md, once, and nothing else is.
func TestEveryPackageIsOnTheMap(t *testing.T) {
	_, section, found := strings.Cut(page(t, "docs", "ARCHITECTURE.md"), "\n## Every package\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	there := make(map[string]bool)
	for _, s := range sources(t) {
		dir := path.Dir(s.path)
		if parts := strings.Split(dir, "/"); parts[0] == "tests" {
			dir = path.Join(parts[:min(2, len(parts))]...)
		}
		there[dir] = true
	}
	dirs, err := os.ReadDir(filepath.Join(root, "tests"))
	require.NoError(t, err)
	for _, d := range dirs {
		if d.IsDir() {
			there["tests/"+d.Name()] = true
		}
	}
	names := listed(section)
	for dir := range there {
		require.Contains(t, names, dir, "docs/ARCHITECTURE.md does not say what %s is for", dir)
	}
	for i, name := range names {
		require.True(t, there[name], "docs/ARCHITECTURE.md lists %s, which is not there", name)
		require.Equal(t, i, slices.Index(names, name), "docs/ARCHITECTURE.md lists %s twice", name)
	}
}

// modules are the directories of the tree that are modules of their own.
func modules() []string {
	return []string{".", "client", "client/otellocks", "client/prometheuslocks", "examples", "packaging", "tests/bench", "tests/clients/go", "tests/comparison", "tests/console"}
}

// TestEveryDependencyIsJustified: the direct requirements of each go.mod of the tree are in the decision
// about dependencies, and nothing else is.
func TestEveryDependencyIsJustified(t *testing.T) {
	names := listed(page(t, "docs", "decisions", "0006-dependencies.md"))
	required := make(map[string]bool)
	for _, dir := range modules() {
		direct := directDependencies(page(t, dir, "go.mod"))
		require.NotEmpty(t, direct, dir)
		for _, name := range direct {
			required[name] = true
			require.Contains(t, names, name, "%s/go.mod requires what docs/decisions/0006-dependencies.md does not name", dir)
		}
	}
	for _, name := range names {
		require.True(t, required[name], "docs/decisions/0006-dependencies.md names %s, which no go.mod requires", name)
	}
}

// TestEveryModuleIsLookedAt: the modules of the tree are those that the other tests know.
func TestEveryModuleIsLookedAt(t *testing.T) {
	var found []string
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == ".git" || d.Name() == "bin" || d.Name() == "dist" || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if err == nil && d.Name() == "go.mod" {
			rel, err := filepath.Rel(root, path)
			require.NoError(t, err)
			found = append(found, filepath.ToSlash(filepath.Dir(rel)))
		}
		return err
	})
	require.NoError(t, err)
	require.ElementsMatch(t, modules(), found)
}

// TestServerHasNoDependencyOfBenchmarks: what lockserver is compared with is required by other modules.
func TestServerHasNoDependencyOfBenchmarks(t *testing.T) {
	text := page(t, "go.mod")
	for _, name := range []string{"redsync", "redislock", "miniredis", "rueidis", "etcd/server"} {
		require.NotContains(t, text, name)
	}
	for _, s := range sources(t) {
		if strings.HasPrefix(s.path, "tests/bench/") {
			continue
		}
		for _, i := range s.imports() {
			require.False(t, strings.HasPrefix(i, module+"/tests/bench"), "%s imports %s, which is in another module", s.path, i)
		}
	}
}

// directDependencies are the modules that the text of a go.mod requires, without those that
// come with another and our own.
func directDependencies(text string) (names []string) {
	inside := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		one, single := strings.CutPrefix(line, "require ")
		switch {
		case line == "require (":
			inside = true
			continue
		case line == ")":
			inside = false
		case single:
			line = one
		}
		words := strings.Fields(line)
		if (inside || single) && len(words) >= 2 && !ours(words[0]) && !strings.HasSuffix(line, "// indirect") {
			names = append(names, words[0])
		}
	}
	return names
}

// ours reports whether a module is one of this tree.
func ours(path string) bool { return path == module || strings.HasPrefix(path, module+"/") }

func TestDirectDependencies(t *testing.T) {
	require.Equal(t, []string{"a.b/c", "d.e/f", "g.h/i"}, directDependencies(
		"module x\n\ngo 1.26\n\nrequire a.b/c v1.0.0\nrequire (\n\td.e/f v1 // why\n\tg.h/i v2\n\tj.k/l v3 // indirect\n\t"+module+" v0\n\t"+module+"/client v0\n)\n"+
			"require (\n\tm.n/o v1 // indirect\n)\nreplace "+module+" => ../\n"))
}
