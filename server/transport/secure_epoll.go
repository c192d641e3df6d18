//go:build linux

package transport

import (
	"crypto/tls"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// An encrypted connection on an event loop. It is a loopConn like any other, with a layer between the
// socket and the session: pumpSealed on the way in, seal on the way out.

const (
	// plainBytes holds what one read can bring: its own bytes, and those of a record that began before.
	plainBytes = loopReadBytes + recordBytes
	// mostSealedBytes is the size of the largest buffer for records that a loop keeps.
	mostSealedBytes = 64 << 10
)

// adopt hands a connection to an event loop after its handshake; false: it cannot be on one.
func (ls *loops) adopt(tc *tls.Conn, c *carriage) bool {
	filer, ok := c.Conn.(interface{ File() (*os.File, error) })
	if !ok {
		return false
	}
	peer := Peer{Local: c.LocalAddr(), Remote: c.RemoteAddr(), Certificate: certificateName(tc)}
	fd, err := takeSocket(filer, c.Conn)
	if err != nil {
		ls.endpoint.log.Warn("an encrypted connection could not be served", "peer", peer.Remote, "cause", err)
		_ = c.Close()
		return true
	}
	c.layer = &layer{conn: tc}
	peer.FD = fd
	lc := &loopConn{loop: ls.pick(), fd: fd, socket: fd, layer: c.layer}
	if refusal, accepted := ls.endpoint.host.Open(lc, peer); !accepted {
		if sealed, err := c.layer.seal([]byte(refusal), nil); err == nil {
			_, _ = unix.Write(fd, append(sealed, c.layer.farewell()...))
		}
		_ = unix.Close(fd)
		return true
	}
	d := &lc.loop.driver
	d.mu.Lock()
	ended := d.ended
	if !ended {
		d.arrived = append(d.arrived, lc)
		d.ring()
	}
	d.mu.Unlock()
	if ended {
		lc.close()
	}
	return true
}

// registered looks at what came behind the handshake; epoll does not report that.
func (c *loopConn) registered() {
	if c.layer != nil && c.fd >= 0 {
		defer c.contain()
		if c.pumpSealed(nil) {
			c.lookAgain()
		}
	}
}

// pumpSealed feeds the session with what was read from an encrypted connection. again says that epoll has to
// be asked again.
func (c *loopConn) pumpSealed(data []byte) (again bool) {
	d := &c.loop.driver
	if d.plain == nil {
		d.plain = make([]byte, plainBytes)
	}
	plain := d.plain // a script that this one feeds may be busy, and others be fed meanwhile
	c.layer.input = data
	for more := true; more && c.fd >= 0 && !c.leaving; {
		var n int
		var err error
		n, more, err = c.layer.open(plain)
		if answer := c.layer.unload(); len(answer) > 0 && c.sendRaw(answer) != nil {
			return false
		}
		if n > 0 {
			c.pump(plain[:n])
		}
		switch {
		case err == nil || c.fd < 0:
		case err == io.EOF:
			return c.inputEnded()
		default:
			c.loop.driver.owner.endpoint.handshakes.failed(c.loop.driver.owner.endpoint.log, socketAddr(c.fd, unix.Getpeername), err)
			c.close()
			return false
		}
	}
	return false
}

// seal sends output as records.
func (c *loopConn) seal(b []byte) error {
	d := &c.loop.driver
	sealed, err := c.layer.seal(b, d.sealed)
	if err != nil {
		c.close()
		return err
	}
	if d.sealed = sealed[:0]; cap(sealed) > mostSealedBytes {
		d.sealed = nil
	}
	return c.sendRaw(sealed)
}

// bidFarewell tells the peer of an encrypted connection that it ends here, if that can be said at once.
func (c *loopConn) bidFarewell() {
	if c.layer == nil || len(c.pending) > 0 || c.session.Lost() {
		return
	}
	_, _ = c.write(c.layer.farewell())
}

// missing is how much of the output that was sent the peer cannot have read, when its system has not
// acknowledged so many bytes.
func (c *loopConn) missing(unacked int) int {
	if c.layer != nil {
		return c.layer.missing(len(c.pending) + unacked)
	}
	return len(c.pending) + unacked
}

var _ net.Conn = (*carriage)(nil)
