//go:build scenarios

package scenarios

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	page  = "../../docs/CLIENTS.md"
	saved = "../../docs/scenarios.json"
)

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
