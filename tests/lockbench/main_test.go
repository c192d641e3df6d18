package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOptions(t *testing.T) {
	o, err := parseOptions(nil, io.Discard)
	require.NoError(t, err)
	require.Equal(t, 3, o.Rounds)
	require.Equal(t, fullSizes(), o.sizes())
	require.True(t, o.wants("scale"))
	o, err = parseOptions([]string{"-quick", "-only", "handoff, leases"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, 1, o.Rounds)
	require.Equal(t, quickSizes(), o.sizes())
	require.True(t, o.wants("leases") && o.wants("handoff"))
	require.False(t, o.wants("scale"))
}

func TestSenselessCommandLines(t *testing.T) {
	for _, args := range [][]string{{"-only", "handof"}, {"-rounds", "0"}, {"extra"}, {"-nonsense"},
		{"-quick", "-update", "x.md"}, {"-only", "scale", "-update", "x.md"}} {
		var stderr strings.Builder
		require.Equal(t, 2, run(t.Context(), args, io.Discard, &stderr), "%v", args)
		require.NotEmpty(t, stderr.String())
	}
	require.Zero(t, run(t.Context(), []string{"-h"}, io.Discard, io.Discard))
}

func TestUpdateNeedsThePage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "LOCKS.md")
	var stderr strings.Builder
	require.Equal(t, 1, run(t.Context(), []string{"-update", path}, io.Discard, &stderr), "before anything is measured")
	require.Contains(t, stderr.String(), path+" does not exist")
	require.Contains(t, stderr.String(), beginMark)
}

func TestReplaceMarked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "LOCKS.md")
	write := func(text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o644)) }
	write("# Locks\n\n" + beginMark + "\nold\n" + endMark + "\n\nMore.\n")
	require.NoError(t, replaceMarked(path, "\n## New\n\n| a |\n### Part\n\n"))
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "# Locks\n\n"+beginMark+"\n\n### New\n\n| a |\n#### Part\n\n"+endMark+"\n\nMore.\n", string(got))
	require.NoError(t, replaceMarked(path, "## New\n\n| a |\n### Part"))
	again, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, got, again)
	for what, text := range map[string]string{
		"0 times instead of once": "no marks", "2 times instead of once": beginMark + beginMark + endMark,
		endMark + " is there 0 times": beginMark, "stands before": endMark + beginMark,
	} {
		write(text)
		require.ErrorContains(t, replaceMarked(path, "new"), what)
		left, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, text, string(left))
	}
}
