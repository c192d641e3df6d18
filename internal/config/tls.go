package config

import "math"

// TLS holds the directives tls-*. The package server/tlsconf reads the files.
type TLS struct {
	// Port is the encrypted port; 0 means no port.
	Port int
	// CertFile and KeyFile are the server's certificate, with the certificates between it and its authority,
	// and its key, in PEM. KeyFilePass is the key's password; empty if the key has no password.
	CertFile, KeyFile, KeyFilePass string
	// ClientCertFile, ClientKeyFile and ClientKeyFilePass are the same for connections that the server makes.
	// If they are empty, the server's own certificate is used.
	ClientCertFile, ClientKeyFile, ClientKeyFilePass string
	// CACertFile and CACertDir hold the certificates of the authorities that sign clients' certificates.
	// CADirective is the directive that names CACertFile; empty means tls-ca-cert-file.
	CACertFile, CACertDir, CADirective string
	// AuthClients says whether clients need a certificate: "yes", "no", or "optional". With "optional" a
	// certificate that a client shows must be valid.
	AuthClients string
	// AuthClientsUser is the field of a client's certificate that names its user: "off", or "CN", the common
	// name.
	AuthClientsUser string
	// Protocols lists versions of TLS, "TLSv1.2" and "TLSv1.3"; empty means both.
	Protocols string
	// Ciphers lists ciphers of TLS 1.2 in OpenSSL's form, CipherSuites those of TLS 1.3; empty means the
	// default.
	Ciphers, CipherSuites string
	// PreferServerCiphers is accepted; the server always chooses.
	PreferServerCiphers bool
	// SessionCaching lets clients resume a session, within SessionCacheTimeoutMS. SessionCacheSize has no
	// effect, because clients keep their sessions themselves.
	SessionCaching        bool
	SessionCacheSize      int
	SessionCacheTimeoutMS int64
}

// tlsTopic are the rows of TLS.
var tlsTopic = topic{"TLS", []directive{
	{Name: "tls-port", Opens: true, Default: "0", Kind: integer(0, 65535, func(c *Config) *int { return &c.TLS.Port }),
		Doc: "port on which connections are encrypted, on the addresses of `bind`; 0: none. See [SECURITY.md](SECURITY.md)"},
	{Name: "tls-cert-file", Opens: true, Kind: text(func(c *Config) *string { return &c.TLS.CertFile }),
		Doc: "the server's certificate in PEM, followed by those between it and its authority"},
	{Name: "tls-key-file", Opens: true, Kind: text(func(c *Config) *string { return &c.TLS.KeyFile }),
		Doc: "its key in PEM"},
	{Name: "tls-key-file-pass", Secret: true, Kind: text(func(c *Config) *string { return &c.TLS.KeyFilePass }),
		Doc: "the key's password; empty: it has none"},
	{Name: "tls-ca-cert-file", Opens: true, Kind: text(func(c *Config) *string { return &c.TLS.CACertFile }),
		Doc: "certificates in PEM of those who sign clients' certificates"},
	{Name: "tls-ca-cert-dir", Opens: true, Kind: text(func(c *Config) *string { return &c.TLS.CACertDir }),
		Doc: "a directory of such files"},
	{Name: "tls-auth-clients", Default: "yes",
		Kind: enum(func(c *Config) *string { return &c.TLS.AuthClients }, "no", "yes", "optional"),
		Doc:  "whether clients need a certificate: `yes`, `no`, or `optional`, where one that is shown has to be good"},
	{Name: "tls-auth-clients-user", Default: "off",
		Kind: enum(func(c *Config) *string { return &c.TLS.AuthClientsUser }, "off", "CN"),
		Doc:  "`CN`: a client is the user that its certificate names, without AUTH; `off`", Redis: "from 8.6 on"},
	{Name: "tls-protocols", Kind: text(func(c *Config) *string { return &c.TLS.Protocols }),
		Doc: "`TLSv1.2`, `TLSv1.3` or both; empty: both. Older ones are refused"},
	{Name: "tls-ciphers", Kind: text(func(c *Config) *string { return &c.TLS.Ciphers }),
		Doc: "ciphers of TLS 1.2 by OpenSSL's names, with colons between them; empty: all that are safe"},
	{Name: "tls-ciphersuites", Kind: text(func(c *Config) *string { return &c.TLS.CipherSuites }),
		Doc: "those of TLS 1.3; only all three, which Go always offers"},
	{Name: "tls-prefer-server-ciphers", Default: "no", Kind: boolean(func(c *Config) *bool { return &c.TLS.PreferServerCiphers }),
		Doc: "accepted and shown; the server always chooses"},
	{Name: "tls-session-caching", Default: "yes", Kind: boolean(func(c *Config) *bool { return &c.TLS.SessionCaching }),
		Doc: "let clients resume a session"},
	{Name: "tls-session-cache-size", Default: "20480", Kind: integer(0, math.MaxInt32, func(c *Config) *int { return &c.TLS.SessionCacheSize }),
		Doc: "accepted and shown; sessions are kept by the clients, in tickets"},
	{Name: "tls-session-cache-timeout", Default: "300", Kind: seconds(0, math.MaxInt32, func(c *Config) *int64 { return &c.TLS.SessionCacheTimeoutMS }),
		Doc: "seconds for which a session can be resumed"},
	{Name: "tls-client-cert-file", Opens: true, Kind: text(func(c *Config) *string { return &c.TLS.ClientCertFile }),
		Doc: "the certificate for connections that the server makes, as a replica does to its master; empty: `tls-cert-file`"},
	{Name: "tls-client-key-file", Opens: true, Kind: text(func(c *Config) *string { return &c.TLS.ClientKeyFile }),
		Doc: "its key"},
	{Name: "tls-client-key-file-pass", Secret: true, Kind: text(func(c *Config) *string { return &c.TLS.ClientKeyFilePass }),
		Doc: "the key's password"},
	{Name: "tls-dh-params-file", Kind: constant("", "tls-dh-params-file: there is no DHE; key exchange is by elliptic curves"),
		Doc: "only empty: key exchange is by elliptic curves"},
}}
