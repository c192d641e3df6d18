//go:build linux

package transport

import (
	"os"

	"golang.org/x/sys/unix"
)

// Connections whose clients have yet to log in are watched by an epoll of their own, which the loop's watches
// in turn, and kicked in a queue of their own. A round serves some of them: however many send whatever they
// can, who is logged in waits for that many, not for all.

// strangersARound is how many strangers a round reads from, and how many of those who were kicked have their
// turn.
const strangersARound = 16

func (d *loopDriver) openStrangers() (err error) {
	if d.strangers, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	return control(d.epoll, unix.EPOLL_CTL_ADD, d.strangers, unix.EPOLLIN)
}

// serveStrangers reads from some of the strangers that have sent something. running is a connection whose
// script is busy, nil if there is none: its turn comes when the script is over.
func (l *Loop) serveStrangers(running *loopConn) {
	d := &l.driver
	var events [strangersARound]unix.EpollEvent
	n, _ := unix.EpollWait(d.strangers, events[:], 0)
	for _, ev := range events[:max(n, 0)] {
		switch c := d.conns[ev.Fd]; c {
		case nil: // another one's turn has ended it
		case running:
			d.missed = append(d.missed, c)
		default:
			c.ready(ev.Events)
		}
	}
}

// epoll is what watches the connection.
func (c *loopConn) epoll() int {
	if c.stranger {
		return c.loop.driver.strangers
	}
	return c.loop.driver.epoll
}

// SetStranger implements Conn.
func (c *loopConn) SetStranger(readBytes int) {
	c.most = min(readBytes, loopReadBytes)
	if c.stranger == (readBytes > 0) {
		return
	}
	before := c.epoll()
	c.setStranger(!c.stranger)
	if !c.watched || c.fd < 0 {
		return
	}
	if err := c.watch(unix.EPOLL_CTL_ADD); err != nil { // it is served as before
		c.loop.driver.owner.endpoint.log.Warn("could not watch a connection by another epoll", "cause", err)
		c.setStranger(!c.stranger)
		return
	}
	_ = control(before, unix.EPOLL_CTL_DEL, c.fd, 0)
}

func (c *loopConn) setStranger(is bool) {
	d := &c.loop.driver
	d.mu.Lock()
	c.stranger = is
	d.mu.Unlock()
}
