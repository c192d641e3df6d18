package server

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/server/acl"
)

// TestOtherUsersThanTheGroups: a member knows if it does not go by the users of its group. With
// requirepass-file the password of the user default is its own.
func TestOtherUsersThanTheGroups(t *testing.T) {
	h := raftHost{toNowhere(t).executor}
	lines := []string{"alice on nopass sanitize-payload ~shop:* resetchannels -@all +get", "default on nopass sanitize-payload ~* &* +@all"}
	require.Equal(t, []string{"alice"}, h.OtherUsers(lines))
	h.SetUsers(lines, false)
	require.Empty(t, h.OtherUsers(lines))
	h.users.SetDefaultPassword("own")
	require.Equal(t, []string{acl.DefaultName}, h.OtherUsers(lines))
	h.config = h.config.Clone()
	h.config.RequirePassFile = "a file"
	require.Empty(t, h.OtherUsers(lines))
	h.SetUsers(lines[1:], false)
	require.Equal(t, []string{"alice"}, h.OtherUsers(lines))
}
