//go:build raft && unix

package raft

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/fleet"
	"lockserver/tests/testkit"
)

// TestWrongAddressesAreNoticed: a client address in raft-members at which no server answers is an alarm of
// the leader, and RAFT ADD corrects it while the member runs. A raft-listen that is not the address of
// raft-members is a line in the log of that member.
func TestWrongAddressesAreNoticed(t *testing.T) {
	program := testkit.Lockserver(t)
	g := fleet.Prepare(t, "", program, program, program)
	wrong := "127.0.0.1:" + testkit.FreePort(t)
	var right string
	for i, p := range g.Members {
		members := filepath.Join(p.Dir(), "members")
		right = g.Members[2].Addr()
		putFile(t, members, []byte(strings.ReplaceAll(string(fileText(t, members)), "/"+right, "/"+wrong)))
		if i == 1 { // localhost is the same machine, which only a resolver can tell
			conf := filepath.Join(p.Dir(), "conf")
			putFile(t, conf, []byte(strings.ReplaceAll(string(fileText(t, conf)), "raft-listen 127.0.0.1:", "raft-listen 0.0.0.0:")), []byte("raft-tls no\n"))
		}
		p.Launch()
	}
	c := g.Members[2]
	eventually(t, "there is an alarm", func() bool {
		for _, p := range g.Members {
			if strings.Contains(p.Field("raft_alarm"), "no server for clients answers at the client address of 'c': "+wrong) {
				return strings.Contains(p.Log(), "no server for clients answers at the client address of a member")
			}
		}
		return false
	})
	eventually(t, "the address is corrected", func() bool {
		for _, p := range g.Members[:2] {
			_ = c.Try("RAFT", "TRANSFER")
			if p.TryWithin(patience, "RAFT", "ADD", "c", g.RaftAt(c), right).String() == "+OK" {
				return true
			}
		}
		return false
	})
	eventually(t, "the alarm ends", func() bool {
		for _, p := range g.Members {
			if p.Field("raft_alarms") != "0" {
				return false
			}
		}
		return true
	})
	require.Contains(t, c.Try("RAFT", "MEMBERS").String(), `"client-address" "`+right+`"`)
	for _, p := range g.Members {
		require.NotContains(t, p.Log(), "has the data of a group", "a healthy member")
		require.NotContains(t, p.Log(), "raft-listen is another address")
	}

	other := fleet.Prepare(t, "", program, program, program)
	p := other.Members[0]
	conf := filepath.Join(p.Dir(), "conf")
	elsewhere := "127.0.0.1:" + testkit.FreePort(t)
	putFile(t, conf, []byte(strings.ReplaceAll(string(fileText(t, conf)), "raft-listen "+other.RaftAt(p), "raft-listen "+elsewhere)))
	p.Launch()
	eventually(t, "it says so", func() bool {
		return strings.Contains(p.Log(), "raft-listen is another address than that of this member in raft-members")
	})
}
