package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCheckSystem: the command measures a directory, leaves no files there, and refuses a directory that
// does not exist.
func TestCheckSystem(t *testing.T) {
	dir := t.TempDir()
	_, out, errs := check("--system", dir)
	require.Contains(t, out, "[disk-sync]...")
	require.Contains(t, out, "[open-files]...")
	require.Empty(t, errs)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
	code, _, errs := check("--system", filepath.Join(dir, "missing"))
	require.Equal(t, 1, code)
	require.Contains(t, errs, "cannot be measured")
	code, _, errs = check("--system", dir, dir)
	require.Equal(t, 1, code)
	require.Contains(t, errs, "Usage")
}
