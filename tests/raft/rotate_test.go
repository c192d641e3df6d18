//go:build raft && unix

package raft

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
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

// putFile replaces a file, as a tool that renews certificates does.
func putFile(t *testing.T, path string, texts ...[]byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(path+".new", bytes.Join(texts, nil), 0o600))
	require.NoError(t, os.Rename(path+".new", path))
}

func fileText(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return text
}

// certified is a process with certificates in its own directory, for members and for clients.
type certified struct {
	*fleet.Process
	t                  *testing.T
	securePort         string
	cert, key, trusted string
}

// use replaces the certificate, and the key a moment later.
func (p *certified) use(i testkit.Issued) {
	p.t.Helper()
	before := p.changes()
	putFile(p.t, p.cert, fileText(p.t, i.CertFile))
	eventually(p.t, "half a change is refused", func() bool {
		return strings.Contains(p.Log(), "raft-tls: a certificate has changed, and cannot be used: the one before stays")
	})
	putFile(p.t, p.key, fileText(p.t, i.KeyFile))
	p.taken(before)
}

// trust replaces the list of trusted authorities.
func (p *certified) trust(all ...*testkit.Authority) {
	p.t.Helper()
	var texts [][]byte
	for _, a := range all {
		texts = append(texts, fileText(p.t, a.File))
	}
	before := p.changes()
	putFile(p.t, p.trusted, texts...)
	p.taken(before)
}

// changes returns how often the member has read changed files.
func (p *certified) changes() int {
	return strings.Count(p.Log(), "raft-tls: the certificates have changed, and are used from now on")
}

func (p *certified) taken(before int) {
	p.t.Helper()
	eventually(p.t, "the member has read the files", func() bool { return p.changes() > before })
}

// forClients reports whether one of the given authorities has signed the certificate that clients see.
func (p *certified) forClients(roots ...*testkit.Authority) error {
	pool := x509.NewCertPool()
	for _, a := range roots {
		pool.AppendCertsFromPEM(fileText(p.t, a.File))
	}
	conn, err := tls.Dial("tcp", "127.0.0.1:"+p.securePort, &tls.Config{RootCAs: pool})
	if err == nil {
		_ = conn.Close()
	}
	return err
}

// certifiedGroup forms a group with certificates of an authority.
func certifiedGroup(t *testing.T, by *testkit.Authority) (g *fleet.Group, all []*certified) {
	program := testkit.Lockserver(t)
	g = fleet.Prepare(t, "enable-protected-configs yes\nraft-tls yes\nraft-election-ms 2000\ninclude own\n", program, program, program)
	for i, p := range g.Members {
		c := &certified{Process: p, t: t, securePort: testkit.FreePort(t), cert: filepath.Join(p.Dir(), "own.crt"), key: filepath.Join(p.Dir(), "own.key"),
			trusted: filepath.Join(p.Dir(), "ca.crt")}
		own := by.Issue(fmt.Sprint("member", i), time.Now().Add(time.Hour))
		putFile(t, c.cert, fileText(t, own.CertFile))
		putFile(t, c.key, fileText(t, own.KeyFile))
		putFile(t, c.trusted, fileText(t, by.File))
		putFile(t, filepath.Join(p.Dir(), "own"), fmt.Appendf(nil, "tls-port %s\ntls-auth-clients no\ntls-cert-file %s\ntls-key-file %s\ntls-ca-cert-file %s\n",
			c.securePort, c.cert, c.key, c.trusted))
		all = append(all, c)
		p.Launch()
	}
	g.AwaitLeader()
	return g, all
}

// reached waits until all members reach each other over new connections.
func reached(t *testing.T, all []*certified) {
	t.Helper()
	eventually(t, "all members reach each other", func() bool {
		for _, p := range all {
			if strings.Count(p.Try("RAFT", "MEMBERS").String(), `"reachable" 1`) != len(all) {
				return false
			}
		}
		return true
	})
}

// TestCertificatesOfAnotherAuthority: an authority is replaced by another while clients write. First all
// members trust both authorities, then their certificates are replaced one after the other, and then the old
// authority is removed. No process is restarted, and no acknowledged write is lost.
func TestCertificatesOfAnotherAuthority(t *testing.T) {
	old, next := testkit.NewAuthority(t), testkit.NewAuthority(t)
	g, all := certifiedGroup(t, old)
	reached(t, all)
	var w writers
	w.begin(t, 3, g)
	w.more(t)
	for _, p := range all {
		require.NoError(t, p.forClients(old))
		p.trust(old, next)
		w.more(t)
	}
	for i, p := range all {
		p.use(next.Issue(fmt.Sprint("next", i), time.Now().Add(time.Hour)))
		require.NoError(t, p.forClients(next))
		require.Error(t, p.forClients(old))
		w.more(t)
		reached(t, all)
	}
	for _, p := range all {
		p.trust(next)
		w.more(t)
	}
	reached(t, all)
	// Connections that were made before are gone with a process: all new ones are of the new authority.
	leader := g.AwaitLeader()
	leader.Kill()
	g.Successor(leader)
	w.more(t)
	leader.Start()
	reached(t, all)
	w.more(t)
	w.end(t)
	g.Same(g.AwaitLeader())
}

// TestCertificateThatHasEnded: a member with an expired certificate logs it and has an alarm. The other
// members refuse it and say why. A new certificate ends that without a restart.
func TestCertificateThatHasEnded(t *testing.T) {
	by := testkit.NewAuthority(t)
	g, all := certifiedGroup(t, by)
	var w writers
	w.begin(t, 2, g)
	w.more(t)
	leader := g.AwaitLeader()
	var p *certified
	for _, c := range all {
		if c.Process != leader {
			p = c
		}
	}
	p.use(by.Issue("ended", time.Now().Add(-time.Hour)))
	eventually(t, "it says that its certificate has ended", func() bool {
		return strings.Contains(p.Log(), "the certificate of this member has ended, and the other members refuse it")
	})
	eventually(t, "it has an alarm", func() bool {
		return strings.Contains(p.Field("raft_alarm"), "a certificate of this server has ended at ")
	})
	eventually(t, "the others say why they refuse it", func() bool {
		for _, other := range all {
			if other != p && strings.Contains(other.Log(), "certificate has expired") {
				return true
			}
		}
		return false
	})
	w.more(t)
	p.use(by.Issue("renewed", time.Now().Add(time.Hour)))
	reached(t, all)
	eventually(t, "the alarm ends", func() bool { return !strings.Contains(p.Field("raft_alarm"), "has ended") })
	w.more(t)
	w.end(t)
	g.Same(g.AwaitLeader())
}
