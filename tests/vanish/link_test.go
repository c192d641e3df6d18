//go:build netns

package vanish

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"lockserver/tests/testkit"
)

const serverIP, clientIP = "10.91.0.1", "10.91.0.2"

// link is the connection between the host of the server and that of the clients.
type link struct {
	server, client *host
	toServer       direction
	toClient       direction
}

// direction is one way of a link. Its settings may be changed at any time.
type direction struct {
	cut       atomic.Bool
	delayMS   atomic.Int64
	lostInPct atomic.Int64
}

// host is a network namespace with one device; the test carries its packets.
type host struct {
	namespace string
	device    *os.File
}

// newLink creates two hosts and connects them. Everything is removed at the end of the test.
func newLink(t *testing.T) *link {
	t.Helper()
	l := &link{server: newHost(t, "s", serverIP+"/32", "peer", clientIP), client: newHost(t, "c", clientIP+"/32", "peer", serverIP)}
	go l.toClient.carry(l.server.device, l.client.device)
	go l.toServer.carry(l.client.device, l.server.device)
	return l
}

func ip(t *testing.T, args ...string) {
	t.Helper()
	out, err := exec.Command("ip", args...).CombinedOutput()
	require.NoError(t, err, "ip %s: %s", strings.Join(args, " "), out)
}

// hosts counts the hosts, for their names.
var hosts atomic.Int64

// newHost creates a host; address is in words of ip.
func newHost(t *testing.T, name string, address ...string) *host {
	t.Helper()
	h := &host{namespace: fmt.Sprintf("vanish-%d-%d-%s", os.Getpid(), hosts.Add(1), name)}
	ip(t, "netns", "add", h.namespace)
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "delete", h.namespace).Run() })
	h.within(t, func() {
		fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		require.NoError(t, err)
		request, err := unix.NewIfreq("link0")
		require.NoError(t, err)
		request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		require.NoError(t, unix.IoctlIfreq(fd, unix.TUNSETIFF, request))
		h.device = os.NewFile(uintptr(fd), "tun")
	})
	t.Cleanup(func() { _ = h.device.Close() })
	ip(t, slices.Concat([]string{"-n", h.namespace, "address", "add"}, address, []string{"dev", "link0"})...)
	ip(t, "-n", h.namespace, "link", "set", "link0", "up")
	return h
}

// prepare returns a server program on the host, in the directory that c names. The program ip becomes the
// server.
func (h *host) prepare(t *testing.T, c testkit.Command, args ...string) *testkit.Process {
	t.Helper()
	c.Program, c.Args = "ip", append([]string{"netns", "exec", h.namespace, testkit.Lockserver(t)}, args...)
	return testkit.Prepare(t, c)
}

// within runs f on a thread in the host's namespace: the sockets that f opens are the host's.
func (h *host) within(t *testing.T, f func()) {
	t.Helper()
	require.NoError(t, h.enter(f))
}

// enter is within for any goroutine.
func (h *host) enter(f func()) error {
	ns, err := os.Open("/run/netns/" + h.namespace)
	if err != nil {
		return err
	}
	defer ns.Close()
	done := make(chan error, 1)
	go func() { // when a goroutine ends on a locked thread, the thread ends, too, so its namespace does not matter
		runtime.LockOSThread()
		err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET)
		if err == nil {
			f()
		}
		done <- err
	}()
	return <-done
}

// dial connects from the host.
func (h *host) dial(t *testing.T, address string) (nc net.Conn) {
	t.Helper()
	var err error
	h.within(t, func() { nc, err = net.DialTimeout("tcp", address, 10*time.Second) })
	require.NoError(t, err)
	return nc
}

// carry takes packets from one host to the other until the link is removed.
func (d *direction) carry(from, to *os.File) {
	late := d.begin(to)
	defer close(late)
	receive(from, func(b []byte) { d.put(late, b) })
}

// packet is a packet on its way.
type packet struct {
	bytes []byte
	due   time.Time
}

// begin delivers the packets from late, until that is closed.
func (d *direction) begin(to *os.File) (late chan packet) {
	late = make(chan packet, 1<<14)
	go func() {
		for p := range late {
			time.Sleep(time.Until(p.due))
			if !d.cut.Load() {
				_, _ = to.Write(p.bytes)
			}
		}
	}()
	return late
}

// put sends a packet on its way, or drops it.
func (d *direction) put(late chan<- packet, b []byte) {
	if d.cut.Load() || rand.Int64N(100) < d.lostInPct.Load() {
		return
	}
	select {
	case late <- packet{b, time.Now().Add(time.Duration(d.delayMS.Load()) * time.Millisecond)}:
	default: // a full queue drops packets
	}
}

// receive calls f for each packet of a device, until that is closed.
func receive(from *os.File, f func(b []byte)) {
	for {
		buf := make([]byte, 2048)
		n, err := from.Read(buf)
		if errors.Is(err, os.ErrClosed) {
			return
		}
		if err == nil {
			f(buf[:n])
		}
	}
}

// cut cuts the link silently.
func (l *link) cut(yes bool) {
	l.toServer.cut.Store(yes)
	l.toClient.cut.Store(yes)
}
