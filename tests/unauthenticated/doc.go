// Package unauthenticated measures how unauthenticated clients affect authenticated ones. With a password
// set, some send a byte now and then, some send commands and read nothing, some begin a TLS handshake and
// stop. The server is a separate process. An authenticated client measures its waits, and the system reports
// the memory of the server.
//
// go test plays it with a few hundred connections, `make unauthenticated` with as many as the system allows,
// up to 10,000.
package unauthenticated
