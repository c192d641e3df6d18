//go:build !linux

package transport

import (
	"net"
	"time"
)

// netConnPeerGone would need system calls of its own here; a client that has gone is
// noticed when it is read from.
func netConnPeerGone(net.Conn) bool { return false }

// What the system heard of a peer would need system calls of its own, too: a peer lives
// until its connection is closed.
func netConnHeard(net.Conn) Silence { return Silence{} }
func netConnUnacked(net.Conn) int   { return 0 }
func resetNetConn(nc net.Conn)      { _ = nc.Close() }

// guardNetConn makes a vanished peer noticed within about ms by keepalive probes.
func guardNetConn(nc net.Conn, ms int64) {
	if tcp, ok := nc.(*net.TCPConn); ok {
		step := max(time.Second, time.Duration(ms/4)*time.Millisecond)
		_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: step, Interval: step, Count: 2})
	}
}
