package store

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/store/cow"
)

func TestNothingIsSharedWithoutASnapshot(t *testing.T) {
	var e cow.Epoch
	require.False(t, e.Shared(e.Now()))
	require.Zero(t, e.Active())
}

func TestCutSharesWhatCameBefore(t *testing.T) {
	var e cow.Epoch
	before := e.Now()
	e.Cut()
	require.True(t, e.Shared(before))
	require.False(t, e.Shared(e.Now()), "what is cloned after the cut is the writer's own")
	e.Release()
	require.False(t, e.Shared(before))
}

func TestSharingEndsWithTheLastSnapshot(t *testing.T) {
	var e cow.Epoch
	first := e.Now()
	e.Cut()
	second := e.Now()
	require.False(t, e.Shared(second))
	e.Cut()
	require.Equal(t, 2, e.Active())
	require.True(t, e.Shared(first))
	require.True(t, e.Shared(second), "a clone made for the first snapshot belongs to the second")
	e.Release()
	require.True(t, e.Shared(first))
	require.True(t, e.Shared(second))
	e.Release()
	require.False(t, e.Shared(first))
	require.False(t, e.Shared(second))
	e.Cut()
	require.True(t, e.Shared(second), "a stamp from an earlier epoch is older than any later cut")
	e.Release()
}

func TestReleaseWithoutCutPanics(t *testing.T) {
	var e cow.Epoch
	require.Panics(t, e.Release)
}
