package tlsconf

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/youmark/pkcs8"

	"lockserver/internal/config"
	"lockserver/tests/testkit"
)

// good are directives that work, with an authority for clients.
func good(t *testing.T) (config.TLS, *testkit.Authority) {
	t.Helper()
	ca := testkit.NewAuthority(t)
	cert := ca.Issue("server", time.Now().Add(time.Hour))
	c := config.Default().TLS
	c.CertFile, c.KeyFile, c.CACertFile = cert.CertFile, cert.KeyFile, ca.File
	return c, ca
}

func TestConfigure(t *testing.T) {
	c, ca := good(t)
	var s Source
	require.NoError(t, s.Configure(&c))
	first := s.Config()
	require.Equal(t, tls.RequireAndVerifyClientCert, first.ClientAuth)
	require.EqualValues(t, tls.VersionTLS12, first.MinVersion)

	empty := filepath.Join(t.TempDir(), "empty")
	require.NoError(t, os.WriteFile(empty, []byte("nothing\n"), 0o600))
	other := ca.Issue("other", time.Now().Add(time.Hour))
	for want, change := range map[string]func(*config.TLS){
		"tls-cert-file is not given":         func(c *config.TLS) { c.CertFile = "" },
		"tls-key-file is not given":          func(c *config.TLS) { c.KeyFile = "" },
		"tls-cert-file: open /no/cert":       func(c *config.TLS) { c.CertFile = "/no/cert" },
		"tls-key-file: open /no/key":         func(c *config.TLS) { c.KeyFile = "/no/key" },
		"tls-cert-file: open /dev/zero":      func(c *config.TLS) { c.CertFile = "/dev/zero" }, // it has no end
		"tls-key-file: open /dev/zero":       func(c *config.TLS) { c.KeyFile = "/dev/zero" },
		"tls-ca-cert-file: open /dev/zero":   func(c *config.TLS) { c.CACertFile = "/dev/zero" },
		"private key does not match":         func(c *config.TLS) { c.KeyFile = other.KeyFile },
		"failed to find any PEM data":        func(c *config.TLS) { c.CertFile = empty },
		"tls-ca-cert-file: open /no/ca":      func(c *config.TLS) { c.CACertFile = "/no/ca" },
		"there is no certificate in it":      func(c *config.TLS) { c.CACertFile = empty },
		"or tls-auth-clients be 'no'":        func(c *config.TLS) { c.CACertFile = "" },
		"tls-ca-cert-dir: open /no/dir":      func(c *config.TLS) { c.CACertDir = "/no/dir" },
		"there is no certificate in":         func(c *config.TLS) { c.CACertDir = filepath.Dir(empty) },
		"TLSv1.1 is not offered":             func(c *config.TLS) { c.Protocols = "TLSv1.1 TLSv1.2" },
		"'TLSv4' is no version":              func(c *config.TLS) { c.Protocols = "TLSv4" },
		"'RC4-SHA' cannot be chosen":         func(c *config.TLS) { c.Ciphers = "RC4-SHA" },
		"leaves no cipher":                   func(c *config.TLS) { c.Ciphers = "!RC4" },
		"TLS_AES_256_GCM_SHA384 is always":   func(c *config.TLS) { c.CipherSuites = "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256" },
		"TLS_AES_128_GCM_SHA256 is always o": func(c *config.TLS) { c.CipherSuites = "x" },
	} {
		bad := c
		change(&bad)
		require.ErrorContains(t, s.Configure(&bad), want)
		require.Same(t, first, s.Config(), "an error changes nothing")
	}
	dir := t.TempDir()
	require.NoError(t, os.Symlink(ca.File, filepath.Join(dir, "0a1b2c3d.0")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "README"), []byte("x"), 0o600))
	c.CACertFile, c.CACertDir, c.AuthClients, c.Protocols, c.SessionCaching = "", dir, "optional", "tlsv1.3", false
	c.CipherSuites = "TLS_CHACHA20_POLY1305_SHA256:TLS_AES_256_GCM_SHA384:TLS_AES_128_GCM_SHA256"
	require.NoError(t, s.Configure(&c))
	require.EqualValues(t, tls.VersionTLS13, s.Config().MinVersion)
	require.True(t, s.Config().SessionTicketsDisabled)
	require.Equal(t, tls.VerifyClientCertIfGiven, s.Config().ClientAuth)
	require.True(t, s.Config().ClientCAs.Equal(ca.Pool()))
}

