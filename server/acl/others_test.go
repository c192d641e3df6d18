package acl

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOthers: users that were adopted are as their lines say, also those that are off because of a rule that
// is not known. Each way to be another user is found.
func TestOthers(t *testing.T) {
	h := newHouse()
	lines := []string{"alice on nopass sanitize-payload ~shop:* resetchannels -@all +get", "bob on nopass +unheardof"}
	require.Equal(t, []string{"alice", "bob"}, h.users.Others(lines))
	_, faults := h.users.Adopt(lines)
	require.Len(t, faults, 1)
	require.Empty(t, h.users.Others(lines))
	withDefault := append(lines, "default on nopass sanitize-payload ~* &* +@all")
	require.Empty(t, h.users.Others(withDefault))
	h.users.SetDefaultPassword("secret")
	require.Equal(t, []string{"default"}, h.users.Others(withDefault))
	require.Empty(t, h.users.Others(lines))
	require.Equal(t, []string{"bob"}, h.users.Others(lines[:1]), "he is one more")
	_, _ = h.users.Adopt([]string{"alice on nopass sanitize-payload ~bank:* resetchannels -@all +get", lines[1]})
	require.Equal(t, []string{"alice"}, h.users.Others(lines))
}
