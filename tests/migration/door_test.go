//go:build oracle

package migration

import (
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// door is the stable address of the clients: a proxy in front of the leader.
type door struct {
	listener net.Listener
	mu       sync.Mutex
	to       string
	open     []net.Conn
}

// openDoor starts a door that leads to an address.
func openDoor(t *testing.T, to string) *door {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	d := &door{listener: l, to: to}
	go d.accept()
	t.Cleanup(func() {
		_ = l.Close()
		d.turn("")
	})
	return d
}

func (d *door) addr() string { return d.listener.Addr().String() }

func (d *door) accept() {
	for {
		from, err := d.listener.Accept()
		if err != nil {
			return
		}
		d.carry(from)
	}
}

// carry connects a client with the leader.
func (d *door) carry(from net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	to, err := net.Dial("tcp", d.to)
	if err != nil {
		_ = from.Close()
		return
	}
	d.open = append(d.open, from, to)
	for _, way := range [][2]net.Conn{{from, to}, {to, from}} {
		go func() {
			_, _ = io.Copy(way[1], way[0])
			_, _ = from.Close(), to.Close()
		}()
	}
}

// turn makes the door lead to another address, and ends the existing connections.
func (d *door) turn(to string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.to = to
	for _, c := range d.open {
		_ = c.Close()
	}
	d.open = nil
}
