// Package embedded tests the server as a Go program uses it: inside the process, through
// an unmodified client library.
//
// It owns what only such a program meets: a pool that dials the server itself, contexts that end
// while a command waits, many servers in one test. It must not look inside the server. To add a
// case, start a server with serve.
package embedded
