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
const mostTestPackages = 94

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
		if byDefault(t, s) {
			packages = append(packages, s.pkg)
		}
	}
	require.NotEmpty(t, packages)
	require.LessOrEqual(t, len(packages), mostTestPackages, "%s", strings.Join(packages, "\n"))
}

// byDefault reports whether go test compiles a file without a tag.
func byDefault(t *testing.T, s *source) bool {
	is := constraintOf(t, s)
	return is == nil || is.Eval(func(tag string) bool { return tag == "linux" || tag == "unix" })
}

// waits are the packages in which most of the time of the tests is spent waiting.
var waits = []string{"cmd/lockserver", "internal/demo", "lockservertest", "server", "tests/client", "tests/raft", "tests/readme",
	"tests/replication"}

// TestManyAtOnce: tests that wait run eight at a time, also when no tag is given. A TestMain behind a tag is
// left out of go test ./..., and with it what it sets.
func TestManyAtOnce(t *testing.T) {
	var found []string
	for _, s := range sources(t) {
		if s.test && byDefault(t, s) && strings.Contains(string(s.text), "\ttestkit.ManyAtOnce()\n") {
			found = append(found, strings.TrimPrefix(s.pkg, module+"/"))
		}
	}
	slices.Sort(found)
	require.Equal(t, waits, found)
}
