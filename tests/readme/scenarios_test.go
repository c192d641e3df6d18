package readme

import (
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/scenarios"
)

// TestScenariosAreTheResultOfARun: docs/CLIENTS.md shows the results of the last run with WRITE=1, for each
// client.
func TestScenariosAreTheResultOfARun(t *testing.T) {
	text, err := os.ReadFile("../../docs/scenarios.json")
	require.NoError(t, err)
	r, err := scenarios.ReadReport(text)
	require.NoError(t, err)
	is, err := os.ReadFile("../../docs/CLIENTS.md")
	require.NoError(t, err)
	should, err := r.Into(string(is))
	require.NoError(t, err)
	require.Equal(t, should, string(is), "run 'make scenarios WRITE=1'")
	for _, name := range scenarios.Names {
		for _, client := range scenarios.Clients {
			require.NotEmpty(t, r.Results[name][client], "%s of %s", name, client)
		}
	}
}

// TestEachScenarioIsDescribed: clients/SCENARIOS.md describes all scenarios.
func TestEachScenarioIsDescribed(t *testing.T) {
	spec, err := os.ReadFile("../../clients/SCENARIOS.md")
	require.NoError(t, err)
	for _, name := range scenarios.Names {
		require.Contains(t, string(spec), "`"+name+"`")
	}
	require.True(t, slices.IsSorted(scenarios.Clients))
}
