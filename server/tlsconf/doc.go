// Package tlsconf turns the directives tls-* into what connections are encrypted by.
//
// It reads certificates and keys, says clearly what is wrong with them, and has the configuration for the
// next connection. A change does not touch existing connections. It must not know listeners, connections or
// sessions: the code that encrypts asks Source.Config.
//
// A new directive is a field of config.TLS, and a line in build. Choices that Go does not offer are refused
// there, with a clear error.
package tlsconf
