// Package output owns what leaves for a client, and what must not. Output has the bytes that are given to the
// connection, and those that wait for a log or for other servers (output.go). It knows the grants that the
// client may not have read (grants.go). Inbox has the messages of others that are still to be appended to the
// client's replies (output.go).
//
// It knows the connection, the two gates, and the waiters with a grant. It must not know sessions, commands,
// or what a grant is: the client takes a grant back. An Output belongs to the owner of the connection, the
// loop or goroutine that reads from it. An Inbox is touched under the lock of the server.
//
// To add a condition for output, add it to Needs, with a gate in Gates.
package output
