package tidy

import (
	"go/build/constraint"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// variable is what the Makefile gives a variable of its.
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
