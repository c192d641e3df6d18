package tlsconf

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"lockserver/internal/config"
)

// Source holds the TLS configuration of connections. The zero value is empty until Configure.
type Source struct {
	// Check returns an error for a certificate that must not be used; nil: certificates are not checked.
	Check func(*x509.Certificate) error

	current atomic.Pointer[tls.Config]
	ends    atomic.Pointer[time.Time]

	mu     sync.Mutex
	config config.TLS // guarded by mu: from the last Configure
	files  Files      // guarded by mu
}

// Configure reads the files that the directives name. After an error nothing has changed. The error names, in
// one line, the fault and the file.
func (s *Source) Configure(c *config.TLS) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.files.Load(c, func() error { return s.read(c) })
	if err == nil {
		s.config = *c
	}
	return err
}

// Fresh returns the Config, after it has read changed files again.
func (s *Source) Fresh(log *slog.Logger) *tls.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files.Refresh(&s.config, log, "tls-port", func() error { return s.read(&s.config) })
	return s.Config()
}

func (s *Source) read(c *config.TLS) error {
	next, err := build(c)
	if err != nil {
		return err
	}
	if s.Check != nil {
		if err := s.Check(next.Certificates[0].Leaf); err != nil {
			return fmt.Errorf("tls-cert-file %s: %w", c.CertFile, err)
		}
	}
	ends := firstEnd(next.Certificates)
	s.current.Store(next)
	s.ends.Store(&ends)
	return nil
}

// Ends returns when the first of our certificates expires, or the zero time.
func (s *Source) Ends() time.Time {
	if at := s.ends.Load(); at != nil {
		return *at
	}
	return time.Time{}
}

// firstEnd returns when the first certificate expires, including those between them and their authorities.
func firstEnd(all []tls.Certificate) (first time.Time) {
	for _, chain := range all {
		for _, der := range chain.Certificate {
			cert, err := x509.ParseCertificate(der)
			if err == nil && (first.IsZero() || cert.NotAfter.Before(first)) {
				first = cert.NotAfter
			}
		}
	}
	return first
}

// Config returns the TLS configuration of the next connection. Any goroutine may call it, after the first
// Configure.
func (s *Source) Config() *tls.Config { return s.current.Load() }

// authorities holds the meanings of tls-auth-clients.
var authorities = map[string]tls.ClientAuthType{
	"no": tls.NoClientCert, "yes": tls.RequireAndVerifyClientCert, "optional": tls.VerifyClientCertIfGiven,
}

func build(c *config.TLS) (*tls.Config, error) {
	// Each write is one record, however small, because a waiting client needs the whole reply.
	t := &tls.Config{DynamicRecordSizingDisabled: true, ClientAuth: authorities[c.AuthClients]}
	cert, err := readKeyPair(c)
	if err != nil {
		return nil, err
	}
	t.Certificates = []tls.Certificate{cert}
	if c.AuthClients != "no" {
		if t.ClientCAs, err = readAuthorities(c); err != nil {
			return nil, err
		}
	}
	if t.MinVersion, t.MaxVersion, err = versions(c.Protocols); err != nil {
		return nil, err
	}
	if t.CipherSuites, err = ciphers(c.Ciphers); err != nil {
		return nil, err
	}
	if err = checkSuites(c.CipherSuites); err != nil {
		return nil, err
	}
	if t.SessionTicketsDisabled = !c.SessionCaching; c.SessionCaching {
		limitSessions(t, c.SessionCacheTimeoutMS)
	}
	return t, nil
}

// readAuthorities returns the authorities that may sign clients' certificates.
func readAuthorities(c *config.TLS) (*x509.CertPool, error) {
	if c.CACertFile == "" && c.CACertDir == "" {
		return nil, errors.New("either tls-ca-cert-file or tls-ca-cert-dir must be given, or tls-auth-clients be 'no'")
	}
	pool := x509.NewCertPool()
	if c.CACertFile != "" {
		name := cmp.Or(c.CADirective, "tls-ca-cert-file")
		pem, err := config.ReadRegular(c.CACertFile, config.MostPEMBytes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s %s: there is no certificate in it", name, c.CACertFile)
		}
	}
	if c.CACertDir != "" {
		if err := addDirectory(pool, c.CACertDir); err != nil {
			return nil, fmt.Errorf("tls-ca-cert-dir: %w", err)
		}
	}
	return pool, nil
}

// addDirectory adds the certificates of all files in a directory; it may contain other files, too.
func addDirectory(pool *x509.CertPool, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	found := false
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		pem, err := config.ReadRegular(path, config.MostPEMBytes)
		if errors.Is(err, config.ErrNotRegular) || errors.Is(err, fs.ErrNotExist) { // the target of a link may be missing
			continue
		}
		if err != nil {
			return err
		}
		found = pool.AppendCertsFromPEM(pem) || found
	}
	if !found {
		return fmt.Errorf("%s: there is no certificate in it", dir)
	}
	return nil
}

// limitSessions limits how long a client can resume a session. Clients keep their sessions themselves, in
// tickets that only the server can read; each ticket has its time of issue.
func limitSessions(t *tls.Config, timeoutMS int64) {
	t.WrapSession = func(cs tls.ConnectionState, ss *tls.SessionState) ([]byte, error) {
		ss.Extra = append(ss.Extra, binary.BigEndian.AppendUint64(nil, uint64(time.Now().UnixMilli())))
		return t.EncryptTicket(cs, ss)
	}
	t.UnwrapSession = func(ticket []byte, cs tls.ConnectionState) (*tls.SessionState, error) {
		ss, err := t.DecryptTicket(ticket, cs)
		if err != nil || ss == nil || len(ss.Extra) == 0 {
			return nil, err
		}
		made := int64(binary.BigEndian.Uint64(ss.Extra[len(ss.Extra)-1]))
		if time.Now().UnixMilli()-made >= timeoutMS {
			return nil, nil
		}
		return ss, nil
	}
}
