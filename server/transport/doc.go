// Package transport carries bytes between peers and sessions: it listens, accepts, reads, writes, and notices
// when a peer has disconnected. A connection is on an event loop (loop.go, on Linux), or has goroutines of
// its own (stream_conn.go). The latter are pipes inside the process (pipe.go), and connections that a foreign
// net.Listener accepts.
//
// It must not know what the bytes mean: no session, executor, store, command, log or directive. It uses the
// interfaces in conn.go: an Acceptor opens sessions, a Session takes input. A session sends on its Conn, of
// any kind.
//
// The owner of a session is the goroutine that reads from its connection: a loop, or whichever of a
// connection's two goroutines holds its lock. Only the owner feeds a session; other goroutines wake the
// owner.
//
// The host's lock is the lock under which the host opens and closes sessions. A method that is called under
// it, for a session that is not closed, finds the descriptor open: a connection closes its session first.
//
// Endpoint.Move changes the listeners while connections stay (move.go).
//
// Another kind of listener, such as an encrypting listener, is another net.Listener in Endpoint.listen. A
// connection that is dialled instead of accepted goes to Endpoint.serve, like accepted connections. Another
// system's event loop is a loopDriver and a loopConn in files of its own, in place of loop_other.go.
package transport
