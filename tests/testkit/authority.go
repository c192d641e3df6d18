package testkit

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Authority signs certificates for a test. Its own certificate is in a file, and so is each certificate that
// it issues.
type Authority struct {
	t    testing.TB
	cert *x509.Certificate
	key  crypto.Signer
	dir  string
	// File is the authority's own certificate.
	File string
}

// Issued is a certificate of an authority, with the files of the certificate and its key, in PEM.
type Issued struct {
	tls.Certificate
	CertFile, KeyFile string
}

// NewAuthority returns an authority that no client trusts yet.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{t: t, dir: t.TempDir()}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "tests"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	a.key = newKey(t)
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	require.NoError(t, err)
	a.cert, err = x509.ParseCertificate(der)
	require.NoError(t, err)
	a.File = a.write("ca.crt", "CERTIFICATE", der)
	return a
}

// Pool holds the authority's certificate.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// Issue makes a certificate for a server on this machine, or for a client, with a common name. Its end may be
// in the past.
func (a *Authority) Issue(name string, end time.Time) Issued {
	a.t.Helper()
	return a.IssueFor(name, end, "localhost", "127.0.0.1")
}

// IssueFor does what Issue does, for a list of host names or addresses, which may be empty.
func (a *Authority) IssueFor(name string, end time.Time, hosts ...string) Issued {
	a.t.Helper()
	key := newKey(a.t)
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: end.Add(-24 * time.Hour), NotAfter: end, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	require.NoError(a.t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(a.t, err)
	i := Issued{Certificate: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}}
	i.CertFile = a.write(name+".crt", "CERTIFICATE", der)
	i.KeyFile = a.write(name+".key", "PRIVATE KEY", keyDER)
	return i
}

// write writes a block of PEM to a file.
func (a *Authority) write(name, kind string, der []byte) string {
	a.t.Helper()
	path := filepath.Join(a.dir, name)
	require.NoError(a.t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	return path
}

func newKey(t testing.TB) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return key
}
