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
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const serverIP, clientIP = "10.91.0.1", "10.91.0.2"

// link is what lies between the server's host and that of the clients.
type link struct {
	server, client *host
	toServer       direction
	toClient       direction
}

// direction is one way of a link. It may be changed at any time.
type direction struct {
	cut       atomic.Bool
	delayMS   atomic.Int64
	lostInPct atomic.Int64
}

// host is a network namespace with one device, whose packets the test carries.
type host struct {
	namespace string
	device    *os.File
}

// newLink makes two hosts and connects them. Everything is taken down at the test's end.
func newLink(t *testing.T) *link {
	t.Helper()
	l := &link{server: newHost(t, "s", serverIP, clientIP), client: newHost(t, "c", clientIP, serverIP)}
	go l.toClient.carry(l.server.device, l.client.device)
	go l.toServer.carry(l.client.device, l.server.device)
	return l
}

func ip(t *testing.T, args ...string) {
	t.Helper()
	out, err := exec.Command("ip", args...).CombinedOutput()
	require.NoError(t, err, "ip %s: %s", strings.Join(args, " "), out)
}

// hosts counts them, for their names.
var hosts atomic.Int64

func newHost(t *testing.T, name, own, peer string) *host {
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
	ip(t, "-n", h.namespace, "address", "add", own+"/32", "peer", peer, "dev", "link0")
	ip(t, "-n", h.namespace, "link", "set", "link0", "up")
	return h
}

// within runs f on a thread that is in the host's namespace: the sockets that f opens are the host's.
func (h *host) within(t *testing.T, f func()) {
	t.Helper()
	ns, err := os.Open("/run/netns/" + h.namespace)
	require.NoError(t, err)
	defer ns.Close()
	done := make(chan error, 1)
	go func() { // a goroutine that ends on a locked thread ends the thread, whatever namespace that is in
		runtime.LockOSThread()
		err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET)
		if err == nil {
			f()
		}
		done <- err
	}()
	require.NoError(t, <-done)
}

// dial connects from the host.
func (h *host) dial(t *testing.T, address string) (nc net.Conn) {
	t.Helper()
	var err error
	h.within(t, func() { nc, err = net.DialTimeout("tcp", address, 10*time.Second) })
	require.NoError(t, err)
	return nc
}

// carry takes packets from one host to the other until the link is taken down.
func (d *direction) carry(from, to *os.File) {
	type packet struct {
		bytes []byte
		due   time.Time
	}
	late := make(chan packet, 1<<16)
	defer close(late)
	go func() {
		for p := range late {
			time.Sleep(time.Until(p.due))
			if !d.cut.Load() {
				_, _ = to.Write(p.bytes)
			}
		}
	}()
	for {
		buf := make([]byte, 2048)
		n, err := from.Read(buf)
		if errors.Is(err, os.ErrClosed) {
			return
		}
		if err != nil || d.cut.Load() || rand.Int64N(100) < d.lostInPct.Load() {
			continue
		}
		delay := time.Duration(d.delayMS.Load()) * time.Millisecond
		select {
		case late <- packet{buf[:n], time.Now().Add(delay)}:
		default: // a queue that is full loses packets
		}
	}
}

// cut ends the link without a word.
func (l *link) cut(yes bool) {
	l.toServer.cut.Store(yes)
	l.toClient.cut.Store(yes)
}
