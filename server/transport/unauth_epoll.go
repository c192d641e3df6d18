//go:build linux

package transport

import (
	"os"

	"golang.org/x/sys/unix"
)

// Connections of unauthenticated clients are watched by an epoll of their own, which the loop's epoll
// watches, and are woken in a queue of their own. A round serves some of them. So an authenticated client
// waits for a few of them, however much they send.

// unauthPerRound is the number of unauthenticated clients that a round reads from, and the number of woken
// connections of such clients that have their turn.
const unauthPerRound = 16

func (d *loopDriver) openUnauth() (err error) {
	if d.unauthEpoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	return control(d.epoll, unix.EPOLL_CTL_ADD, d.unauthEpoll, unix.EPOLLIN)
}

// serveUnauth reads from some of the unauthenticated clients that have sent input. running is a connection
// with a busy script, or nil: its turn comes after the script.
func (l *Loop) serveUnauth(running *loopConn) {
	d := &l.driver
	var events [unauthPerRound]unix.EpollEvent
	n, _ := unix.EpollWait(d.unauthEpoll, events[:], 0)
	for _, ev := range events[:max(n, 0)] {
		switch c := d.conns[ev.Fd]; c {
		case nil: // the turn of another connection has closed it
		case running:
			d.missed = append(d.missed, c)
		default:
			c.ready(ev.Events)
		}
	}
}

// epoll returns the epoll that watches the connection.
func (c *loopConn) epoll() int {
	if c.unauth {
		return c.loop.driver.unauthEpoll
	}
	return c.loop.driver.epoll
}

// SetUnauthenticated implements Conn.
func (c *loopConn) SetUnauthenticated(readBytes int) {
	c.most = min(readBytes, loopReadBytes)
	if c.unauth == (readBytes > 0) {
		return
	}
	before := c.epoll()
	c.setUnauth(!c.unauth)
	if !c.watched || c.fd < 0 {
		return
	}
	if err := c.watch(unix.EPOLL_CTL_ADD); err != nil { // it is served as before
		c.loop.driver.owner.endpoint.log.Warn("could not watch a connection by another epoll", "cause", err)
		c.setUnauth(!c.unauth)
		return
	}
	_ = control(before, unix.EPOLL_CTL_DEL, c.fd, 0)
}

func (c *loopConn) setUnauth(is bool) {
	d := &c.loop.driver
	d.mu.Lock()
	c.unauth = is
	d.mu.Unlock()
}
