// Package embedded tests the server as a Go program uses it: inside the process, through an unmodified client
// library.
//
// It owns the cases that only such a program has. Examples are a pool that connects to the server in its own
// process, and contexts that end while a command waits. It must not look inside the server. To add a case,
// start a server with serve.
package embedded
