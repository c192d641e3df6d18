//go:build unix

package fleet

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/testkit"
)

// Secure is what processes demand of all who connect: TLS with a certificate, and a user. The user "ann" may
// use keys that begin with "shop:". A Sentinel has the user "watcher" instead. The passwords are the names.
type Secure struct {
	folder string
	tls    *tls.Config
}

// operator is the user of the processes among themselves, and of the fleet.
const operator = "operator"

// Demanding makes a Secure with the certificates of a folder, as tests/clients/certificates.sh writes them.
func Demanding(t testing.TB, folder string) *Secure {
	t.Helper()
	s := &Secure{folder: folder}
	own, err := tls.LoadX509KeyPair(s.file("client.crt"), s.file("client.key"))
	require.NoError(t, err)
	authority, err := os.ReadFile(s.file("ca.crt"))
	require.NoError(t, err)
	s.tls = &tls.Config{RootCAs: x509.NewCertPool(), Certificates: []tls.Certificate{own}, ServerName: "localhost"}
	require.True(t, s.tls.RootCAs.AppendCertsFromPEM(authority))
	return s
}

func (s *Secure) file(name string) string { return filepath.Join(s.folder, name) }

// demand has a process that was not started yet ask for these; own is the directives of its kind.
func (s *Secure) demand(p *Process, own string) {
	if s == nil {
		return
	}
	p.secure = s
	file := filepath.Join(p.Dir(), "conf")
	conf, err := os.ReadFile(file)
	require.NoError(p.t, err)
	conf = fmt.Appendf(conf, "port 0\ntls-port %s\ntls-ca-cert-file %s\ntls-cert-file %s\ntls-key-file %s\n",
		p.Port, s.file("ca.crt"), s.file("server.crt"), s.file("server.key"))
	conf = append(conf, "user default off\nuser "+operator+" on >"+operator+" ~* &* +@all\n"+own...)
	require.NoError(p.t, os.WriteFile(file, conf, 0o600))
}

const ann = "user ann on >ann ~shop:* &* +@all\n"

// server has a lockserver demand it, alone or under Sentinels.
func (s *Secure) server(p *Process) {
	s.demand(p, ann+"tls-replication yes\nmasteruser "+operator+"\nmasterauth "+operator+"\n")
}

// member has a member of a group demand it.
func (s *Secure) member(p *Process) { s.demand(p, ann) }

// sentinel has a Sentinel demand it.
func (s *Secure) sentinel(p *Process) {
	s.demand(p, "user watcher on >watcher ~* &* +@all\ntls-replication yes\n"+
		"sentinel auth-user "+Name+" "+operator+"\nsentinel auth-pass "+Name+" "+operator+"\n"+
		"sentinel sentinel-user "+operator+"\nsentinel sentinel-pass "+operator+"\n")
}

// dial opens a connection for the fleet, with calls of at most this length; nil: there is none.
func (p *Process) dial(limit time.Duration) *testkit.Client {
	conn, err := net.Dial("tcp", p.Addr())
	if err != nil {
		return nil
	}
	if p.secure != nil {
		conn = tls.Client(conn, p.secure.tls)
	}
	c := testkit.NewClient(p.t, conn)
	c.Timeout = limit
	if p.secure == nil {
		return c
	}
	if _, err := c.Call("AUTH", operator, operator); err != nil {
		return nil
	}
	return c
}
