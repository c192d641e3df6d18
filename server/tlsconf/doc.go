// Package tlsconf turns the directives tls-* into what connections are encrypted by.
//
// It reads certificates and keys, says clearly what is wrong with them, and has the configuration that the
// next connection gets; a change leaves the connections alone that are there. It must not know listeners,
// connections or sessions: who encrypts asks Source.Config.
//
// A new directive is a field of config.TLS, and a line in build; what Go does not let one choose is refused
// there, in words that say so.
package tlsconf
