// Package tlsconf converts the directives tls-* to the configuration of encrypted connections.
//
// It reads certificates and keys, reports clearly what is wrong with them, and holds the configuration of the
// next connection. A change does not touch existing connections. It must not know listeners, connections or
// sessions: the code that encrypts calls Source.Config.
//
// To add a directive, add a field to config.TLS, and a line to build. Choices that Go does not offer are
// refused there, with a clear error.
package tlsconf