func TestCiphers(t *testing.T) {
	for list, want := range map[string][]string{
		"ECDHE-RSA-AES256-GCM-SHA384:ecdhe-rsa-aes128-gcm-sha256":                     {"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"},
		"ECDHE-RSA-AES128-SHA:!ECDHE-RSA-AES128-SHA:ECDHE-ECDSA-AES128-SHA:@STRENGTH": {"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA"},
	} {
		got, err := ciphers(list)
		require.NoError(t, err)
		var names []string
		for _, id := range got {
			names = append(names, tls.CipherSuiteName(id))
		}
		require.Equal(t, want, names)
	}
	got, err := ciphers("DEFAULT:!MEDIUM")
	require.NoError(t, err)
	safe := 0
	for _, s := range tls.CipherSuites() {
		if strings.HasPrefix(s.Name, "TLS_ECDHE") {
			require.Contains(t, got, s.ID)
			safe++
		}
	}
	require.Len(t, got, safe)
	require.Len(t, openSSLNames, safe, "every safe cipher has a name")
}

// Keys that have a password, in both of the forms that OpenSSL writes.
func TestEncryptedKeys(t *testing.T) {
	c, _ := good(t)
	plain, err := os.ReadFile(c.KeyFile)
	require.NoError(t, err)
	block, _ := pem.Decode(plain)
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	require.NoError(t, err)
	newer, err := pkcs8.MarshalPrivateKey(key, []byte("sesame"), nil)
	require.NoError(t, err)
	//lint:ignore SA1019 such files exist
	older, err := x509.EncryptPEMBlock(rand.Reader, "PRIVATE KEY", block.Bytes, []byte("sesame"), x509.PEMCipherAES256)
	require.NoError(t, err)
	for _, b := range []*pem.Block{{Type: "ENCRYPTED PRIVATE KEY", Bytes: newer}, older} {
		c.KeyFile = filepath.Join(t.TempDir(), "key")
		require.NoError(t, os.WriteFile(c.KeyFile, pem.EncodeToMemory(b), 0o600))
		var s Source
		require.ErrorContains(t, s.Configure(&c), "tls-key-file-pass is not given")
		c.KeyFilePass = "wrong"
		require.ErrorContains(t, s.Configure(&c), "tls-key-file-pass is not its password")
		c.KeyFilePass = "sesame"
		require.NoError(t, s.Configure(&c))
		c.KeyFilePass = ""
	}
}

// A session can be resumed for as long as tls-session-cache-timeout says, by the same authority's clients.
func TestSessionsEnd(t *testing.T) {
	for timeoutMS, want := range map[int64]bool{300_000: true, 0: false} {
		c, ca := good(t)
		c.AuthClients, c.SessionCacheTimeoutMS = "no", timeoutMS
		var s Source
		require.NoError(t, s.Configure(&c))
		client := &tls.Config{RootCAs: ca.Pool(), ServerName: "localhost", ClientSessionCache: tls.NewLRUClientSessionCache(1)}
		require.False(t, resumed(t, &s, client))
		require.Equal(t, want, resumed(t, &s, client))
	}
}

// resumed reports whether a connection of the client goes on with a session.
func resumed(t *testing.T, s *Source, client *tls.Config) bool {
	t.Helper()
	near, far := net.Pipe()
	defer func() { _ = near.Close() }()
	go func() {
		server := tls.Server(near, s.Config())
		_, _ = server.Write([]byte("x"))
	}()
	c := tls.Client(far, client)
	_, err := c.Read(make([]byte, 1)) // with it comes the ticket
	require.NoError(t, err)
	return c.ConnectionState().DidResume
}
