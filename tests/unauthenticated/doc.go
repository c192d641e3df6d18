// Package unauthenticated shows how unauthenticated clients can affect authenticated ones. With a password
// set, some send a byte now and then, some send commands and read nothing, some begin a handshake of TLS and
// stop. The server is a process of its own; a client that is logged in measures what it has to wait, and the
// system tells what the server takes.
//
// go test plays it with a few hundred connections, `make unauthenticated` with as many as the system lets it
// open, up to 10,000.
package unauthenticated
