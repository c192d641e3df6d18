//go:build raft && linux

package moves

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// clients is the place of this process in the network, beside those of the members.
const clients = -1

// clientIP is the address of clients, by which the network knows them.
var clientIP = net.IPv4(127, 0, 0, 2)

// network carries the connections between members, and those of clients to members. It cuts them by
// the two places, and by which of them has opened the connection.
type network struct {
	pids func() []int // of the members, by their place; 0: it does not run

	mu     sync.Mutex
	cuts   map[[2]int]bool
	breaks atomic.Int64 // connections that have been broken at the end of a cut
}

// cut cuts or mends the way of connections that one place opens to another. Nothing arrives on them, and
// nothing comes back.
func (n *network) cut(from, to int, on bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cuts[[2]int{from, to}] = on
}

// mend ends all cuts.
func (n *network) mend() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.cuts)
}

func (n *network) isCut(from, to int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cuts[[2]int{from, to}]
}

// way listens on a port, and carries what comes there to the address of a place.
func (n *network) way(t testing.TB, to int, target string) (port string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w := &way{network: n, to: to, target: target, open: map[net.Conn]bool{}}
	t.Cleanup(func() {
		_ = l.Close()
		w.close()
	})
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go w.carry(conn)
		}
	}()
	_, port, err = net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	return port
}

// way is an address of a member.
type way struct {
	*network
	to     int
	target string

	mu     sync.Mutex
	open   map[net.Conn]bool
	closed bool
}

// carry carries a connection until one of its sides ends it.
func (w *way) carry(here net.Conn) {
	defer func() { _ = here.Close() }()
	from := w.network.opener(here.RemoteAddr())
	w.whole(from)
	there, err := net.Dial("tcp", w.target)
	if err != nil || !w.keep(here, there) {
		return
	}
	defer w.forget(here, there)
	go w.copy(from, here, there)
	w.copy(from, there, here)
}

// copy copies one direction, and ends both.
func (w *way) copy(from int, in, out net.Conn) {
	defer func() { _, _ = in.Close(), out.Close() }()
	piece := make([]byte, 32<<10)
	for {
		n, err := in.Read(piece)
		if err != nil {
			return
		}
		if w.whole(from) && w.breaks.Add(1)%2 == 0 {
			return // half of what was cut is broken, the other half arrives late
		}
		if _, err := out.Write(piece[:n]); err != nil {
			return
		}
	}
}

// whole waits while the way is cut, and returns whether it was.
func (w *way) whole(from int) (was bool) {
	for ; w.isCut(from, w.to); time.Sleep(5 * time.Millisecond) {
		was = true
		w.mu.Lock()
		closed := w.closed
		w.mu.Unlock()
		if closed {
			return
		}
	}
	return was
}

func (w *way) keep(conns ...net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range conns {
		w.open[c] = true
	}
	return !w.closed
}

func (w *way) forget(conns ...net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range conns {
		delete(w.open, c)
	}
}

func (w *way) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for c := range w.open {
		_ = c.Close()
	}
}

// opener returns the place of the process that has opened a connection from this address. A connection of a
// process that has ended counts as one of a client.
func (n *network) opener(from net.Addr) int {
	if tcp, ok := from.(*net.TCPAddr); ok && tcp.IP.Equal(clientIP) {
		return clients
	}
	inode := inodeOf(from)
	if inode == "" {
		return clients
	}
	for place, pid := range n.pids() {
		if pid == 0 {
			continue
		}
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		for _, file := range files {
			if to, err := os.Readlink(file); err == nil && to == "socket:["+inode+"]" {
				return place
			}
		}
	}
	return clients
}

// inodeOf returns the inode of the socket that has this local address, from the kernel's table.
func inodeOf(local net.Addr) string {
	_, text, err := net.SplitHostPort(local.String())
	if err != nil {
		return ""
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return ""
	}
	wanted := fmt.Sprintf("0100007F:%04X", port)
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		lines, _ := os.ReadFile(table)
		for line := range strings.Lines(string(lines)) {
			if f := strings.Fields(line); len(f) > 9 && strings.HasSuffix(f[1], wanted) {
				return f[9]
			}
		}
	}
	return ""
}
