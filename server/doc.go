// Package server is the process around the data: sessions, the serial executor, waiting clients, watchdogs,
// configuration, and embedding. A part that needs only a small interface is a package inside of it.
//
// Bytes come in over a transport (an event loop, or a goroutine for each connection) and are fed to a
// session, which decodes them into commands. The executor runs those as units, one after the other. Replies
// are appended to the session's output, which its connection sends. See executor.go for what a unit is,
// parked.go for how commands wait, session.go for what owns what, and docs/ARCHITECTURE.md for the layers of
// files.
//
// It must not know what a command does to data: that is the commands package's. Its own commands (CLIENT,
// CONFIG, INFO, ...) are rows like all others, in the files that end in _cmd.go.
//
// To embed a server in a Go program or test:
//
//	srv, err := server.New(server.Options{})
//	if err != nil { ... }
//	if err := srv.Start(); err != nil { ... }
//	defer srv.Close()
//	conn, err := srv.Dial()               // or: net.Dial("tcp", srv.Addr().String())
package server
