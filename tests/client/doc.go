// Package client tests the Go client (module lockserver/client) with servers in the process. It has locks,
// sales and campaigns over connections that break, and servers that stop, pause, restart and move. Where a
// test waits for leases, time is virtual.
//
// It owns what the client does with a server. It must not know the client's insides: those have tests in
// client/, which need no server. A test is added to the file of its subject; network (harness_test.go) is
// the way to a server that a test can break, silence and delay.
package client
