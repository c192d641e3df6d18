//go:build linux

package transport

import (
	"crypto/tls"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// An encrypted connection on an event loop. It is a loopConn like any other, with a layer between the socket
// and the session: pumpSealed for input, seal for output.

const (
	// plainBytes is the largest plaintext of a read: its own bytes, and those of a record that began before.
	plainBytes = loopReadBytes + recordBytes
	// mostSealedBytes is the size of the largest buffer for records that a loop keeps.
	mostSealedBytes = 64 << 10
)

// adopt passes a connection to an event loop after its handshake. It returns false if the connection cannot
// be on a loop.
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

// registered handles input that came right after the handshake, because epoll does not report it.
func (c *loopConn) registered() {
	if c.layer != nil && c.fd >= 0 {
		defer c.contain()
		if c.pumpSealed(nil) {
			c.lookAgain()
		}
	}
}

// pumpSealed feeds the session with input from an encrypted connection. again says that epoll must be asked
// again.
func (c *loopConn) pumpSealed(data []byte) (again bool) {
	d := &c.loop.driver
	if d.plain == nil {
		d.plain = make([]byte, plainBytes)
	}
	plain := d.plain // a script of this session may run long, and other sessions be fed meanwhile
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

// seal encrypts output as records.
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

// bidFarewell sends the closing message of an encrypted connection, if the socket takes it at once.
func (c *loopConn) bidFarewell() {
	if c.layer == nil || len(c.pending) > 0 || c.session.Lost() {
		return
	}
	_, _ = c.write(c.layer.farewell())
}

// missing returns how much of the sent output the peer cannot have read, if its system has not acknowledged
// unacked bytes.
func (c *loopConn) missing(unacked int) int {
	if c.layer != nil {
		return c.layer.missing(len(c.pending) + unacked)
	}
	return len(c.pending) + unacked
}

var _ net.Conn = (*carriage)(nil)
