package scenarios

import (
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	page     = "../../docs/CLIENTS.md"
	saved    = "../../docs/scenarios.json"
	specPath = "../../clients/SCENARIOS.md"
)

// TestTheTableIsTheResultOfARun: docs/CLIENTS.md shows what the last run with WRITE=1 has found, for
// each client.
func TestTheTableIsTheResultOfARun(t *testing.T) {
	text, err := os.ReadFile(saved)
	require.NoError(t, err)
	r, err := ReadReport(text)
	require.NoError(t, err)
	is, err := os.ReadFile(page)
	require.NoError(t, err)
	should, err := r.Into(string(is))
	require.NoError(t, err)
	require.Equal(t, should, string(is), "run 'make scenarios WRITE=1'")
	for _, name := range Names {
		for _, client := range Clients {
			require.NotEmpty(t, r.Results[name][client], "%s of %s", name, client)
		}
	}
}

// TestEachScenarioIsDescribed: clients/SCENARIOS.md has all of them.
func TestEachScenarioIsDescribed(t *testing.T) {
	spec, err := os.ReadFile(specPath)
	require.NoError(t, err)
	for _, name := range Names {
		require.Contains(t, string(spec), "`"+name+"`")
	}
	require.True(t, slices.IsSorted(Clients))
}

func TestInto(t *testing.T) {
	r := Report{Date: "2026-11-27", Results: map[string]map[string]string{"reasons": {"go": "all"}}}
	text, err := r.Into("before\n" + tableBegin + "old\n" + tableEnd + "after\n")
	require.NoError(t, err)
	require.Contains(t, text, "before\n"+tableBegin)
	require.Contains(t, text, "\n| `reasons` | all | not run | not run | not run |\n")
	require.Contains(t, text, tableEnd+"after\n")
	require.NotContains(t, text, "old")
	again, err := r.Into(text)
	require.NoError(t, err)
	require.Equal(t, text, again)
	_, err = r.Into("no place")
	require.Error(t, err)
	saved, err := r.JSON()
	require.NoError(t, err)
	back, err := ReadReport(saved)
	require.NoError(t, err)
	require.Equal(t, r, back)
}
