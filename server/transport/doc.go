// Package transport carries bytes between peers and sessions: it listens, accepts, reads, writes, and notices
// that a peer has gone. A connection is on an event loop (loop.go, on Linux), or has
// goroutines of its own (stream_conn.go), as have pipes inside the process (pipe.go) and whatever a
// net.Listener of somebody else's accepts.
//
// It must not know what the bytes mean: no session, executor, store, command, log or directive. What it needs
// of them are the interfaces in conn.go: a Host opens sessions, a Session takes input. A session sends on its
// Conn, whatever kind that is.
//
// The owner of a session is who reads from its connection: a loop, or whichever of a connection's two
// goroutines holds its lock. Only the owner feeds a session; everybody else kicks the connection.
//
// The host's lock is the one under which it opens and closes sessions. What is said to be called under it, of
// a session that is not closed, finds the descriptor open: a connection closes its session first.
//
// Endpoint.Move listens elsewhere while connections stay (move.go).
//
// Another kind of listener, one that encrypts say, is one more net.Listener in Endpoint.listen; a connection
// that is dialled instead of accepted goes to Endpoint.serve like those. Another system's event loop is a
// loopDriver and a loopConn in files of its own, in place of loop_other.go.
package transport
