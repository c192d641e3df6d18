//go:build raft && unix

package raft

import (
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/fleet"
	"lockserver/tests/testkit"
)

// TestEncryptedMembers: with raft-tls members agree over TLS. A peer without a certificate of their authority
// is refused, and so is a peer that does not encrypt. Each refusal is a line in the log.
func TestEncryptedMembers(t *testing.T) {
	program := testkit.Lockserver(t)
	ours, theirs := testkit.NewAuthority(t), testkit.NewAuthority(t)
	own := ours.Issue("member", time.Now().Add(time.Hour))
	strange := theirs.Issue("stranger", time.Now().Add(time.Hour))
	g := fleet.Form(t, fmt.Sprintf("raft-tls yes\ntls-cert-file %s\ntls-key-file %s\ntls-ca-cert-file %s\n", own.CertFile, own.KeyFile, ours.File),
		program, program, program)
	leader := g.AwaitLeader()
	require.Equal(t, "+OK", leader.Try("SET", "x", "1").String())
	leader.Kill()
	next := g.Successor(leader)
	require.Equal(t, `"1"`, next.Try("GET", "x").String())
	leader.Start()
	g.Same(g.AwaitLeader())

	to := g.RaftAt(next)
	greeting := greetingOf(g, leader, next) + "\n"
	greet := func(conn net.Conn, err error) string {
		require.NoError(t, err)
		defer func() { _ = conn.Close() }()
		require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
		if _, err = conn.Write([]byte(greeting)); err != nil {
			return err.Error()
		}
		answer := make([]byte, 100)
		n, err := conn.Read(answer)
		if err != nil {
			return err.Error()
		}
		return string(answer[:n])
	}
	dial := func(certs ...tls.Certificate) string {
		return greet(tls.Dial("tcp", to, &tls.Config{RootCAs: ours.Pool(), Certificates: certs}))
	}
	require.Contains(t, dial(own.Certificate), "+ "+next.Field("raft_group_id"))
	refused := func() int {
		return strings.Count(next.Log(), "a connection is refused")
	}
	for name, try := range map[string]func() string{
		"no certificate":      func() string { return dial() },
		"another authority's": func() string { return dial(strange.Certificate) },
		"not encrypted":       func() string { return greet(net.Dial("tcp", to)) },
	} {
		before := refused()
		require.NotContains(t, try(), "+", name)
		eventually(t, name+" is in the log", func() bool { return refused() > before })
	}
}
