package transport

import (
	"net"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// keepSocketAlive probes an idle connection after idle, and three times as often from then on; 0: never.
func keepSocketAlive(fd int, idle time.Duration) {
	seconds := int(idle / time.Second)
	if seconds <= 0 {
		return
	}
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1)
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, seconds)
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, max(1, seconds/3))
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPCNT, 3)
}

// guardSocket makes the system probe an idle peer within ms, so that a living peer answers. The first probe
// comes after a quarter of that time, and about ten more follow within ms. TCP_USER_TIMEOUT is not set: it
// would also close the connection of a living client that takes no output.
func guardSocket(fd int, ms int64) {
	if fd < 0 {
		return
	}
	// Errors are ignored: a unix socket does not have these options, and does not need them.
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1)
	idle, step := max(1, ms/4000), max(1, ms/10_000)
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, int(min(idle, maxKeepSeconds)))
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, int(min(step, maxKeepSeconds)))
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPCNT, int((ms/1000-idle)/step+2)) // they end after ms
}

// maxKeepSeconds is the largest value that the system accepts.
const maxKeepSeconds = 32767

// socketHeard returns the last sign of life from the other end of a socket. It is not known for a local
// connection without TCP.
func socketHeard(fd int) Silence {
	// unix.GetsockoptTCPInfo would leave 288 bytes of garbage, for each waiter every third of a lease.
	var info unix.TCPInfo
	size := uint32(unix.SizeofTCPInfo)
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.IPPROTO_TCP, unix.TCP_INFO,
		uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 {
		return Silence{}
	}
	// Every segment acknowledges data, including the answers to probes.
	last := time.Duration(min(info.Last_ack_recv, info.Last_data_recv)) * time.Millisecond
	return Silence{Known: true, Lasts: last, Unanswered: info.Unacked > 0}
}

// socketUnacked returns the number of bytes that the other end's system has not acknowledged.
func socketUnacked(fd int) int {
	n, err := unix.IoctlGetInt(fd, unix.SIOCOUTQ)
	if err != nil {
		return 0
	}
	return n
}

// resetSocket ends the input of a socket, and makes its end reset the connection: the system does not send
// outstanding bytes again.
func resetSocket(fd int) {
	_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	_ = unix.Shutdown(fd, unix.SHUT_RD)
}

// socketPeerGone reports whether the other end of a socket was closed, even if unread input is left.
func socketPeerGone(fd int) bool {
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
	n, err := unix.Poll(p, 0)
	return err == nil && n > 0 && p[0].Revents&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR|unix.POLLNVAL) != 0
}

// netConnPeerGone does what socketPeerGone does, for a connection of the net package.
func netConnPeerGone(nc net.Conn) (gone bool) {
	ok, err := withSocket(nc, func(fd int) { gone = socketPeerGone(fd) })
	return gone || ok && err != nil
}

// guardNetConn does what guardSocket does, for a connection of the net package.
func guardNetConn(nc net.Conn, ms int64) {
	_, _ = withSocket(nc, func(fd int) { guardSocket(fd, ms) })
}

// netConnHeard does what socketHeard does, for a connection of the net package.
func netConnHeard(nc net.Conn) (s Silence) {
	_, _ = withSocket(nc, func(fd int) { s = socketHeard(fd) })
	return s
}

// netConnUnacked does what socketUnacked does, for a connection of the net package.
func netConnUnacked(nc net.Conn) (n int) {
	_, _ = withSocket(nc, func(fd int) { n = socketUnacked(fd) })
	return n
}

// resetNetConn does what resetSocket does, for a connection of the net package.
func resetNetConn(nc net.Conn) { _, _ = withSocket(nc, resetSocket) }

// withSocket calls f with the descriptor of a connection. ok is false for an in-process connection, which has
// no descriptor.
func withSocket(nc net.Conn, f func(fd int)) (ok bool, err error) {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return false, nil
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return true, err
	}
	return true, raw.Control(func(fd uintptr) { f(int(fd)) })
}
