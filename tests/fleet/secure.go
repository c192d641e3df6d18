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

	"lockserver/tests/testkit"
)

// Secure holds what processes require of all clients: TLS with a certificate, and a user. The user "ann" may
// use keys that begin with "shop:". A Sentinel has the user "watcher" instead. The passwords are equal to the
// names.
type Secure struct {
	folder string
	tls    *tls.Config
}

// operator is the user for connections between the processes, and for the fleet.
const operator = "operator"

// Demanding returns a Secure with the certificates of a folder, as tests/clients/certificates.sh writes them.
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

// demand configures a process that has not been started to require them; own holds the directives for its
// kind.
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

// server configures a lockserver, alone or under Sentinels.
func (s *Secure) server(p *Process) {
	s.demand(p, ann+"tls-replication yes\nmasteruser "+operator+"\nmasterauth "+operator+"\n")
}

// member configures a member of a group.
func (s *Secure) member(p *Process) { s.demand(p, ann) }

// sentinel configures a Sentinel.
func (s *Secure) sentinel(p *Process) {
	s.demand(p, "user watcher on >watcher ~* &* +@all\ntls-replication yes\n"+
		"sentinel auth-user "+Name+" "+operator+"\nsentinel auth-pass "+Name+" "+operator+"\n"+
		"sentinel sentinel-user "+operator+"\nsentinel sentinel-pass "+operator+"\n")
}

// dial opens a connection for the fleet with a time limit for its calls. It returns nil if that fails.
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
