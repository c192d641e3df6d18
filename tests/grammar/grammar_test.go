package grammar

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/commands"
)

// TestEveryRowIsPlayed: each row is played, except those with a reason in excluded.
func TestEveryRowIsPlayed(t *testing.T) {
	g := New()
	has := func(name string) bool {
		return slices.ContainsFunc(g.rows, func(r *commands.Row) bool { return r.FullName() == name })
	}
	for name, why := range excluded {
		require.NotEmpty(t, why, name)
		require.NotContains(t, g.special, name)
	}
	for name := range g.special {
		require.True(t, has(name), "%s is no command", name)
	}
	for name := range weights {
		require.True(t, has(name), "%s is no command", name)
	}
}
