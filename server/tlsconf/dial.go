package tlsconf

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"

	"lockserver/internal/config"
)

// Dial makes an encrypted connection to another server. As in Redis, that server must have a certificate of
// one of our authorities. The certificate may have any name, because servers are known by addresses that
// change.
func Dial(ctx context.Context, c *config.TLS, address string) (net.Conn, error) {
	t, err := Dialling(c)
	if err != nil {
		return nil, err
	}
	return DialWith(ctx, t, address)
}

// DialWith does what Dial does, with a result of Dialling.
func DialWith(ctx context.Context, t *tls.Config, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return tls.Client(conn, t), nil
}

// Dialling returns the TLS configuration for connections that this server makes.
func Dialling(c *config.TLS) (*tls.Config, error) {
	own := *c
	if c.ClientCertFile != "" {
		own.CertFile, own.KeyFile, own.KeyFilePass = c.ClientCertFile, c.ClientKeyFile, c.ClientKeyFilePass
	}
	t, err := build(&own)
	if err != nil {
		return nil, err
	}
	authorities, err := readAuthorities(c)
	if err != nil {
		return nil, err
	}
	t.ClientAuth, t.ClientCAs = tls.NoClientCert, nil
	t.InsecureSkipVerify = true // the chain is verified below, the name is not
	t.VerifyConnection = func(state tls.ConnectionState) error {
		if len(state.PeerCertificates) == 0 {
			return errors.New("the master shows no certificate")
		}
		between := x509.NewCertPool()
		for _, cert := range state.PeerCertificates[1:] {
			between.AddCert(cert)
		}
		_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: authorities, Intermediates: between})
		return err
	}
	return t, nil
}
