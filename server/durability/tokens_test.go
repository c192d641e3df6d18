package durability

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/store"
)

// limitIn is the limit that a directory holds.
func limitIn(t *testing.T, dir string) int64 {
	t.Helper()
	limit, err := readTokenLimit(filepath.Join(dir, tokenFile))
	require.NoError(t, err)
	return limit
}

// No token is above what the file says, whatever the clock does; and all rise.
func TestTokensStayBelowTheLimit(t *testing.T) {
	dir := t.TempDir()
	var tokens tokens
	_, err := tokens.keepIn(dir, atUS)
	require.NoError(t, err)
	require.EqualValues(t, atUS+tokenBlockUS, limitIn(t, dir))
	last := int64(0)
	for _, step := range []struct{ nowUS, floor int64 }{
		{atUS, 0}, {atUS, 0}, {atUS - 5*tokenBlockUS, 0}, {atUS + tokenBlockUS, 0}, {atUS + tokenBlockUS + 1, 0}, // the last is above the limit
		{atUS + 9*tokenBlockUS, 0}, {atUS, atUS + 20*tokenBlockUS}, {atUS, 0},
	} {
		token := tokens.next(step.nowUS, step.floor)
		require.Greater(t, token, max(last, step.floor))
		require.LessOrEqual(t, token, limitIn(t, dir))
		last = token
	}
}

// New tokens are above those in the data, unless that would leave no token to give out.
func TestTokensInTheData(t *testing.T) {
	var tokens tokens
	tokens.seen(atUS, atUS+1000)
	require.EqualValues(t, atUS+1001, tokens.next(atUS, 0))
	tokens.seen(atUS, store.MaxToken)
	require.EqualValues(t, atUS+1002, tokens.next(atUS, 0))
}

// A directory that cannot be written leaves the tokens to the clock, and keepIn changes nothing there.
func TestTokensWhereNothingCanBeWritten(t *testing.T) {
	dir, none := t.TempDir(), filepath.Join(t.TempDir(), "none")
	var tokens tokens
	_, err := tokens.keepIn(dir, atUS)
	require.NoError(t, err)
	before := tokens
	_, err = tokens.keepIn(none, atUS)
	require.Error(t, err)
	require.Equal(t, before, tokens)

	require.NoError(t, os.RemoveAll(dir))
	token := tokens.next(atUS+2*tokenBlockUS, 0)
	require.EqualValues(t, atUS+2*tokenBlockUS, token)
	require.Error(t, tokens.err)
	require.True(t, tokens.due(atUS+2*tokenBlockUS), "it is tried again")
	require.Equal(t, token+1, tokens.next(atUS, 0))
}

// Going back to the directory before leaves what was found in the other.
func TestUndoneMoveOfTheLimit(t *testing.T) {
	from, empty, full := t.TempDir(), t.TempDir(), t.TempDir()
	const found = 1_900_000_000_000_000
	require.NoError(t, writeTokenLimit(filepath.Join(full, tokenFile), found))
	var tokens tokens
	_, err := tokens.keepIn(from, atUS)
	require.NoError(t, err)
	before := tokens
	for _, to := range []string{empty, full} {
		undo, err := tokens.keepIn(to, atUS)
		require.NoError(t, err)
		require.Greater(t, limitIn(t, to), int64(0))
		undo()
		require.Equal(t, before, tokens)
	}
	require.NoFileExists(t, filepath.Join(empty, tokenFile))
	require.EqualValues(t, found, limitIn(t, full))
}
