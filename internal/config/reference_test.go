package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Every directive with an effect has a description. Directives that are accepted without effect or refused
// are listed apart.
func TestEveryDirectiveIsExplained(t *testing.T) {
	r := NewReference()
	defaults := Default()
	seen := 0
	for _, s := range r.Sections {
		require.NotEmpty(t, s.Title)
		for _, e := range s.Entries {
			require.NotEmpty(t, e.Doc, e.Names[0])
			require.NotContains(t, e.Doc, "|", "%s: it is in a table", e.Names[0])
			if lookup(e.Names[0]).When != inFile {
				require.Len(t, defaults.Get(e.Names[0]), 2, e.Names[0])
			}
			seen++
		}
	}
	for _, refused := range r.Refused {
		require.NotEmpty(t, refused.Reason)
		for _, name := range refused.Names {
			if name == lookup(name).Name {
				seen++
			}
		}
	}
	require.Len(t, directives, seen+len(r.Accepted))
	require.NotEmpty(t, r.Accepted)
}

// TestChoicesAreTaken: each directive accepts all words that the page lists for it.
func TestChoicesAreTaken(t *testing.T) {
	seen := 0
	for _, s := range NewReference().Sections {
		for _, e := range s.Entries {
			for _, word := range e.Words {
				_, err := Parse("f", []byte(e.Names[0]+" "+word), Files{})
				require.NoError(t, err, "%s %s", e.Names[0], word)
				seen++
			}
		}
	}
	require.Greater(t, seen, 50)
}
