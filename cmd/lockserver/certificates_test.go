package main

import (
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// TestCertificatesOfClientsAreReadAgain: replaced files count from the next connection on, without a command:
// the certificate, its key, and the authorities of clients. Half a change changes nothing.
func TestCertificatesOfClientsAreReadAgain(t *testing.T) {
	dir := t.TempDir()
	old, next := testkit.NewAuthority(t), testkit.NewAuthority(t)
	path := func(name string) string { return filepath.Join(dir, name) }
	put := func(name string, from ...string) {
		t.Helper()
		var text []byte
		for _, file := range from {
			part, err := os.ReadFile(file)
			require.NoError(t, err)
			text = append(text, part...)
		}
		require.NoError(t, os.WriteFile(path(name+".new"), text, 0o600))
		require.NoError(t, os.Rename(path(name+".new"), path(name)))
	}
	end := time.Now().Add(time.Hour)
	first, second := old.Issue("first", end), next.Issue("second", end)
	put("own.crt", first.CertFile)
	put("own.key", first.KeyFile)
	put("ca.crt", old.File)
	port := testkit.FreePort(t)
	c := start(t, dir, "--port", "0", "--save", "", "--tls-port", port, "--tls-cert-file", path("own.crt"), "--tls-key-file", path("own.key"), "--tls-ca-cert-file", path("ca.crt"))
	c.eventually(t, func() bool {
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}, "the port for TLS is open")
	// greeted says which certificate the server shows to a client with one of an authority, and whether it
	// lets the client in.
	greeted := func(by *testkit.Authority) (name string, err error) {
		own := by.Issue("client", end)
		conn, err := tls.Dial("tcp", "127.0.0.1:"+port, &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{own.Certificate}})
		require.NoError(t, err)
		defer conn.Close()
		require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
		name = conn.ConnectionState().PeerCertificates[0].Subject.CommonName
		if _, err = conn.Write([]byte("PING\r\n")); err == nil {
			_, err = conn.Read(make([]byte, 16))
		}
		return name, err
	}
	is := func(by *testkit.Authority, want string, in bool) {
		t.Helper()
		name, err := greeted(by)
		require.Equal(t, want, name)
		require.Equal(t, in, err == nil, "%v", err)
	}
	is(old, "first", true)
	is(next, "first", false)
	put("ca.crt", old.File, next.File)
	is(next, "first", true)
	require.Equal(t, 1, strings.Count(c.Log(), "tls-port: the certificates have changed, and are used from now on"))
	put("own.crt", second.CertFile)
	is(old, "first", true)
	require.Contains(t, c.Log(), "tls-port: a certificate has changed, and cannot be used: the one before stays")
	put("own.key", second.KeyFile)
	is(old, "second", true)
	put("ca.crt", next.File)
	is(next, "second", true)
	is(old, "second", false)
	require.Equal(t, 3, strings.Count(c.Log(), "are used from now on"))
}
