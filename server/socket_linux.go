package server

import (
	"net"
	"syscall"
	"time"

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

// guardSocket sees to it that a peer which vanished without a word (power, cable) is noticed within ms: unanswered
// data is given up after that time, and an idle connection is probed three times within it.
func guardSocket(fd int, ms int64) {
	if fd < 0 {
		return
	}
	// Errors are ignored: a unix socket has none of these options, and needs none.
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1)
	step := int(max(1, ms/1000/4))
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, step)
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, step)
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPCNT, 2)
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(ms))
}

// socketPeerGone reports whether the other end of a socket was closed, even if there is still something to read.
func socketPeerGone(fd int) bool {
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
	n, err := unix.Poll(p, 0)
	return err == nil && n > 0 && p[0].Revents&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR|unix.POLLNVAL) != 0
}

// netConnPeerGone is socketPeerGone for a connection of the net package.
func netConnPeerGone(nc net.Conn) (gone bool) {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return true
	}
	err = raw.Control(func(fd uintptr) { gone = socketPeerGone(int(fd)) })
	return gone || err != nil
}

// guardNetConn is guardSocket for a connection of the net package.
func guardNetConn(nc net.Conn, ms int64) {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return // in-process: an end that is gone is noticed at once
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { guardSocket(int(fd), ms) })
}
