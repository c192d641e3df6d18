//go:build !linux

package transport

import (
	"net"
	"time"
)

// netConnPeerGone returns false, because this system would need other system calls. A read notices that the
// client has disconnected.
func netConnPeerGone(net.Conn) bool { return false }

// netConnHeard returns the zero Silence, because this system would need other system calls: a peer counts as
// alive until its connection is closed.
func netConnHeard(net.Conn) Silence { return Silence{} }
func netConnUnacked(net.Conn) int   { return 0 }
func resetNetConn(nc net.Conn)      { _ = nc.Close() }

// guardNetConn makes the system notice a vanished peer within about ms, by keepalive probes.
func guardNetConn(nc net.Conn, ms int64) {
	if tcp, ok := nc.(*net.TCPConn); ok {
		step := max(time.Second, time.Duration(ms/4)*time.Millisecond)
		_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: step, Interval: step, Count: 2})
	}
}
