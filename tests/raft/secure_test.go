//go:build raft && unix

package raft

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/fleet"
	"lockserver/tests/testkit"
)

// demanding makes the folder of certificates for processes that speak TLS only, to members and to clients.
func demanding(t *testing.T) (secure *fleet.Secure, conf string) {
	t.Helper()
	by, folder := testkit.NewAuthority(t), t.TempDir()
	put := func(name, from string) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), fileText(t, from), 0o600))
	}
	put("ca.crt", by.File)
	for _, name := range []string{"server", "client"} {
		i := by.Issue(name, time.Now().Add(time.Hour))
		put(name+".crt", i.CertFile)
		put(name+".key", i.KeyFile)
	}
	return fleet.Demanding(t, folder), "raft-tls yes\n"
}

// TestMemberIsReplacedWhereAllIsEncrypted: the documented steps that replace a member, or a lost majority,
// work with servers that have no port without TLS. A new member has no raft-members.
func TestMemberIsReplacedWhereAllIsEncrypted(t *testing.T) {
	program := testkit.Lockserver(t)
	secure, conf := demanding(t)
	g := fleet.FormSecure(t, secure, conf, program, program, program)
	leader := g.AwaitLeader()
	require.Equal(t, "+OK", leader.Try("SET", "shop:x", "1").String())
	require.Equal(t, leader.Port, leader.Field("tcp_port"), "as in Redis: the port for TLS if there is no other")
	join := func() {
		t.Helper()
		p := g.Add(program, conf)
		p.Launch()
		eventually(t, "it waits for RAFT ADD", func() bool { return p.Field("raft_waiting") != "" })
		require.Equal(t, "+OK", leader.TryWithin(patience, "RAFT", "ADD", g.ID(p), g.RaftAt(p), p.Addr()).String())
		eventually(t, "it follows", func() bool {
			return p.Field("raft_leader_address") == leader.Addr() && p.Field("raft_role") == "follower"
		})
	}
	gone := g.Others(leader)
	gone[0].Kill()
	require.Equal(t, "+OK", leader.TryWithin(patience, "RAFT", "REMOVE", g.ID(gone[0])).String())
	join()

	for _, p := range g.Others(leader) {
		p.Kill()
	}
	leader.Kill()
	mustTool(t, "recover", "--dir", leader.Dir(), "--i-accept-data-loss")
	leader.Launch()
	eventually(t, "it leads alone", func() bool { return leader.Field("raft_role") == "leader" })
	join()
	require.Equal(t, `"1"`, leader.Try("GET", "shop:x").String())
}
