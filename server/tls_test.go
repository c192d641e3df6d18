package server

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/tests/testkit"
)

// sharedLog is a log that a test reads while others write.
type sharedLog struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (l *sharedLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *sharedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// withClientCertificates is a server, with event loops or without, that requires certificates of its clients.
func withClientCertificates(t *testing.T, loops bool, log *sharedLog, ca *testkit.Authority) *instance {
	t.Helper()
	return startWith(t, Options{EventLoops: loops, Log: slog.New(slog.NewTextHandler(log, nil))}, func(c *config.Config) {
		seal(t, c, ca)
		c.TLS.CACertFile, c.TLS.AuthClients = ca.File, "yes"
	})
}

// A client is refused if it has no certificate, an expired one, or one of another authority, or speaks an old
// version; the log says why. A client with a valid certificate is served.
func TestClientCertificates(t *testing.T) {
	t.Parallel()
	for _, loops := range []bool{false, true} {
		t.Run(fmt.Sprint("loops ", loops), func(t *testing.T) {
			var log sharedLog
			ca := testkit.NewAuthority(t)
			srv := withClientCertificates(t, loops, &log, ca)
			trusting := func(certs ...testkit.Issued) *tls.Config {
				c := &tls.Config{RootCAs: ca.Pool(), ServerName: "localhost"}
				for _, i := range certs {
					c.Certificates = append(c.Certificates, i.Certificate)
				}
				return c
			}
			good := trusting(ca.Issue("worker", time.Now().Add(time.Hour)))
			require.Equal(t, "+PONG", testkit.Dial(t, overTLS(srv, good)).Do("PING").String())
			old := good.Clone()
			old.MinVersion, old.MaxVersion = tls.VersionTLS11, tls.VersionTLS11
			foreign := testkit.NewAuthority(t).Issue("stranger", time.Now().Add(time.Hour))
			for want, c := range map[string]*tls.Config{
				"client didn't provide a certificate":        trusting(),
				"certificate has expired":                    trusting(ca.Issue("late", time.Now().Add(-time.Hour))),
				"certificate signed by unknown authority":    trusting(foreign),
				"client offered only unsupported versions":   old,
				"first record does not look like a TLS hand": nil,
			} {
				dial := overTLS(srv, c)
				if c == nil {
					dial = overPlain(srv)
				}
				if nc, err := dial(); err == nil { // TLS 1.3 tells a client later that its certificate is not good
					_ = nc.SetDeadline(time.Now().Add(soon))
					_, _ = nc.Write([]byte("PING\r\n"))
					_, err = nc.Read(make([]byte, 100))
					require.Error(t, err)
					require.NotContains(t, err.Error(), "timeout", want)
					_ = nc.Close()
				}
				eventually(t, func() bool { return strings.Contains(log.String(), want) }, "the log should say %q: %s", want, log.String())
			}
			require.Equal(t, "+PONG", testkit.Dial(t, overTLS(srv, good)).Do("PING").String())
		})
	}
}

// CONFIG SET reads certificates again; who is connected stays so, and a mistake changes nothing.
func TestCertificatesAreReplaced(t *testing.T) {
	t.Parallel()
	for _, loops := range []bool{false, true} {
		var log sharedLog
		ca, next := testkit.NewAuthority(t), testkit.NewAuthority(t)
		srv := withClientCertificates(t, loops, &log, ca)
		worker := ca.Issue("worker", time.Now().Add(time.Hour)).Certificate
		dialTrusting := func(ca *testkit.Authority) func() (*tls.Conn, error) {
			return func() (*tls.Conn, error) {
				return tls.Dial("tcp", srv.SecureAddr().String(),
					&tls.Config{RootCAs: ca.Pool(), ServerName: "localhost", Certificates: []tls.Certificate{worker}})
			}
		}
		nc, err := dialTrusting(ca)()
		require.NoError(t, err)
		old := testkit.NewClient(t, nc)
		require.Equal(t, "-ERR CONFIG SET failed (possibly related to argument 'tls-cert-file') - Unable to update TLS configuration. Check server logs.",
			old.Do("CONFIG", "SET", "tls-cert-file", "/no/such.crt").String())
		require.Contains(t, log.String(), "/no/such.crt")
		require.NotContains(t, old.Do("CONFIG", "GET", "tls-cert-file").String(), "/no/such.crt")
		_, err = dialTrusting(ca)()
		require.NoError(t, err, "nothing has changed")

		cert := next.Issue("server", time.Now().Add(time.Hour))
		require.Equal(t, "+OK", old.Do("CONFIG", "SET", "tls-cert-file", cert.CertFile, "tls-key-file", cert.KeyFile).String())
		require.Equal(t, "+PONG", old.Do("PING").String())
		_, err = dialTrusting(ca)()
		require.ErrorContains(t, err, "unknown authority")
		nc, err = dialTrusting(next)()
		require.NoError(t, err)
		require.Equal(t, "+PONG", testkit.NewClient(t, nc).Do("PING").String())
	}
}

// Without a good certificate of its own a server with a tls-port does not start.
func TestNoCertificate(t *testing.T) {
	t.Parallel()
	srv, err := newInstance(Options{Directives: map[string]string{"tls-port": fmt.Sprint(freePort(t))}})
	require.NoError(t, err)
	require.ErrorContains(t, srv.Start(), "tls-cert-file is not given")
	require.NoError(t, srv.Close())
}

// With tls-auth-clients-user CN a certificate is as good as a password, for a user that is on; others are as
// without it.
func TestCertificateNamesUser(t *testing.T) {
	t.Parallel()
	for _, loops := range []bool{false, true} {
		var log sharedLog
		ca := testkit.NewAuthority(t)
		srv := withClientCertificates(t, loops, &log, ca)
		admin := client(t, srv)
		for _, line := range []string{"CONFIG SET tls-auth-clients-user CN", "ACL SETUSER worker on +@lock +acl|whoami ~order:*",
			"ACL SETUSER retired off +@all ~*", "ACL SETUSER default >secret resetpass"} {
			require.Equal(t, "+OK", admin.Do(strings.Fields(line)...).String(), line)
		}
		as := func(name string) *testkit.Client {
			return testkit.Dial(t, overTLS(srv, &tls.Config{RootCAs: ca.Pool(), ServerName: "localhost",
				Certificates: []tls.Certificate{ca.Issue(name, time.Now().Add(time.Hour)).Certificate}}))
		}
		worker := as("worker")
		require.Equal(t, `"worker"`, worker.Do("ACL", "WHOAMI").String())
		require.Positive(t, worker.Do("LOCK", "order:1", "w").Int)
		require.Contains(t, worker.Do("LOCK", "other:1", "w").String(), "NOPERM")
		for _, name := range []string{"retired", "nobody"} {
			require.Contains(t, as(name).Do("PING").String(), "NOAUTH", name)
		}
	}
}
