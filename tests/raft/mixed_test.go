//go:build raft && unix

package raft

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/fleet"
	"lockserver/tests/testkit"
)

// TestGroupsAreMixedUp: a member of one group is added by mistake to another group of the same name. It is
// refused with the reason. Both groups keep their data.
func TestGroupsAreMixedUp(t *testing.T) {
	all := processes(t, 3)
	for _, p := range all {
		p.Start()
	}
	eventually(t, "this group serves", func() bool { return leaderOf(t, all).Try("SET", "whose", "ours").Str == "OK" })
	at := "127.0.0.1:" + testkit.FreePort(t)
	alone := fleet.NewProcess(t, testkit.Lockserver(t), "raft-id d\nraft-listen "+at+"\ninclude members\n")
	require.NoError(t, os.WriteFile(filepath.Join(alone.Dir(), "members"), []byte("raft-members d="+at+"/"+alone.Addr()+"\n"), 0o600))
	alone.Start()
	eventually(t, "the other serves", func() bool { return alone.Try("SET", "whose", "theirs").Str == "OK" })
	eventually(t, "it is refused, with the reason", func() bool {
		said := leaderOf(t, all).Try("RAFT", "ADD", "d", at, alone.Addr()).Str
		return strings.Contains(said, "of another group, with the id "+alone.Field("raft_group_id")) && strings.Contains(said, "raft-group")
	})
	eventually(t, "its group is as it was", func() bool { return alone.Try("GET", "whose").Str == "theirs" })
	eventually(t, "nobody knows it", func() bool { return len(leaderOf(t, all).Try("RAFT", "MEMBERS").Elems) == 3 })
	eventually(t, "this group is as it was", func() bool { return leaderOf(t, all).Try("GET", "whose").Str == "ours" })
}
