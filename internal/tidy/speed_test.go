package tidy

import (
	"go/build/constraint"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// mostTestPackages is how many packages of the module may have tests without a build tag. Each is a program
// that go test compiles, vets and links. From an empty build cache that takes a second or two of a processor.
const mostTestPackages = 89

// ofAnotherModule reports whether a directory or one above it has a go.mod that is not the root's.
func ofAnotherModule(path string) bool {
	for dir := filepath.Dir(filepath.FromSlash(path)); dir != "."; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(root, dir, "go.mod")); err == nil {
			return true
		}
	}
	return false
}

// constraintOf returns the build constraint of a file; nil: it has none.
func constraintOf(t *testing.T, s *source) constraint.Expr {
	for line := range strings.Lines(string(s.text)) {
		if strings.HasPrefix(line, "package ") {
			break
		}
		if constraint.IsGoBuild(line) {
			is, err := constraint.Parse(strings.TrimSpace(line))
			require.NoError(t, err, s.path)
			return is
		}
	}
	return nil
}

// TestNumberOfTestPackages: a small package has its tests beside those of a package that uses it.
func TestNumberOfTestPackages(t *testing.T) {
	var packages []string
	for _, s := range sources(t) {
		if !s.test || slices.Contains(packages, s.pkg) || ofAnotherModule(s.path) {
			continue
		}
		is := constraintOf(t, s)
		if is == nil || is.Eval(func(tag string) bool { return tag == "linux" || tag == "unix" }) {
			packages = append(packages, s.pkg)
		}
	}
	require.NotEmpty(t, packages)
	require.LessOrEqual(t, len(packages), mostTestPackages, "%s", strings.Join(packages, "\n"))
}
