package tidy

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	// usesAction matches what a step of a workflow uses.
	usesAction = regexp.MustCompile(`uses: (.*)`)
	// pinnedAction matches an action by the digest of a commit. Dependabot reads and writes the comment.
	pinnedAction = regexp.MustCompile(`^[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
)

// TestActionsArePinned: a tag such as v4 can be moved to other code, the digest of a commit can not.
func TestActionsArePinned(t *testing.T) {
	files, err := filepath.Glob("../../.github/workflows/*.yml")
	require.NoError(t, err)
	uses := 0
	for _, path := range files {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, m := range usesAction.FindAllStringSubmatch(string(text), -1) {
			uses++
			require.Regexpf(t, pinnedAction, m[1], "%s: the action has no digest, or no version behind it", path)
		}
	}
	require.GreaterOrEqual(t, uses, 10)
}

// TestDependabotKnowsThePackages: each package that other programs depend on has its libraries looked after.
func TestDependabotKnowsThePackages(t *testing.T) {
	text, err := os.ReadFile("../../.github/dependabot.yml")
	require.NoError(t, err)
	for _, dir := range []string{"/", "/client", "/clients/java", "/clients/node", "/clients/python"} {
		require.DirExists(t, "../.."+dir)
		require.Containsf(t, string(text), `"`+dir+`"`, "dependabot.yml does not have %s", dir)
	}
}

// TestChangelogAndReadmeAgree: the README says that no version is tagged, and CHANGELOG.md gives none a date.
func TestChangelogAndReadmeAgree(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	changes, err := os.ReadFile("../../CHANGELOG.md")
	require.NoError(t, err)
	dated := regexp.MustCompile(`(?m)^## \[\d+\.\d+\.\d+\] - \d{4}-`).Match(changes)
	require.NotEqual(t, strings.Contains(string(readme), "is not tagged yet"), dated)
}
