package raft

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestUsersInForceAreCompared: the checksum of a member is another one if it does not go by the users that
// the log has come to. With users of its own, and while it reads its log again, that is not asked.
func TestUsersInForceAreCompared(t *testing.T) {
	m, s := leads(&slowTransfer{})
	sum := func() string {
		version, sum := m.usersSum()
		return version + " " + sum
	}
	s.others = []string{"alice"}
	require.Equal(t, " ", sum(), "the group has changed no users")
	m.users = groupUsers{changes: 2, lines: []string{"alice on nopass"}}
	m.shownUsers = m.users
	differs := sum()
	require.Contains(t, differs, "u2 ")
	s.others = []string{"alice", "bob"}
	require.NotEqual(t, differs, sum(), "two such members differ, too")
	s.others = nil
	same := sum()
	require.NotEqual(t, differs, same)

	s.others = []string{"alice"}
	m.options.OwnUsers = true
	require.Equal(t, same, sum())
	m.options.OwnUsers = false
	m.shownUsers.changes++
	require.Equal(t, same, sum())
}
