//go:build raft && unix

package raft

import (
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/fleet"
	"lockserver/tests/testkit"
)

// said returns the answer of a member to a caller with a certificate. The caller sends the first line.
func said(t *testing.T, at string, by testkit.Issued, first string) string {
	t.Helper()
	conn, err := tls.Dial("tcp", at, &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{by.Certificate}})
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	if _, err = conn.Write([]byte(first + "\n")); err != nil {
		return err.Error()
	}
	answer := make([]byte, 1000)
	n, err := conn.Read(answer)
	if err != nil {
		return err.Error()
	}
	return string(answer[:n])
}

// greetingOf returns the first line that a member sends.
func greetingOf(g *fleet.Group, from, to *fleet.Process) string {
	return fmt.Sprintf("lockserver-raft 2 lockserver %s %s - %s z %s", g.ID(from), g.RaftAt(to), to.Field("raft_group_id"), to.Field("raft_incarnation"))
}

// TestOnlyAMembersCertificateIsAMembers: a certificate of the authority of members has to be for the address
// of a member, or for a name of raft-tls-names. The member that refuses and the one that is refused log it.
func TestOnlyAMembersCertificateIsAMembers(t *testing.T) {
	by, end := testkit.NewAuthority(t), time.Now().Add(time.Hour)
	g, all := certifiedGroup(t, by)
	reached(t, all)
	leader := g.AwaitLeader()
	from, to := g.Others(leader)[0], g.Others(leader)[1]
	greeting := greetingOf(g, from, to)
	position := fmt.Sprintf("lockserver-raft 2 position lockserver %s %s", g.ID(from), g.RaftAt(leader))
	require.Contains(t, said(t, g.RaftAt(to), by.Issue("member", end), greeting), "+ ")
	require.Contains(t, said(t, g.RaftAt(leader), by.Issue("member", end), position), "+")
	for name, hosts := range map[string][]string{"client": nil, "another": {"127.0.0.2", "web.example.com"}} {
		i := by.IssueFor(name, end, hosts...)
		require.Contains(t, said(t, g.RaftAt(to), i, greeting), "-it shows a certificate for ", name)
		require.Contains(t, said(t, g.RaftAt(leader), i, position), "-it shows a certificate for ", name)
	}
	require.Contains(t, to.Log(), "the address in the group is 127.0.0.1:")
	require.Contains(t, to.Log(), "web.example.com")
	unknown := strings.Replace(greeting, "lockserver "+g.ID(from), "lockserver z", 1)
	require.Contains(t, said(t, g.RaftAt(to), by.IssueFor("client", end), unknown), "that member is not in the group as this one knows it")
	eventually(t, "the alarm names the member", func() bool {
		return strings.Contains(to.Field("raft_alarm"), "'"+g.ID(from)+"' is refused: it shows a certificate")
	})

	var p *certified // its certificate has no address, and it alone has the name in its configuration
	for _, c := range all {
		if c.Process == from {
			p = c
		}
	}
	p.Kill()
	own := filepath.Join(p.Dir(), "own")
	before := fileText(t, own)
	named := by.IssueFor("named", end)
	putFile(t, p.cert, fileText(t, named.CertFile))
	putFile(t, p.key, fileText(t, named.KeyFile))
	code, log := launchFails(t, p.Process)
	require.NotZero(t, code)
	require.Contains(t, log, "the other members reach this one at "+g.RaftAt(p.Process))
	putFile(t, own, before, []byte("raft-tls-names \"other named\"\n"))
	p.Launch()
	eventually(t, "the leader logs that it refuses the member", func() bool {
		return strings.Contains(leader.Log(), "a member cannot be called address="+g.RaftAt(p.Process))
	})
	eventually(t, "the member logs that the leader refuses it", func() bool {
		return strings.Contains(p.Log(), "another member refuses this one member="+g.ID(leader))
	})
	p.use(by.Issue("renewed", end))
	reached(t, all)
	refused := by.IssueFor("refused", end)
	putFile(t, p.cert, fileText(t, refused.CertFile))
	putFile(t, p.key, fileText(t, refused.KeyFile))
	eventually(t, "a certificate without the address is not used", func() bool {
		return strings.Contains(p.Log(), "cannot be used: the one before stays cause=\"tls-cert-file "+p.cert+": the certificate is for no address") ||
			strings.Contains(p.Log(), p.cert+": the certificate is for no address (its common name is 'refused')")
	})
	reached(t, all)
	g.Same(g.AwaitLeader())
}

// launchFails starts a process that ends by itself, and returns its code and log.
func launchFails(t *testing.T, p *fleet.Process) (code int, log string) {
	t.Helper()
	again := testkit.Prepare(t, testkit.Command{Program: testkit.Lockserver(t), Args: []string{filepath.Join(p.Dir(), "conf"), "--dir", p.Dir()}, Dir: p.Dir()})
	require.NoError(t, again.Launch())
	code, err := again.Wait()
	require.NoError(t, err)
	return code, again.Log() + p.Log()
}

// TestMembersHaveAnAuthorityOfTheirOwn: with raft-tls-ca-cert-file no certificate of a client is one of a
// member, whatever address it is for. raft-tls-names lists names that members' certificates may have.
func TestMembersHaveAnAuthorityOfTheirOwn(t *testing.T) {
	program := testkit.Lockserver(t)
	members, clients, end := testkit.NewAuthority(t), testkit.NewAuthority(t), time.Now().Add(time.Hour)
	own, client := members.IssueFor("one", end, "member.locks.example"), clients.Issue("client", end)
	folder := t.TempDir()
	for name, from := range map[string]string{"ca.crt": clients.File, "server.crt": own.CertFile, "server.key": own.KeyFile, "client.crt": client.CertFile, "client.key": client.KeyFile} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), fileText(t, from), 0o600))
	}
	conf := fmt.Sprintf("tls-port 0\nraft-tls yes\ntls-cert-file %s\ntls-key-file %s\ntls-ca-cert-file %s\nraft-tls-ca-cert-file %s\nraft-tls-names member.locks.example\n",
		own.CertFile, own.KeyFile, clients.File, members.File)
	g := fleet.Form(t, conf, program, program, program)
	leader := g.AwaitLeader()
	require.Equal(t, "+OK", leader.Try("SET", "x", "1").String())
	to, from := g.Others(leader)[0], g.Others(leader)[1]
	greeting := greetingOf(g, from, to)
	require.Contains(t, said(t, g.RaftAt(to), own, greeting), "+ ")
	require.Contains(t, said(t, g.RaftAt(to), members.IssueFor("client", end), greeting), "-it shows a certificate")
	before := strings.Count(to.Log(), "a connection is refused")
	require.NotContains(t, said(t, g.RaftAt(to), client, greeting), "+")
	eventually(t, "the refusal is logged", func() bool { return strings.Count(to.Log(), "a connection is refused") > before })

	p := g.Add(program, conf) // it has no raft-members: it knows no member yet
	p.Launch()
	eventually(t, "it waits for RAFT ADD", func() bool { return p.Field("raft_waiting") != "" })
	greeting = fmt.Sprintf("lockserver-raft 2 lockserver a %s - other z %s", g.RaftAt(p), p.Field("raft_incarnation"))
	require.Contains(t, said(t, g.RaftAt(p), members.IssueFor("client", end), greeting), "this server waits for RAFT ADD and knows no member")
	require.Equal(t, "+OK", leader.TryWithin(patience, "RAFT", "ADD", g.ID(p), g.RaftAt(p), p.Addr()).String())
	eventually(t, "it follows", func() bool { return p.Field("raft_role") == "follower" })
}
