package tidy

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mostInCycle bounds the files of a package that all depend on each other: a cycle is one subject, however
// many files it has. The number goes down, not up.
const mostInCycle = 12

// TestCyclesOfFiles counts, for each package, the largest set of files that all depend on each other. A file
// depends on another one of its package that declares a name which it uses. Imports are not followed, so what
// comes through a type of another package is not seen.
func TestCyclesOfFiles(t *testing.T) {
	packages := map[string][]*source{}
	for _, s := range sources(t) {
		fits, err := build.Default.MatchFile(filepath.Join(root, path.Dir(s.path)), path.Base(s.path))
		require.NoError(t, err)
		if fits && !s.test && !isBelow(s.path, "client", "clients", "examples", "packaging", "tests") {
			packages[path.Dir(s.path)] = append(packages[path.Dir(s.path)], s)
		}
	}
	require.Greater(t, len(packages), 50)
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		cycle := largestCycle(arrowsOf(t, dir, packages[dir]))
		assert.LessOrEqual(t, len(cycle), mostInCycle, "%s: these files all depend on each other: %s", dir, strings.Join(cycle, " "))
	}
}

// isBelow reports whether a path is below one of some directories.
func isBelow(of string, dirs ...string) bool {
	first, _, _ := strings.Cut(of, "/")
	return slices.Contains(dirs, first)
}

// arrowsOf returns, by file of a package, the files that it depends on.
func arrowsOf(t *testing.T, dir string, list []*source) map[string]map[string]bool {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	arrows := map[string]map[string]bool{}
	for _, s := range list {
		f, err := parser.ParseFile(fset, filepath.Join(root, s.path), nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		files, arrows[path.Base(s.path)] = append(files, f), map[string]bool{}
	}
	uses := map[*ast.Ident]types.Object{}
	check := types.Config{Importer: noImports{}, Error: func(error) {}}
	pkg, _ := check.Check(dir, fset, files, &types.Info{Uses: uses}) // the errors are about imports
	name := func(at token.Pos) string { return filepath.Base(fset.Position(at).Filename) }
	for id, of := range uses {
		if _, imported := of.(*types.PkgName); !imported && of.Pkg() == pkg && of.Pos().IsValid() && name(id.Pos()) != name(of.Pos()) {
			arrows[name(id.Pos())][name(of.Pos())] = true
		}
	}
	return arrows
}

// largestCycle returns the largest strongly connected component of a graph, in order. It is Tarjan's
// algorithm.
func largestCycle(arrows map[string]map[string]bool) (largest []string) {
	index, low, waits := map[string]int{}, map[string]int{}, map[string]bool{}
	var stack []string
	var visit func(file string)
	visit = func(file string) {
		index[file] = len(index) + 1
		low[file], waits[file] = index[file], true
		stack = append(stack, file)
		for to := range arrows[file] {
			if index[to] == 0 {
				visit(to)
				low[file] = min(low[file], low[to])
			} else if waits[to] {
				low[file] = min(low[file], index[to])
			}
		}
		if low[file] != index[file] {
			return
		}
		from := slices.Index(stack, file)
		cycle := slices.Sorted(slices.Values(stack[from:]))
		for _, of := range cycle {
			waits[of] = false
		}
		if stack = stack[:from]; len(cycle) > len(largest) {
			largest = cycle
		}
	}
	for _, file := range slices.Sorted(maps.Keys(arrows)) {
		if index[file] == 0 {
			visit(file)
		}
	}
	return largest
}

// TestLargestCycle: of two cycles it is the larger one, and a file that nothing depends on is in none.
func TestLargestCycle(t *testing.T) {
	require.Equal(t, []string{"c", "d", "e"}, largestCycle(map[string]map[string]bool{
		"a": {"b": true}, "b": {"a": true, "c": true}, "c": {"d": true}, "d": {"e": true}, "e": {"c": true}, "f": {"a": true}}))
	require.Len(t, largestCycle(map[string]map[string]bool{"a": {"b": true}, "b": {}}), 1)
}
