package main

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRevision(t *testing.T) {
	setting := func(key, value string) debug.BuildSetting { return debug.BuildSetting{Key: key, Value: value} }
	for want, settings := range map[[2]string][]debug.BuildSetting{
		{}: {setting("vcs.modified", "true")},
		{"0123456789ab", "2026-01-02T03:04:05Z"}: {setting("vcs.revision", "0123456789abcdef"),
			setting("vcs.time", "2026-01-02T03:04:05Z"), setting("vcs.modified", "false")},
		{"0123456789ab-dirty"}: {setting("vcs.modified", "true"), setting("vcs.revision", "0123456789abcdef")},
		{"0123"}:               {setting("vcs.revision", "0123")},
	} {
		commit, date := revision(&debug.BuildInfo{Settings: settings})
		require.Equal(t, want, [2]string{commit, date})
	}
}
