package tidy

import (
	"go/ast"
	"go/build/constraint"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// variable returns the words of a variable of the Makefile.
func variable(t *testing.T, name string) (words []string) {
	t.Helper()
	m := regexp.MustCompile(`(?m)^` + name + ` = (.*)$`).FindStringSubmatch(page(t, "Makefile"))
	require.NotNil(t, m, name)
	return strings.Fields(m[1])
}

// TestEveryTagIsLookedAt: make vet and make lint look at files of every build tag that is one of ours.
func TestEveryTagIsLookedAt(t *testing.T) {
	known := strings.Split(strings.Join(variable(t, "TAGS"), ","), ",")
	used := map[string]bool{}
	theirs := []string{"race", "unix", "linux", "darwin", "windows", "dragonfly", "freebsd", "netbsd", "openbsd"}
	for _, s := range sources(t) {
		for line := range strings.Lines(string(s.text)) {
			if strings.HasPrefix(line, "package ") {
				break
			}
			if !constraint.IsGoBuild(line) {
				continue
			}
			is, err := constraint.Parse(strings.TrimSpace(line))
			require.NoError(t, err, s.path)
			is.Eval(func(tag string) bool {
				if !slices.Contains(theirs, tag) {
					used[tag] = true
					require.Contains(t, known, tag, "%s: TAGS in the Makefile does not name it", s.path)
				}
				return true
			})
		}
	}
	require.Len(t, used, len(known))
}

// TestSequentialPackages: the packages that make race tests without the race detector, and our packages that
// they import, start no goroutines. The exceptions are the tests that the Makefile names.
func TestSequentialPackages(t *testing.T) {
	sequential, exceptions := variable(t, "SEQUENTIAL"), variable(t, "CONCURRENT")
	used, seen := slices.Clone(sequential), map[string]bool{}
	for len(used) > 0 {
		pkg := used[0]
		used = used[1:]
		if seen[pkg] {
			continue
		}
		seen[pkg] = true
		for _, s := range sources(t) {
			if s.pkg != pkg || s.test && (!slices.Contains(sequential, pkg) || strings.HasSuffix(s.path, "_oracle_test.go")) {
				continue
			}
			if !s.test {
				used = append(used, s.imports()...)
			}
			for _, d := range s.file.Decls {
				if f, ok := d.(*ast.FuncDecl); !ok || !s.test || !slices.Contains(exceptions, f.Name.Name) {
					require.False(t, begins(d), "%s: %s begins something that runs beside it", s.path, pkg)
				}
			}
		}
	}
	require.True(t, seen[module+"/store"])
}

// begins says whether something in a declaration begins a goroutine, or has the testing package do so.
func begins(d ast.Decl) (found bool) {
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.SelectorExpr:
			found = found || slices.Contains([]string{"Go", "Parallel", "RunParallel", "AfterFunc"}, n.Sel.Name)
		}
		return !found
	})
	return found
}
