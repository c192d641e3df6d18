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
